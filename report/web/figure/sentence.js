// The sentence below a figure, which says what there is to see, and those folded below it, at every
// state of the controls. The build writes them as {"layer=3,head=0": [the state in words, the
// sentence, the others]}, of many states in several files, with {layer} in their names. Of too many
// states there is no file, and only the opening state has sentences.
// Switches of a look change nothing of what there is to see, and are no part of a state's key.

import { loadJson } from "../data/loading.js";
import { nameHeads } from "../reader/names.js";

function keyOf(figure, state) {
  const entries = Object.entries(state).filter(([name]) => !(name in figure.looks));
  return entries.map(([name, value]) => `${name}=${value}`).join(",");
}

const openings = new WeakMap(); // element of a sentence -> [its nodes, folded text] as they came

// Shows the sentences of a state.
export async function showSentence(figure, state) {
  const place = figure.element.querySelector(".live-figure__seen");
  if (!place) return;
  const also = figure.element.querySelector(".live-figure__also");
  if (!openings.has(place)) {
    nameHeads(place, figure.opening.model ?? figure.model);
    openings.set(place, [[...place.childNodes], also?.textContent]);
  }
  const key = keyOf(figure, state);
  const opens = key === keyOf(figure, figure.opening);
  const [nodes, others] = opens ? openings.get(place) : await sentencesAt(figure, state, key);
  if (keyOf(figure, figure.shows) !== key) return; // another state is shown by now
  place.hidden = !nodes;
  if (nodes) place.replaceChildren(...ofTokens(figure, state), ...nodes);
  if (also) also.textContent = nodes && others ? `${others.trim()} ` : "";
  nameHeads(place, figure.model);
}

// Says that the sentence is about single tokens, where a map shows regions for now.
function ofTokens({ looks }, { by }) {
  if (!("by" in looks) || by === "tokens") return [];
  const of = document.createElement("span");
  of.className = "live-figure__of";
  of.textContent = "Token by token: ";
  return [of];
}

// [nodes of the sentence, text of the others] at a state; empty where no file has it.
async function sentencesAt(figure, state, key) {
  const template = figure.element.dataset.seen;
  if (!template) return [];
  const address = template.replace(/{(\w+)}/g, (_, name) => state[name]);
  const sentences = await loadJson(new URL(address, figure.page).href).catch(() => ({}));
  if (!sentences[key]) return [];
  const [words, sentence, others] = sentences[key];
  const at = document.createElement("span");
  at.className = "live-figure__opens";
  at.textContent = `As shown (${words}):`;
  return [[at, ` ${sentence}`], others];
}
