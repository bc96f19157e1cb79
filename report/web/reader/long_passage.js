// What a long passage has besides its text: it is folded to a box of some lines that scrolls by
// itself, with a button that opens it, and a field that finds tokens by their text or their index.

import { loadStyles } from "../data/loading.js";
import { point, unpoint } from "./marks.js";

const STYLES = new URL("long_passage.css", import.meta.url);

let passage, bar; // of this page
let found = []; // [first token, last token] of every match
let at = 0; // the match that is shown

// Called with the frame of a passage, once it is used. Returns whether it is watched from now on.
export function watchLong(frame) {
  if (frame.contains(passage)) return false;
  passage = frame.querySelector(".passage");
  bar = frame.querySelector(".passage__long");
  loadStyles(STYLES).catch(console.warn);
  const [field, open] = [bar.querySelector("input"), bar.querySelector("[data-act=open]")];
  open.addEventListener("click", () => fold(frame, open));
  field.addEventListener("input", () => find(field.value));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && field.value) {
      event.stopPropagation(); // it clears no pins
      find((field.value = ""));
    }
    if (event.key !== "Enter") return;
    event.preventDefault();
    go(event.shiftKey ? -1 : 1);
  });
  field.addEventListener("blur", unpoint);
  for (const [act, step] of [["previous", -1], ["next", 1]]) {
    bar.querySelector(`[data-act=${act}]`).addEventListener("click", () => go(step));
  }
  if (field.value) find(field.value);
  return true;
}

function fold(frame, button) {
  const open = frame.classList.toggle("passage-frame--open");
  button.setAttribute("aria-expanded", String(open));
  [button.textContent, button.dataset.other] = [button.dataset.other, button.textContent];
  if (!open && frame.getBoundingClientRect().top < 0) frame.scrollIntoView();
}

// The text of all tokens with the place at which each begins. Parts of a character lie in each
// other, and begin where it does.
function read() {
  const begins = [];
  let text = "";
  for (const token of passage.querySelectorAll(".token[data-token]")) {
    const outer = token.parentElement.closest(".token");
    begins.push(outer ? begins[outer.dataset.token] : text.length);
    if (!outer) text += token.textContent.toLowerCase();
  }
  return { text, begins };
}

function find(words) {
  const wanted = words.toLowerCase();
  const { text, begins } = read();
  const tokenAt = (place) => begins.findLastIndex((begin) => begin <= place);
  found = [];
  const [, index] = /^\s*#?(\d+)\s*$/.exec(words) ?? [];
  if (index < begins.length) found.push([Number(index), Number(index)]);
  for (let place = wanted.trim() ? text.indexOf(wanted) : -1; place >= 0; ) {
    found.push([tokenAt(place), tokenAt(place + wanted.length - 1)]);
    place = text.indexOf(wanted, place + wanted.length);
  }
  at = 0;
  for (const token of passage.querySelectorAll(".token--found")) token.classList.remove("token--found");
  for (const match of found) for (const token of tokensOf(match)) token.classList.add("token--found");
  for (const button of bar.querySelectorAll("[data-act=previous], [data-act=next]")) {
    button.disabled = found.length < 2;
  }
  if (words.trim()) show();
  else {
    say("");
    unpoint();
  }
}

const tokensOf = ([first, last]) =>
  [...passage.querySelectorAll(".token[data-token]")].slice(first, last + 1);

function go(step) {
  if (!found.length) return;
  at = (at + step + found.length) % found.length;
  show();
}

function show() {
  if (!found.length) {
    unpoint();
    return say("found nowhere");
  }
  const [token] = found[at];
  point({ token, text: passage.dataset.text });
  say(`${at + 1} of ${found.length}, token ${token}`);
}

const say = (text) => (bar.querySelector("output").textContent = text);
