// The passage, shaded by attention: by how much of it the token that is pointed at, or pinned,
// gives to each token, under the head of the figure that was used last. Turned round: by how much
// of their attention the other tokens give to it.

import { latest, loadStyles, reason } from "../data/loading.js";
import { attention } from "../data/shard.js";
import { percent } from "../data/shares.js";
import { marked, onMark, pins, USED_BY } from "./marks.js";
import { textOf } from "./passage.js";
import { shortened } from "./words.js";

const FAINTEST = 0.002; // of attention; a shade for less could not be seen
const NUMBERED = 9; // at most, the strongest first
const LEAST = 0.02; // of a token that has a number
const NAMED = 3; // in words

const decoded = new WeakMap(); // file of a head -> its attention, so that a token is shaded at once

let passage; // of this page, undefined where no figure shades it
let tokens, says, turn, hint;
let figures; // element -> figure, of this page
let used; // a function that returns the figure that was used last, undefined if none was
let drawnFor;
let held = false; // whether Alt is

// all: a map of element to figure, in the order of the page; lastUsed: a function that returns the
// one that was used last
export function watchShading(of, all, lastUsed) {
  const bar = of.parentElement.querySelector(".passage__bar");
  if (!bar || passage === of) return;
  [passage, figures, used] = [of, all, lastUsed];
  tokens = [...passage.querySelectorAll(".token[data-token]")];
  says = bar.querySelector(".passage__says");
  hint = says.textContent;
  turn = bar.querySelector("[data-act=turn]");
  turn.title = "Shade by what attends to the token; the Alt key does it too";
  turn.addEventListener("click", () => {
    turn.setAttribute("aria-pressed", String(turn.getAttribute("aria-pressed") !== "true"));
    shade();
  });
  watchStrip(bar.querySelector("[data-act=keep]"));
  loadStyles(STYLES).catch(console.warn); // for the strip
  shade();
}

const STYLES = new URL("shading.css", import.meta.url);

onMark(() => shade());

// Another figure is used, or one has drawn another head.
for (const type of USED_BY) addEventListener(type, () => used?.() !== drawnFor && shade(), true);
addEventListener("figureshown", ({ target }) => figures?.has(target) && shade(), true);

// Alt turns the shades round for as long as it is held, for who is at the passage.
const isAt = () => passage?.matches(":hover, :focus-within");

addEventListener("keydown", (event) => {
  if (event.key !== "Alt" || !isAt()) return;
  event.preventDefault(); // it would lead to the browser's menu
  hold(true);
});
addEventListener("keyup", ({ key }) => key === "Alt" && hold(false));
addEventListener("blur", () => hold(false));

function hold(on) {
  if (held === on) return;
  held = on;
  shade();
}

const isTurned = () => (turn.getAttribute("aria-pressed") === "true") !== held;

// The token that is looked from: the one that is pointed at, else the pinned one, else the article's.
const looker = () => [marked().token, pins().token, first()].find((token) => tokens[token]);

// The one that the article shows until a reader points at another.
const first = () => (passage.dataset.opens ? Number(passage.dataset.opens) : -1);

const shade = latest(async () => {
  if (!passage?.isConnected) return;
  if (looker() === undefined) return clear();
  try {
    await loadStyles(STYLES);
    drawnFor = used();
    const of = await headInUse();
    const token = looker(); // of now: the reader has not waited for the files
    if (token === undefined) return clear();
    if (!of) return tell("No figure of this page shows a head that reads this text.");
    if (of.map.size !== tokens.length) return tell(`${of.model} cuts this text into other tokens.`);
    const shares = isTurned() ? column(of.map, token) : row(of.map, token);
    paint(token, shares, of.head);
  } catch (error) {
    console.warn(error);
    tell(`The text could not be shaded (${reason(error)}).`);
  }
});

// The attention of the head that the figure used last shows; of the first figure that shows one.
async function headInUse() {
  for (const figure of new Set([drawnFor, ...figures.values()])) {
    if (!figure?.head || !figure.element.isConnected) continue;
    const { state, charts: [chart] } = figure;
    const { report } = (await chart.specification(state)).usermeta;
    const { file } = await chart.fetched(state, report.data);
    if (file.schema !== "attention/4") continue; // what it shows of a head is no passage's attention
    if (!decoded.has(file)) decoded.set(file, attention(file));
    const model = figure.element.querySelector("input[name*=model]:checked")?.parentElement;
    return { map: decoded.get(file), model: model?.textContent.trim(), head: nameOf(state, model) };
  }
  return null;
}

function nameOf({ layer, head }, model) {
  const of = model ? ` of ${model.textContent.trim()}` : "";
  return `layer ${layer}, head ${head}${of}`;
}

// Shares of each token, 0 where it cannot be seen: in what a token attends to; in what it gets.
const row = (map, i) => tokens.map((_, j) => (map.sees(i, j) ? map.probability(i, j) : 0));
const column = (map, j) => tokens.map((_, i) => (map.sees(i, j) ? map.probability(i, j) : 0));

function paint(token, shares, head) {
  const strongest = [...shares.keys()]
    .filter((each) => shares[each] >= LEAST)
    .sort((a, b) => shares[b] - shares[a] || a - b)
    .slice(0, NUMBERED);
  const rank = new Map(strongest.map((each, n) => [each, n + 1]));
  passage.classList.add("passage--shaded");
  tokens[first()]?.classList.toggle("token--first", token === first());
  tokens.forEach((element, each) => {
    // a share of a quarter is half as dark: small shares are to be seen
    look(element, shares[each] < FAINTEST ? "" : Math.sqrt(shares[each]).toFixed(3));
    if (rank.has(each)) element.dataset.rank = rank.get(each);
    else if (element.dataset.rank) delete element.dataset.rank;
  });
  placeNumbers();
  says.textContent = sentence(token, shares, strongest.slice(0, NAMED), head);
}

// Touches only what changes: of a long passage most stays as it is.
const looks = new WeakMap(); // token -> what its shade is
function look(element, shade) {
  if ((looks.get(element) ?? "") === shade) return;
  looks.set(element, shade);
  if (shade) element.style.setProperty("--looked", shade);
  else element.style.removeProperty("--looked");
}

// The numbers stand above the text and are no part of it: to place them lays out nothing anew.
function placeNumbers() {
  let numbers = passage?.querySelector(".passage__ranks");
  if (!numbers && !passage?.matches(".passage--shaded")) return; // nor are their styles here yet
  if (!numbers) {
    numbers = document.createElement("div");
    Object.assign(numbers, { className: "passage__ranks", ariaHidden: "true" });
    for (let n = 1; n <= NUMBERED; n++) {
      numbers.append(Object.assign(document.createElement("span"), { textContent: n }));
    }
    passage.append(numbers);
  }
  const frame = passage.getBoundingClientRect();
  const ranked = new Map();
  for (const token of passage.querySelectorAll(".token[data-rank]")) {
    if (!token.closest(".characters")) ranked.set(Number(token.dataset.rank), token);
  }
  const places = [...numbers.children].map((_, n) => ranked.get(n + 1)?.getClientRects()[0]);
  [...numbers.children].forEach((number, n) => {
    const place = places[n];
    number.style.visibility = place ? "visible" : "hidden";
    if (!place) return;
    const down = place.top - frame.top + passage.scrollTop;
    number.style.translate = `${place.left - frame.left}px ${down}px`;
  });
}

addEventListener("resize", () => passage?.isConnected && placeNumbers());

function sentence(token, shares, named, head) {
  const read = (each) => `${each} “\u2068${shortened(textOf(each))}\u2069”`; // an isolate
  const list = named.map((each) => `${read(each)} ${percent(shares[each])}`).join(", ");
  const does = isTurned() ? "gets attention from" : "attends to";
  const little = isTurned() ? `no token with ${percent(LEAST)} or more` : "many, to none much";
  return `Token ${read(token)} ${does} ${list || little} (${head}).`;
}


function clear() {
  passage.classList.remove("passage--shaded");
  tokens[first()]?.classList.remove("token--first");
  tokens.forEach((element) => {
    look(element, "");
    if (element.dataset.rank) delete element.dataset.rank;
  });
  placeNumbers();
  says.textContent = hint;
}

function tell(text) {
  clear();
  says.textContent = text;
}

// The passage as a strip at the top of the window, for who wants to see it beside the figures. This
// stands where it has been, as high, so that no figure moves.
const gap = Object.assign(document.createElement("div"), { className: "passage-gap" });
gap.textContent = "The text is at the top of the window.";

function watchStrip(button) {
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    keep(passage.parentElement, on);
  });
}

function keep(frame, on) {
  if (on) {
    const { height, margin } = getComputedStyle(frame);
    Object.assign(gap.style, { height, margin });
    frame.before(gap);
    placeStrip();
  } else gap.remove();
  frame.classList.toggle("passage-frame--kept", on);
}

// Below the header of the page, as wide as the text.
function placeStrip() {
  if (!gap.isConnected) return;
  const { left, width } = gap.getBoundingClientRect();
  const top = document.querySelector(".md-header")?.offsetHeight ?? 0;
  Object.assign(passage.parentElement.style, {
    left: `${left}px`,
    width: `${width}px`,
    top: `${top}px`,
  });
}

addEventListener("resize", placeStrip);

// What is marked in a figure is brought into the strip.
onMark(() => {
  if (!passage?.closest(".passage-frame--kept") || passage.matches(":hover")) return;
  const token = passage.querySelector(`.token[data-token="${marked().token}"]`);
  if (!token) return;
  const place = token.getBoundingClientRect();
  const seen = passage.getBoundingClientRect();
  if (place.top < seen.top || place.bottom > seen.bottom) {
    passage.scrollTop += place.top - seen.top - (seen.height - place.height) / 2;
  }
});
