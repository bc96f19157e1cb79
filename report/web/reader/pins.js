// Lists what is pinned in one line of the page's header, where it covers no text. A press on one
// unpins it, as Escape unpins all. A button beside resets what differs from the page as it came.

import { atlasOf } from "./atlas.js";
import { ask, onMark, pins, question, unpin } from "./marks.js";
import { textOf } from "./passage.js";
import { cut, headName, shortened } from "./words.js";

const SHORT = 24; // characters of a question

const box = Object.assign(document.createElement("div"), { className: "pins" });
box.setAttribute("role", "status"); // is read out when something is pinned
let labels = () => undefined; // text -> labels of its tokens, for a page without its passage

export const onLabels = (give) => (labels = give);

// differs: whether any figure differs from how it came; reset: resets all figures
let differ = () => false;
export function onReset(differs, reset) {
  differ = differs;
  back.addEventListener("click", () => {
    for (const button of undoButtons()) button.click();
    reset();
    showPins();
  });
}

const back = Object.assign(document.createElement("button"), { className: "pins__reset" });
back.type = "button";
back.append(spoken("pins__more", "Reset"), hidden("pins__short", "↺"));
back.title = "Brings all figures and the text back to what they showed first";

// Buttons above the passage whose click undoes a setting.
function undoButtons() {
  const is = (act) => `.passage__bar [data-act=${act}][aria-pressed=true]`;
  const gives = document.querySelector(is("gets")) && ".passage__bar [data-act=gives]";
  return document.querySelectorAll([is("out"), is("keep"), gives].filter(Boolean).join());
}

// Puts the line into what fills the screen, or into the header, which a figure alone lacks.
function place() {
  const full = document.fullscreenElement ?? document.querySelector(".live-figure--over");
  if (full) return full.contains(box) || full.prepend(box);
  const parent = document.querySelector(".md-header__inner, .embed__source") ?? document.body;
  if (box.parentElement === parent) return; // moved under a press, it would lose it
  const title = parent.querySelector(".md-header__title");
  if (title) title.after(box);
  else parent.append(box);
}

function showPins() {
  place();
  const { token, target, layer, head, position, original, text } = pins();
  const chips = [];
  if (head >= 0) {
    const words = `: layer ${layer}, head ${head}`;
    chips.push([["layer", "head", "model"], headName({ layer, head }), words]);
  }
  const looksAt = target >= 0 ? ` → ${quoted(target, text)}` : "";
  if (token >= 0) chips.push([["token"], quoted(token, text) + looksAt, `, token ${token}`]);
  if (position >= 0 || original >= 0) {
    const at = position >= 0 ? position : original;
    chips.push([["position", "original"], `position ${at}`, ""]);
  }
  const search = question().text;
  if (search) chips.push([[], cut(search, SHORT), ": heads that are looked for"]);
  const resets = chips.length > 0 || differ() || undoButtons().length > 0;
  const content = JSON.stringify([chips, resets]);
  if (content === box.dataset.content) return; // or it would be read out again
  box.dataset.content = content;
  box.hidden = !resets;
  box.classList.toggle("pins--none", !chips.length);
  const words = chips.some(([names]) => names.length) ? "Pinned" : "Marked";
  const label = chips.length ? [spoken("pins__label", words)] : [];
  box.replaceChildren(...label, ...chips.map(chip), ...(resets ? [back] : []));
  if (head >= 0) addAtlas(content);
}

// Adds a link to the pinned head in an atlas of the site, if the line still has this content.
async function addAtlas(content) {
  const entry = await atlasOf(pins());
  if (!entry || content !== box.dataset.content || box.querySelector("a")) return;
  const link = Object.assign(document.createElement("a"), { className: "pins__atlas" });
  link.title = `${entry.does} ${entry.matters}`.trim();
  link.href = entry.address;
  link.textContent = "what it does";
  box.querySelector(".pins__chip").after(link);
}

function quoted(token, text) {
  const label = textOf(token, text) ?? labels(text)?.[token];
  return label === undefined ? `token ${token}` : `“${shortened(label.trim() || label)}”`;
}

function spoken(className, textContent) {
  return Object.assign(document.createElement("span"), { className, textContent });
}

function hidden(className, textContent) {
  const element = spoken(className, textContent);
  element.setAttribute("aria-hidden", "true");
  return element;
}

// names: of the marks that a press unpins; more: words for which a narrow window has no room
function chip([names, name, more]) {
  const button = Object.assign(document.createElement("button"), { className: "pins__chip" });
  button.type = "button";
  button.title = names.length ? "Unpin; Escape unpins all" : "Look for no heads";
  button.dataset.of = names[0] ?? "";
  button.append(spoken("pins__text", name), spoken("pins__more", more), hidden("pins__cross", "×"));
  button.addEventListener("click", () => (names.length ? unpin(names) : ask("")));
  return button;
}

onMark(showPins);
addEventListener("fullscreenchange", showPins);
for (const type of ["figureshown", "click"]) addEventListener(type, showPins, type !== "click");
