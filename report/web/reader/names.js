// Names of heads, L18H6, are buttons: pointing marks the head in all figures, a press pins it. Those
// of the prose come with their model (start.js); those in a sentence about what a figure shows are of
// its model, and stay text where no figure shows the head.

import { isTouch, onMark, pin, pins, point, sameHead, unpoint } from "./marks.js";

const NAME = /\bL(\d{1,3})H(\d{1,3})\b/g;

let figures = new Map(); // element -> Figure, of this page

// all: that map
export function watchNames(all) {
  figures = all;
  press();
}

// Makes buttons of the names in such a sentence.
export function nameHeads(root, model) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const { currentNode: text } = walker;
    if (text.parentElement.closest("button, a")) continue;
    for (const match of text.data.matchAll(NAME)) found.push([text, match]);
  }
  // from the last, so that places in a text stay
  for (const [text, { 0: name, 1: layer, 2: head, index }] of found.reverse()) {
    const at = { layer: Number(layer), head: Number(head), model };
    if (![...figures.values()].some((figure) => figure.stateOf(at))) continue;
    const rest = text.splitText(index);
    rest.splitText(name.length);
    const made = Object.assign(document.createElement("button"), { className: "head-name", type: "button" });
    made.textContent = name;
    made.dataset.model = model;
    rest.replaceWith(made);
  }
  press();
}

const nameAt = ({ target }) => target.closest?.("button.head-name");

function headOf({ textContent, dataset: { model } }) {
  const [layer, head] = textContent.match(/\d+/g).map(Number);
  return { layer, head, model };
}

addEventListener("pointerover", (event) => !isTouch(event) && nameAt(event) && point(headOf(nameAt(event))));
addEventListener("pointerout", (event) => !isTouch(event) && nameAt(event) && unpoint());
addEventListener("focusin", (event) => nameAt(event)?.matches(":focus-visible") && point(headOf(nameAt(event))));
addEventListener("focusout", (event) => nameAt(event) && unpoint());
addEventListener("click", (event) => nameAt(event) && pin(headOf(nameAt(event))));

function press() {
  for (const each of document.querySelectorAll("button.head-name")) {
    each.setAttribute("aria-pressed", String(sameHead(headOf(each), pins())));
  }
}

onMark(press);
