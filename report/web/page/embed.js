// The page of one figure alone, for a frame on another site. Its link back to the article keeps the
// figure's state.

import "./palette.js";

const MODULES = []; // figures.js and all that it imports, listed by the build
window.scriptsOfFigures = MODULES;

const back = document.querySelector(".embed__source a");
const plain = back.hash;
const keepState = () => (back.hash = location.hash || plain);
for (const type of ["pointerdown", "focus", "click"]) back.addEventListener(type, keepState);

import("./start.js").catch(console.warn); // the palette is known now: nothing is painted twice
