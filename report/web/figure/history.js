// The figures in the address and in the browser's history. The address says what one figure shows
// (#fig-1:layer=2,head=5). For each entry of the history, what all figures showed is remembered.

import * as address from "../reader/address.js";
import { limit, onPin, pins, pinsInAddress, setPins } from "../reader/marks.js";
import { param } from "./controls.js";
import { figures } from "./figure.js";

const seen = new Map(); // entry of the history -> what every figure showed then

const snapshot = () => ({
  path: location.pathname,
  figures: [...figures.values()].map((figure) => [figure.element.id, figure.values]),
  pins: pinsInAddress(),
});

const remember = () => seen.set(address.entry(), snapshot());

// Shows what the address says. At an entry that the reader comes back to, all figures show again
// what they showed then.
export function restore() {
  address.forget();
  const then = seen.get(address.entry());
  const { id, values } = address.parsed(location.hash) ?? {};
  const named = figureOf(id);
  if (then?.path === location.pathname) {
    setPins(then.pins);
    for (const [each, values] of then.figures) figureOf(each)?.restore(values);
    if (named && !inSight(named.element)) named.element.scrollIntoView();
    return;
  }
  if (named || id === "passage") {
    const told = Object.fromEntries(values);
    const [token] = told.cell?.split("+") ?? [];
    setPins({ pinned_token: token, ...told });
    limit(reachOfSliders());
    named?.restore(told);
    (named?.element ?? document.querySelector(".passage"))?.scrollIntoView();
  }
  remember();
}

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

// A head that is pinned in a figure of many heads is shown by the figures of one head.
let shownHead;

onPin((source) => {
  const { layer, head, model } = pins();
  const now = head >= 0 ? [layer, head, model].join() : undefined;
  if (now && now !== shownHead && source && !source.head) {
    for (const figure of figures.values()) {
      if (figure.head) figure.set({ model, layer, head }, false);
      else figure.chooseHead(`L${layer}H${head}`);
    }
  }
  shownHead = now;
});

// A pin is part of the address of the figure where it was set, or of the one that is there already.
onPin((source) => {
  for (const figure of figures.values()) figure.pick({});
  const figure = source ?? figureOf(address.parsed(location.hash)?.id);
  address.write(() => (figure ? figure.fragment() : address.fragment("passage", pinsInAddress())));
  address.settle();
});
