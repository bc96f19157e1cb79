// Says at the foot of the window what is pinned. A press on it unpins.

import { onMark, pins, unpin } from "./marks.js";
import { textOf } from "./passage.js";
import { shortened } from "./words.js";

const box = Object.assign(document.createElement("div"), { className: "pins" });
box.setAttribute("role", "status"); // is read out when something is pinned
let labels = () => undefined; // what a token reads where there is no passage

export const onLabels = (give) => (labels = give);

function showPins() {
  // what fills the screen hides all that is not in it
  const parent = document.fullscreenElement ?? document.body;
  if (box.parentElement !== parent) parent.append(box); // moved under a press, it would lose it
  const { token, target, layer, head, position, original } = pins();
  const chips = [];
  const looksAt = target >= 0 ? ` → ${target}${quoted(target)}` : "";
  if (token >= 0) chips.push([["token"], `token ${token}${quoted(token)}${looksAt}`]);
  if (head >= 0) chips.push([["layer", "head"], `layer ${layer}, head ${head}`]);
  if (position >= 0 || original >= 0) {
    const place = position >= 0 ? position : original;
    chips.push([["position", "original"], `position ${place}`]);
  }
  const said = chips.map(([, text]) => text).join();
  if (said === box.dataset.said) return; // or it would be read out again
  box.dataset.said = said;
  box.replaceChildren(...chips.map(([names, text]) => chip(names, text)));
}

function quoted(token) {
  const text = textOf(token) ?? labels()?.[token];
  return text === undefined ? "" : ` “${shortened(text)}”`;
}

function chip(names, text) {
  const button = Object.assign(document.createElement("button"), { className: "pins__chip" });
  button.type = "button";
  button.title = "Unpin";
  const words = Object.assign(document.createElement("span"), { className: "pins__text" });
  words.textContent = `Pinned: ${text}`;
  const cross = Object.assign(document.createElement("span"), { textContent: "×" });
  cross.setAttribute("aria-hidden", "true");
  button.append(words, cross);
  button.addEventListener("click", () => unpin(names));
  return button;
}

onMark(showPins);
addEventListener("fullscreenchange", showPins);
