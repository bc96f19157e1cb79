// The sentence below a figure, which says what there is to see, and those folded below it: they
// follow the controls. The build computes them for every state, {"layer=3,head=0": [that in words,
// the sentence, the others]}; of many states there are several files, {layer} in their names. Where
// there are too many states there is no file, and the sentences of the opening state go once it is
// not shown.
// Switches of a look change nothing of what there is to see, and are left out.

import { loadJson } from "../data/loading.js";
import { nameHeads } from "../reader/names.js";

function keyOf(figure, state) {
  const told = Object.entries(state).filter(([name]) => !(name in figure.looks));
  return told.map(([name, value]) => `${name}=${value}`).join(",");
}

const first = new WeakMap(); // place of a sentence -> its nodes and what is folded, as the page came

// Says what is to be seen at a state.
export async function tellSeen(figure, state) {
  const place = figure.element.querySelector(".live-figure__seen");
  if (!place) return;
  const also = figure.element.querySelector(".live-figure__also");
  if (!first.has(place)) {
    nameHeads(place, figure.opening.model ?? figure.model);
    first.set(place, [[...place.childNodes], also?.textContent]);
  }
  const wanted = keyOf(figure, state);
  const opens = wanted === keyOf(figure, figure.opening);
  const [nodes, others] = opens ? first.get(place) : await told(figure, state, wanted);
  if (keyOf(figure, figure.shows) !== wanted) return; // another state is shown by now
  place.hidden = !nodes;
  if (nodes) place.replaceChildren(...ofTokens(figure, state), ...nodes);
  if (also) also.textContent = nodes && others ? `${others.trim()} ` : "";
  nameHeads(place, figure.model);
}

// What the sentence is of, where a map is of regions for now: it says what single tokens do.
function ofTokens({ looks }, { by }) {
  if (!("by" in looks) || by === "tokens") return [];
  const of = document.createElement("span");
  of.className = "live-figure__of";
  of.textContent = "Token by token: ";
  return [of];
}

async function told(figure, state, wanted) {
  const place = figure.element.dataset.seen;
  if (!place) return [];
  const address = place.replace(/{(\w+)}/g, (_, name) => state[name]);
  const sentences = await loadJson(new URL(address, figure.page).href).catch(() => ({}));
  if (!sentences[wanted]) return [];
  const [words, sentence, others] = sentences[wanted];
  const at = document.createElement("span");
  at.className = "live-figure__opens";
  at.textContent = `As shown (${words}):`;
  return [[at, ` ${sentence}`], others];
}
