// Draws the hover card of a word. There is one card at a time, laid over the page beside its word,
// so that nothing moves when it comes or goes. It stays while the pointer is on the word or the
// card, or while the word has the focus. Escape closes it.

import { figurePreview } from "./figure_preview.js";

const PATIENCE = 150; // ms: a pointer that only passes opens nothing, and may cross the gap
const MARGIN = 8; // pixels, between the card and the word or the window's edge

const card = Object.assign(document.createElement("div"), { className: "hover-card" });
Object.assign(card, { id: "hover-card", role: "tooltip", hidden: true });

let word = null; // the one that has the card, or will have it
let waiting;

// patient: whether to wait and see that the pointer means this word
export function open(element, patient) {
  clearTimeout(waiting);
  if (element === word && !card.hidden) return;
  if (element !== word) close();
  word = element;
  waiting = setTimeout(() => show(element), patient ? PATIENCE : 0);
}

function close() {
  clearTimeout(waiting);
  word?.removeAttribute("aria-describedby");
  word = null;
  card.hidden = true;
}

async function show(element) {
  try {
    const content = await (told(element) ?? figurePreview(element));
    if (element !== word || !content) return; // the reader has gone on
    card.replaceChildren(...content);
    document.body.append(card);
    card.hidden = false;
    element.setAttribute("aria-describedby", card.id);
    place(element);
  } catch (error) {
    console.warn(error); // the link still leads to what the card would have shown
    if (element === word) close();
  }
}

// The nodes that explain a term or a citation.
function told(element) {
  if (element.matches(".term")) return meaning(element);
  return element.matches(".cite") ? entry(element) : undefined;
}

// The entry of a work in the list of this page. Its link can be clicked; those who use the keyboard
// find it in the list, where the word leads.
function entry(element) {
  const key = decodeURIComponent(new URL(element.href).hash.slice(1));
  const copy = document.getElementById(key).cloneNode(true);
  for (const link of copy.querySelectorAll("a")) link.tabIndex = -1;
  return [...copy.childNodes];
}

let glossary;

async function meaning(element) {
  const key = new URL(element.href).hash.slice(1);
  glossary ??= fetch(new URL("../glossary.json", import.meta.url)).then((answer) => {
    if (!answer.ok) throw new Error(`glossary.json answered ${answer.status}`);
    return answer.json();
  });
  glossary.catch(() => (glossary = undefined)); // a failure may be tried again
  const term = (await glossary)[key];
  if (!term) throw new Error(`the glossary has no ${key}`);
  const name = Object.assign(document.createElement("strong"), { textContent: term.name });
  return [name, document.createTextNode(` ${term.text}`)];
}

// Below the word, or above it where there is no room below; never wider than the window.
function place(element) {
  const at = element.getClientRects()[0] ?? element.getBoundingClientRect();
  const { width, height } = card.getBoundingClientRect();
  const right = document.documentElement.clientWidth - width - MARGIN;
  const below = at.bottom + MARGIN + height <= innerHeight || at.top - MARGIN - height < 0;
  const top = below ? at.bottom + MARGIN : at.top - MARGIN - height;
  card.style.left = `${Math.max(MARGIN, Math.min(at.left, right)) + scrollX}px`;
  card.style.top = `${top + scrollY}px`;
}

const inside = (target) => card.contains(target) || word?.contains(target);

addEventListener("pointerout", (event) => {
  if (!word || event.pointerType === "touch" || !inside(event.target)) return;
  if (inside(event.relatedTarget) || document.activeElement === word) return;
  clearTimeout(waiting);
  waiting = setTimeout(close, 2 * PATIENCE);
});
card.addEventListener("pointerenter", () => clearTimeout(waiting));
addEventListener("focusout", (event) => event.target === word && close());
addEventListener("pointerdown", (event) => word && !inside(event.target) && close());
addEventListener("resize", close);
addEventListener("keydown", (event) => event.key === "Escape" && close());
window.document$?.subscribe(close); // another page has taken the place of this one
