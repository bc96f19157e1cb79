// The names of groups of heads, where colours stand for them, with the sign and the colour of each. A
// press on one marks its heads, as the field that finds heads does; once more, and it does not.

import { question } from "../reader/marks.js";

// state: of its controls
export function tellGroups(figure, state) {
  const box = figure.finder?.box;
  const { groups = [] } = figure.charts[0].report;
  const shown = state.colour === "group" ? groups : [];
  let list = box?.querySelector(".live-figure__groups");
  if (!list && shown.length) {
    list = Object.assign(document.createElement("ul"), { className: "live-figure__groups" });
    box.prepend(list);
  }
  list?.replaceChildren(...shown.map(entry));
  markGroups(figure);
}

// Says which of them is marked.
export function markGroups({ finder }) {
  for (const button of finder?.box.querySelectorAll(".live-figure__groups button") ?? []) {
    const pressed = question().text === button.dataset.group;
    button.setAttribute("aria-pressed", String(pressed));
    button.dataset.found = pressed ? "" : button.dataset.group;
  }
}

function entry({ number, sign, heads, light, dark, named }) {
  const made = Object.assign(document.createElement("button"), { type: "button" });
  made.dataset.group = `group ${number}`;
  const key = Object.assign(document.createElement("span"), { className: "live-figure__sign", textContent: sign });
  key.setAttribute("aria-hidden", "true");
  key.style.setProperty("--light", light);
  key.style.setProperty("--dark", dark);
  const [first = "no measure tells them from all heads"] = named; // the figure of groups has all
  made.append(key, ` ${number}: ${first}, ${heads}\u00a0${heads === 1 ? "head" : "heads"}`);
  made.title = named.join("; ");
  const line = document.createElement("li");
  line.append(made);
  return line;
}
