// The passage: its tokens mark themselves in all figures, by mouse, by finger and by arrow keys.

import { inText, isTouch, marked, onMark, pin, pins, point, unpoint } from "./marks.js";
import { shortened } from "./words.js";

export function watchPassage(passage) {
  if (passage.querySelector(".passage__tip")) return; // it is watched already
  if (passage.id !== "passage") return; // no figure is about it
  number(passage);
  ({ text } = passage.dataset);
  addTip(passage);
  awaitLong(passage.parentElement);
  const on = (type, act) =>
    passage.addEventListener(type, (event) => {
      const element = event.target.closest(".token[data-token]");
      if (element) act(Number(partAt(element, event).dataset.token), event);
    });
  on("pointerover", (token, event) => isTouch(event) || point({ token, text }));
  on("pointermove", (token, event) => isTouch(event) || point({ token, text })); // from part to part
  on("focusin", (token) => point({ token, text }));
  on("click", (token) => {
    elementOf(token).focus({ preventScroll: true }); // a browser takes the last part of a character
    point({ token, text }); // of a finger it is the only sign
    pin({ token, text });
  });
  on("keydown", (token, event) => press(passage, token, event));
  // a mouse that goes leaves what the keyboard is on
  passage.addEventListener("pointerleave", (event) => isTouch(event) || pointAtFocused(passage));
  passage.addEventListener("focusout", unpoint);
}

// What only a long passage has comes with its first use.
function awaitLong(frame) {
  const bar = frame.querySelector(".passage__long");
  const types = ["focusin", "click"];
  let pressed; // before it came
  const load = async ({ type, target }) => {
    if (type === "click") pressed = target;
    const { watchLong } = await import("./long_passage.js");
    for (const each of types) bar.removeEventListener(each, load);
    if (watchLong(frame)) pressed?.click();
  };
  for (const each of types) bar?.addEventListener(each, load);
}

function pointAtFocused(passage) {
  const token = passage.querySelector(".token[data-token]:focus-visible");
  if (token) point({ token: Number(token.dataset.token), text });
  else unpoint();
}

let tokens = []; // of the passage of this page: to look for one among thousands takes milliseconds
let text; // which it is

// The element of a token, undefined where there is none.
const elementOf = (token) => (tokens[token]?.isConnected ? tokens[token] : undefined);

// The part of a character that an event is on. All parts are as wide as the character and lie in
// each other, so the place decides: the first is where the character begins.
function partAt(element, { clientX: x, clientY: y }) {
  const characters = element.closest(".characters");
  if (!characters || x === undefined) return element;
  const on = ({ left, right, top, bottom }) => left <= x && x <= right && top <= y && y <= bottom;
  const box = [...element.getClientRects()].find(on);
  if (!box?.width) return element;
  const parts = characters.querySelectorAll(".token");
  const share = (x - box.left) / box.width;
  const along = characters.matches(".characters--back") ? 1 - share : share;
  return parts[Math.min(Math.floor(along * parts.length), parts.length - 1)];
}

// What a token reads, undefined where it cannot be seen. of: the text that it is in
export function textOf(token, of = text) {
  if (of !== text) return undefined;
  const element = elementOf(token);
  const part = element?.dataset.part;
  return part ? `${part}·${element.textContent.trim()}` : element?.textContent;
}

let pinned = -1; // when it was brought in

onMark(() => {
  const [at, { token, target }] = [marked(), pins()].map((marks) => inText(marks, text));
  classify("token--marked", at.token);
  classify("token--pinned", token);
  classify("token--target", at.target);
  classify("token--target-pinned", target);
  if (token !== pinned) bringIn(token);
  bringIn(at.token);
  pinned = token;
  placeTips();
});

// Brings a token into a text that scrolls by itself, whose reader is elsewhere.
export function bringIn(token) {
  const element = elementOf(token);
  const passage = element?.closest(".passage");
  if (!passage || passage.matches(":hover")) return;
  if (passage.scrollHeight <= passage.clientHeight + 1) return;
  const [place, seen] = [element, passage].map((each) => each.getBoundingClientRect());
  if (place.top >= seen.top && place.bottom <= seen.bottom) return;
  passage.scrollTop += place.top - seen.top - (seen.height - place.height) / 2;
}

// Gives a class to one token (-1: to none), touching no others: a slider's step waits for it.
function classify(name, index) {
  const one = elementOf(index);
  for (const other of document.querySelectorAll(`.${name}`)) {
    if (other !== one) other.classList.remove(name);
  }
  one?.classList.add(name);
}

let said = {}; // {token, text}: what a token gives or gets, see shading.js

export function sayOf(token, text) {
  said = { token, text };
  placeTips();
}

const placeTips = () => document.querySelectorAll(".passage").forEach(placeTip);
addEventListener("resize", placeTips);

// Tokens come with their ids alone, in a title, which would show beside our own.
function number(passage) {
  tokens = [...passage.querySelectorAll(".token")];
  tokens.forEach((token, index) => {
    token.dataset.token = index;
    token.dataset.about = `token ${index}, ${partOf(token)}${token.title}`;
    token.removeAttribute("title");
    token.tabIndex = index === 0 ? 0 : -1;
  });
}

// Says of a part of a character which one it is, "part 1 of 2 of “你”, ", of other tokens "".
function partOf(token) {
  const characters = token.closest(".characters");
  if (!characters) return "";
  const parts = [...characters.querySelectorAll(".token")];
  const number = parts.indexOf(token) + 1;
  token.dataset.part = `${number}/${parts.length}`;
  const text = shortened(token.textContent.trim());
  return `part ${number} of ${parts.length} of “\u2068${text}\u2069”, `; // an isolate
}

// Told to keys and fingers too: beside the marked token. It lies in a box of no size, or a browser
// would break the lines of the whole text anew for every other tip, and for each that goes.
function addTip(passage) {
  const box = Object.assign(document.createElement("div"), { className: "passage__over" });
  const tip = Object.assign(document.createElement("div"), { className: "passage__tip" });
  Object.assign(tip, { id: "token-tip", role: "tooltip" });
  tip.style.visibility = "hidden";
  box.append(tip);
  passage.append(box);
}

function placeTip(passage) {
  const tip = passage.querySelector(".passage__tip");
  if (!tip) return;
  // for who is there: who points at a figure sees the token marked, and the text around it
  const here = passage.parentElement.matches(":hover, :focus-within");
  const token = here && passage.querySelector(".token--marked");
  passage.querySelector("[aria-describedby]")?.removeAttribute("aria-describedby");
  tip.style.visibility = token ? "visible" : "hidden";
  if (!token) return;
  const says = document.getElementById("passage-says"); // see shading.js
  token.setAttribute("aria-describedby", says ? `${tip.id} ${says.id}` : tip.id);
  const line = said.token === Number(token.dataset.token) && said.text;
  tip.textContent = line ? `${line}\n${token.dataset.about}` : token.dataset.about;
  const frame = passage.getBoundingClientRect();
  const place = [...token.getClientRects()].at(-1) ?? token.getBoundingClientRect();
  const left = Math.min(place.left - frame.left, frame.width - tip.offsetWidth);
  // below, since a token attends mostly to those before it; a translation, which to a browser is no
  // shift of the layout
  const top = place.bottom - frame.top + passage.scrollTop + 6;
  tip.style.translate = `${Math.max(0, left)}px ${top}px`;
}

// The passage is one stop of the Tab key; arrows move over its tokens, Enter pins.
function press(passage, token, event) {
  if (["Enter", " "].includes(event.key)) {
    event.preventDefault();
    pin({ token, text });
    return;
  }
  const on = passage.dir === "rtl" ? -1 : 1;
  const next = {
    ArrowLeft: tokens[token - on],
    ArrowRight: tokens[token + on],
    Home: tokens[0],
    End: tokens.at(-1),
  }[event.key];
  if (!next) return;
  event.preventDefault();
  tokens.forEach((each) => (each.tabIndex = each === next ? 0 : -1));
  next.focus();
}
