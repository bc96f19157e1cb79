// What a reader marks in the passage and in all figures: one token (with its target, if a cell of a
// map is marked), one head, one position of a prompt. Pointing, by mouse or keyboard, marks as long
// as it lasts. A click, Enter or a tap pins until the next one there. Escape clears all. Besides, a
// question may look for heads, which are marked until the next question.

const IN_ADDRESS = ["token", "layer", "head", "position", "original"];
const NAMES = [...IN_ADDRESS, "target"]; // of a cell, which the address of its figure has
const NONE = Object.fromEntries(NAMES.map((name) => [name, -1])); // -1: none
const HEAD = ["layer", "head"]; // of a model
export const PLACES = ["token", "target", "position", "original"]; // of a text, see `textId` of words.js

let pointed = NONE;
let pinned = NONE;
let due = false; // whether listeners are not told yet of what is pointed at
const listeners = new Set();
const followers = new Set();
let search = { text: "" }; // the question, see `ask`
const answers = new Map(); // model -> names of its heads that answer the question
const NOBODY = [];
let finger = false; // whether what pressed last was a finger

export const isTouch = (event) => event.pointerType === "touch";
export const byFinger = () => finger;

addEventListener("pointerdown", (event) => (finger = isTouch(event)), true);
addEventListener("click", (event) => {
  // charts do this themselves; a control must not unmark what its figure is set for
  const own = ".token, .live-figure__chart, .live-figure__controls, a, button, input, label";
  if (finger && !event.target.closest?.(own)) clearMarks();
});

// `listener` is called when a mark has changed.
export const onMark = (listener) => listeners.add(listener);

// `follower` is called when a reader has pinned, unpinned or asked, with the figure of that act.
export const onPin = (follower) => followers.add(follower);

export const marked = () => pointed;
export const pins = () => pinned;

export const sameHead = (one, other) =>
  ["layer", "head", "model"].every((part) => one[part] === other[part]);

const without = (marks, names) => ({ ...marks, ...Object.fromEntries(names.map((name) => [name, -1])) });

// `marks` without those of another text than `text`, where the same index is another word.
export const inText = (marks, text) =>
  text !== undefined && marks.text === text ? marks : without(marks, PLACES);

// Params of a chart: marked_token, pinned_head and so on, -1 for none, and `found`, names of heads.
// model: of its heads; text: of its tokens. A page may have several of both, and what belongs to
// others is not marked.
export function markSignals(model, text) {
  const of = (prefix, marks) => {
    const here = inText(marks.model === model ? marks : without(marks, HEAD), text);
    return NAMES.map((name) => [`${prefix}_${name}`, here[name]]);
  };
  const found = answers.get(model) ?? NOBODY;
  return { ...Object.fromEntries([...of("marked", pointed), ...of("pinned", pinned)]), found };
}

export const question = () => search;

// Looks for heads, in all figures; text: see find.js, which answers; figure: where that was asked, and
// where they are listed, unless by dragging over its chart, which a list would move away
export function ask(text, figure, dragged = false) {
  if (text === search.text && dragged === Boolean(search.dragged)) return;
  search = { text, figure, dragged };
  answers.clear();
  tell();
  for (const follower of followers) follower(figure);
}

export function answer(model, names) {
  const before = answers.get(model) ?? NOBODY;
  if (before.join() === names.join()) return;
  answers.set(model, names);
  tell();
}

// values: what is pointed at, all of it, e.g. {token: 3, text} or {layer: 1, head: 2, model}
export function point(values) {
  const next = { ...NONE, ...values };
  if (same(next, pointed)) return;
  pointed = next;
  tell();
}

export const unpoint = () => point({});

// `point`, but listeners hear of it only once the tooltip has been painted: they take longer than a
// reader shall wait for it.
export function pointSoon(values) {
  const next = { ...NONE, ...values };
  if (same(next, pointed)) return;
  pointed = next;
  if (due) return;
  due = true;
  requestAnimationFrame(() => setTimeout(() => due && tell()));
}

// Pins values, or unpins them if they are all pinned already.
export function pin(values, figure) {
  if (!Object.keys(values).length) return;
  const again = Object.entries(values).every(([name, value]) => pinned[name] === value);
  if (again) unpin(Object.keys(values), figure);
  else change({ ...besides(values), ...withoutTarget(values), ...values }, figure);
}

// Sets the target of the pinned token.
export function aim(target) {
  if (target === pinned.target) return;
  pinned = { ...pinned, target };
  tell();
}

// What stays pinned beside new values: what is in their text.
const besides = ({ text }) => (text === undefined ? pinned : inText(pinned, text));

// Takes the target away with its token.
const withoutTarget = (values) => ("token" in values ? { target: NONE.target } : {});

export function unpin(names, figure) {
  const none = Object.fromEntries(names.map((name) => [name, NONE[name]]));
  if (names.some((name) => PLACES.includes(name))) none.text = undefined;
  if (byFinger()) pointed = NONE; // a finger that takes a pin away points at nothing
  change({ ...pinned, ...none, ...withoutTarget(none) }, figure);
}

function change(next, figure) {
  if (same(next, pinned)) return;
  pinned = next;
  tell();
  for (const follower of followers) follower(figure);
}

export function clearMarks() {
  pointed = NONE;
  const had = !same(pinned, NONE);
  pinned = NONE;
  tell();
  if (had) for (const follower of followers) follower();
}

// --- In an address: pinned_token=17 -----------------------------------------------------------

// Entries of an address; model, text: those it has already, so that only others are added
export function pinsInAddress(model, text) {
  const names = IN_ADDRESS.filter((name) => pinned[name] >= 0);
  if (pinned.head >= 0 && pinned.model && pinned.model !== model) names.push("model");
  if (placed(pinned) && pinned.text && pinned.text !== text) names.push("text");
  const asks = search.text ? { found: search.text } : {};
  return { ...Object.fromEntries(names.map((name) => [`pinned_${name}`, pinned[name]])), ...asks };
}

const placed = (marks) => PLACES.some((name) => marks[name] >= 0);

let owner; // the figure whose text the pins of an address are in, until that text is known

// Pins what an address says and nothing else. values: its entries, as texts, `found` (the question)
// among them; figure: whose address it is
export function setPins(values, figure) {
  const index = (text) => (/^\d{1,9}$/.test(text) ? Number(text) : -1);
  const next = Object.fromEntries(NAMES.map((name) => [name, index(values[`pinned_${name}`])]));
  if (next.layer < 0 || next.head < 0) next.layer = next.head = -1;
  // without a model of its own, the head is of the figure's
  if (next.head >= 0) next.model = values.pinned_model ?? values.model;
  if (placed(next)) next.text = values.pinned_text;
  owner = figure;
  const { found = "" } = values;
  const other = found !== search.text;
  if (other) {
    search = { text: found, figure };
    answers.clear();
  }
  if (!other && same(next, pinned)) return;
  pinned = next;
  tell();
}

// Gives the pins of a figure's address their text, once that is known.
export function placePins(figure, text) {
  if (figure !== owner || text === undefined) return;
  owner = undefined;
  if (!placed(pinned) || pinned.text !== undefined) return;
  pinned = { ...pinned, text };
  tell();
}

// Clamps what is pinned to what there is; counts: name -> how many there are; model, text: whose
// heads and tokens these are; pins of others stay
export function limit(counts, model = pinned.model, text = pinned.text) {
  const other = (name) => (HEAD.includes(name) ? model !== pinned.model : text !== pinned.text);
  const within = (name) =>
    other(name) ? pinned[name] : Math.min(pinned[name], (counts[name] ?? Infinity) - 1);
  const next = { ...pinned, ...Object.fromEntries(NAMES.map((name) => [name, within(name)])) };
  if (same(next, pinned)) return;
  pinned = next;
  tell();
}

const same = (one, other) =>
  one.model === other.model && one.text === other.text && NAMES.every((name) => one[name] === other[name]);

function tell() {
  due = false;
  for (const listener of listeners) listener();
}
