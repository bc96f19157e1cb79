// The figures in the address and in the browser's history. The address says what one figure shows
// (#fig-1:layer=2,head=5). For each entry of the history, what all figures showed is remembered.

import * as address from "../reader/address.js";
import { ask, clearMarks, limit, onPin, pins, pinsInAddress, placePins, setPins } from "../reader/marks.js";
import { param } from "./controls.js";
import { figures } from "./figure.js";

const seen = new Map(); // entry of the history -> what every figure showed then

let last; // what was remembered last

const snapshot = () => ({
  path: location.pathname,
  figures: new Map([...earlier(), ...[...figures.values()].map(({ element, values }) => [element.id, values])]),
  pins: pinsInAddress(),
  moved: new Map(moved),
});

// What figures showed that will come to this page again.
const earlier = () => (last?.path === location.pathname ? last.figures : []);

const remember = () => seen.set(address.entry(), (last = snapshot()));

// Shows what the address says. At an entry that the reader comes back to, all figures show again
// what they showed then.
export function restore() {
  address.forget();
  const then = seen.get(address.entry());
  const { id, values } = address.parsed(location.hash) ?? {};
  const named = figureOf(id);
  if (then?.path === location.pathname) {
    setPins(then.pins, named);
    for (const [each, values] of then.figures) figureOf(each)?.restore(values);
    if (named) placePins(named, named.text);
    [inView, moved] = [pinnedHead(), new Map(then.moved)];
    if (named && !inSight(named.element)) arrive(named.element);
    return;
  }
  const told = (named || id === "passage") && Object.fromEntries(values);
  if (told) {
    const [token] = told.cell?.split("+") ?? [];
    const own = { model: named?.addressed, pinned_text: named ? undefined : passageText() };
    setPins({ pinned_token: token, ...own, ...told }, named);
    limit(reachOfSliders(), undefined, passageText());
  }
  bringHead();
  if (told) {
    named?.restore(told);
    if (named) placePins(named, named.text);
    arrive(named?.element ?? document.querySelector(".passage"));
  }
  remember();
}

// Figures that have come to a page later show what they showed at this entry.
export function join(figures) {
  const then = seen.get(address.entry());
  for (const [id, values] of then?.figures ?? []) {
    const figure = figureOf(id);
    if (figures.includes(figure)) figure.restore(values);
  }
  remember();
}

// A page that changes while its reader types stays where it is.
const arrive = (element) => "stays" in document.body.dataset || element?.scrollIntoView();

const passageText = () => document.getElementById("passage")?.dataset.text;
const figureOf = (id) => figures.get(id && document.getElementById(id));

// Layers and heads of the page's sliders.
function reachOfSliders() {
  const sliders = [...document.querySelectorAll(".live-figure input[type=range]")];
  const count = (name) => {
    const ends = sliders.filter((each) => param(each) === name).map(({ max }) => 1 + Number(max));
    return ends.length ? Math.max(...ends) : undefined;
  };
  const tokens = document.querySelectorAll(".token[data-token]").length || undefined;
  return { token: tokens, layer: count("layer"), head: count("head") };
}

function inSight(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

address.onWritten(remember);

// A head that is pinned comes into view: all figures of one head of its model go to it. Unpinned,
// they go back, but for those that the reader has set meanwhile.
let moved = new Map(); // figure -> [what it was set to, what that was before]
let inView; // the head

const says = ({ state }, values) => Object.entries(values).every(([name, is]) => state[name] === is);

function pinnedHead() {
  const { layer, head, model } = pins();
  return head >= 0 ? [layer, head, model].join() : undefined;
}

function bringHead() {
  const now = pinnedHead();
  if (now === inView) return;
  inView = now;
  for (const figure of figures.values()) {
    const [set, before] = moved.get(figure) ?? [];
    const stays = set && says(figure, set);
    const next = now ? figure.stateOf(pins()) : stays && before;
    moved.delete(figure);
    if (!next) continue;
    const { state } = figure;
    const then = Object.fromEntries(Object.keys(next).map((name) => [name, state[name]]));
    if (now) moved.set(figure, [next, stays ? before : then]);
    if (!says(figure, next)) figure.set(next, false);
  }
}

onPin(bringHead);

// A pin, or a question, is part of the address of the figure where it was set, or of the one that is
// there already.
onPin((source) => {
  for (const figure of figures.values()) figure.pick({});
  step(source ?? figureOf(address.parsed(location.hash)?.id));
});

// Writes a step of the history, in a figure or in the passage.
function step(figure) {
  const pinsThere = () => pinsInAddress(undefined, passageText());
  address.write(() => (figure ? figure.fragment() : address.fragment("passage", pinsThere())));
  address.settle();
}

// Brings all figures back to what they showed as the page came.
export function reset() {
  clearMarks();
  ask("");
  moved.clear();
  for (const figure of figures.values()) {
    if (figure.link) figure.link.checked = false;
    if (figure.differs) figure.restore(figure.opening);
  }
  step(figureOf(address.parsed(location.hash)?.id));
}
