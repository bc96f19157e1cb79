// The page of one figure alone, for a frame on another site. It follows the palette that the
// reader's system asks for. Its link back to the article keeps the figure's state.

const MODULES = []; // figures.js and all that it imports, listed by the build
window.scriptsOfFigures = MODULES;

const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => (document.body.dataset.mdColorScheme = dark.matches ? "slate" : "default");
follow();
dark.addEventListener("change", follow);

const back = document.querySelector(".embed__source a");
const plain = back.hash;
const keepState = () => (back.hash = location.hash || plain);
for (const type of ["pointerdown", "focus", "click"]) back.addEventListener(type, keepState);

import("./start.js").catch(console.warn); // the palette is known now: nothing is painted twice
