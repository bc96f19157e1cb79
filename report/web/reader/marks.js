// What a reader marks in the passage and in all figures: one token (with it its target, where it is
// marked in a cell of a map), one head, one position of a prompt. Pointing, by mouse or keyboard,
// marks for as long as it lasts. A click, Enter or a tap pins until it is done once more. Escape
// clears all. Besides, heads are looked for by a question, whose answer is marked until another is
// asked.

const IN_ADDRESS = ["token", "layer", "head", "position", "original"];
const NAMES = [...IN_ADDRESS, "target"]; // of a cell, which the address of its figure has
const NONE = Object.fromEntries(NAMES.map((name) => [name, -1])); // -1: none
const HEAD = ["layer", "head"]; // of a model
export const PLACES = ["token", "target", "position", "original"]; // of a text, see `textId` of words.js

let pointed = NONE;
let pinned = NONE;
let due = false; // whether something was pointed at that listeners are still to be told
const listeners = new Set();
const followers = new Set();
let asked = { text: "" }; // see `ask`
const answers = new Map(); // model -> names of its heads that are looked for
const NOBODY = [];
let finger = false; // whether what pressed last was a finger

export const isTouch = (event) => event.pointerType === "touch";
export const byFinger = () => finger;

addEventListener("pointerdown", (event) => (finger = isTouch(event)), true);
addEventListener("click", (event) => {
  // charts look for themselves; what sets a figure must not unmark what it is set for
  const own = ".token, .live-figure__chart, .live-figure__controls, a, button, input, label";
  if (finger && !event.target.closest?.(own)) clearMarks();
});

// `listener` is called when a mark has changed.
export const onMark = (listener) => listeners.add(listener);

// `follower` is called when a reader has pinned, unpinned or asked, with the figure where that was
// done.
export const onPin = (follower) => followers.add(follower);

export const marked = () => pointed;
export const pins = () => pinned;

export const sameHead = (one, other) =>
  ["layer", "head", "model"].every((part) => one[part] === other[part]);

const without = (marks, names) => ({ ...marks, ...Object.fromEntries(names.map((name) => [name, -1])) });

// Of what is marked or pinned, what is in a text: in another, the same index is another word.
export const inText = (marks, text) =>
  text !== undefined && marks.text === text ? marks : without(marks, PLACES);

// Params of a chart. model: of its heads; text: of its tokens. A page may have several of both, and
// what belongs to others is not marked.
export function markSignals(model, text) {
  const of = (prefix, marks) => {
    const here = inText(marks.model === model ? marks : without(marks, HEAD), text);
    return NAMES.map((name) => [`${prefix}_${name}`, here[name]]);
  };
  const found = answers.get(model) ?? NOBODY;
  return { ...Object.fromEntries([...of("marked", pointed), ...of("pinned", pinned)]), found };
}

export const question = () => asked;

// Looks for heads, in all figures; text: see find.js, which answers; figure: where that was asked, and
// where they are listed, unless they were dragged over: a list would move the chart away
export function ask(text, figure, dragged = false) {
  if (text === asked.text && dragged === Boolean(asked.dragged)) return;
  asked = { text, figure, dragged };
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

// The same, told to all others only when what the pointer is at has been painted: what they do takes
// longer than a reader shall wait for a tooltip.
export function pointSoon(values) {
  const next = { ...NONE, ...values };
  if (same(next, pointed)) return;
  pointed = next;
  if (due) return;
  due = true;
  requestAnimationFrame(() => setTimeout(() => due && tell()));
}

// Pins, or, where just that is pinned, no longer.
export function pin(values, figure) {
  if (!Object.keys(values).length) return;
  const again = Object.entries(values).every(([name, value]) => pinned[name] === value);
  if (again) unpin(Object.keys(values), figure);
  else change({ ...inOne(values), ...withoutTarget(values), ...values }, figure);
}

// Says which target the pinned token was pinned with.
export function aim(target) {
  if (target === pinned.target) return;
  pinned = { ...pinned, target };
  tell();
}

// What is pinned, as far as it is in the text of what will be.
const inOne = ({ text }) => (text === undefined ? pinned : inText(pinned, text));

// A target stands as long as its token.
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

// model, text: which the address says already; what is of others is said with its own
export function pinsInAddress(model, text) {
  const names = IN_ADDRESS.filter((name) => pinned[name] >= 0);
  if (pinned.head >= 0 && pinned.model && pinned.model !== model) names.push("model");
  if (placed(pinned) && pinned.text && pinned.text !== text) names.push("text");
  const asks = asked.text ? { found: asked.text } : {};
  return { ...Object.fromEntries(names.map((name) => [`pinned_${name}`, pinned[name]])), ...asks };
}

const placed = (marks) => PLACES.some((name) => marks[name] >= 0);

let owner; // the figure in whose text the pins of an address are, as long as that is not known

// values: dict that may have such entries, as texts, and `found`, what was asked; what it lacks is not
// pinned; figure: whose address it is
export function setPins(values, figure) {
  const index = (text) => (/^\d{1,9}$/.test(text) ? Number(text) : -1);
  const next = Object.fromEntries(NAMES.map((name) => [name, index(values[`pinned_${name}`])]));
  if (next.layer < 0 || next.head < 0) next.layer = next.head = -1;
  // else of the figure whose address it is
  if (next.head >= 0) next.model = values.pinned_model ?? values.model;
  if (placed(next)) next.text = values.pinned_text;
  owner = figure;
  const { found = "" } = values;
  const other = found !== asked.text;
  if (other) {
    asked = { text: found, figure };
    answers.clear();
  }
  if (!other && same(next, pinned)) return;
  pinned = next;
  tell();
}

// Says what the text of a figure is, once that is known.
export function readIn(figure, text) {
  if (figure !== owner || text === undefined) return;
  owner = undefined;
  if (!placed(pinned) || pinned.text !== undefined) return;
  pinned = { ...pinned, text };
  tell();
}

// Clamps what is pinned to what there is; counts: dict of name to how many there are; model, text:
// whose heads and tokens are counted, as another has others
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
