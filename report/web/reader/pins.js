// Says in one line what is pinned: in the header of the page, which covers nothing more for it. A
// press on what is pinned unpins it, as Escape unpins all.

import { onMark, pins, unpin } from "./marks.js";
import { textOf } from "./passage.js";
import { headName, shortened } from "./words.js";

const box = Object.assign(document.createElement("div"), { className: "pins" });
box.setAttribute("role", "status"); // is read out when something is pinned
let labels = () => undefined; // what a token reads where there is no passage

export const onLabels = (give) => (labels = give);

// What fills the screen hides all that is not in it; a figure alone has no header.
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
  const said = JSON.stringify(chips);
  if (said === box.dataset.said) return; // or it would be read out again
  box.dataset.said = said;
  box.hidden = !chips.length;
  box.replaceChildren(...(chips.length ? [spoken("pins__label", "Pinned")] : []), ...chips.map(chip));
}

function quoted(token, text) {
  const label = textOf(token, text) ?? labels(text)?.[token];
  return label === undefined ? `token ${token}` : `“${shortened(label.trim() || label)}”`;
}

function spoken(className, textContent) {
  return Object.assign(document.createElement("span"), { className, textContent });
}

// more: words for which a narrow window has no room
function chip([names, name, more]) {
  const button = Object.assign(document.createElement("button"), { className: "pins__chip" });
  button.type = "button";
  button.title = "Unpin; Escape unpins all";
  const cross = spoken("pins__cross", "×");
  cross.setAttribute("aria-hidden", "true");
  button.append(spoken("pins__text", name), spoken("pins__more", more), cross);
  button.addEventListener("click", () => unpin(names));
  return button;
}

onMark(showPins);
addEventListener("fullscreenchange", showPins);
