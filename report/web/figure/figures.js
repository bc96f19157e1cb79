// Brings the figures of a page to life, and tells all of them what concerns all: marks, the
// palette, paper, another page.
//
// A page is <figure class="live-figure" data-datasets> elements, in each a box with data-spec for
// every chart, and perhaps a <div class="passage"> whose tokens mark themselves in the figures.

import { clearMarks, isTouch, marked, onMark, pins, question, setPins, unpoint } from "../reader/marks.js";
import { watchNames } from "../reader/names.js";
import { watchPassage } from "../reader/passage.js";
import { onLabels, onReset } from "../reader/pins.js";
import { forPaper } from "./chart.js";
import { Figure, figures } from "./figure.js";
import { join, reset, restore } from "./history.js";

const charts = () => [...figures.values()].flatMap((figure) => figure.charts);

// Marks are drawn in figures that can be seen, or nearly; the others have them when they come near.
const sight = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const figure = figures.get(target);
      if (!figure) continue;
      figure.inSight = isIntersecting;
      figure.mark();
    }
  },
  { rootMargin: "100% 0px" },
);

let path; // of the page whose figures these are
let whenNear, forget, equip; // see start.js

function page() {
  const before = figures.size;
  for (const [element, figure] of figures) {
    if (element.isConnected) continue; // left behind by instant navigation
    forget(element);
    sight.unobserve(element);
    figure.charts.forEach((chart) => chart.finalize());
    figures.delete(element);
  }
  const same = before > 0 && figures.size === before; // there are more figures on it
  if (!same) {
    path = location.pathname;
    setPins({});
    unpoint();
  }
  const added = [];
  for (const element of document.querySelectorAll(".live-figure[data-datasets]")) {
    if (figures.has(element)) continue;
    const figure = new Figure(element);
    figures.set(element, figure);
    added.push(figure);
    const shown = () => equip(figure).catch(console.warn);
    element.addEventListener("figureshown", shown, { once: true });
    whenNear(element, () => figures.get(element)?.start());
    sight.observe(element);
  }
  if (same) {
    watchNames(figures);
    join(added);
    return;
  }
  document.querySelectorAll(".passage").forEach(watchPassage);
  const bar = document.querySelector(".passage__bar");
  if (bar) whenNear(bar, () => shadePassage().catch(console.warn));
  watchBar(bar);
  watchNames(figures);
  restore();
}

// What shades the passage is fetched once that is near, a token is marked, or a button above it is
// pressed.
let shaded; // the passage that is

async function shadePassage() {
  const passage = document.getElementById("passage");
  if (!passage || passage === shaded) return;
  const { watchShading } = await import("../reader/shading.js");
  watchShading(passage, figures);
  shaded = passage;
}

// What shows a head beside the pointer is fetched once one is pointed at.
let card;

function showHead() {
  card ??= import("../reader/head_card.js");
  card.then(({ watchHeads }) => watchHeads(figures)).catch((error) => {
    card = null; // it may be tried again
    console.warn(error);
  });
}

function watchBar(bar) {
  bar?.addEventListener("click", ({ target }) => {
    if (bar.parentElement.contains(shaded)) return; // it listens itself
    shadePassage().then(() => target.click(), console.warn);
  });
}

// Back and forward, and links; not if they lead to a page that instant navigation is still loading.
function arrive() {
  if (location.pathname === path) restore();
}

function repaint() {
  for (const chart of charts()) chart.repaint();
}

function print(now) {
  forPaper(now);
  for (const chart of charts()) chart.map?.zoom?.forPaper(now);
  repaint();
}

new MutationObserver(repaint).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
addEventListener("popstate", arrive);
addEventListener("hashchange", arrive);
addEventListener("beforeprint", () => print(true));
addEventListener("afterprint", () => print(false));
addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  clearMarks();
  for (const chart of charts()) {
    chart.hideTip?.(event);
    if (chart.singles) chart.singles.heads = []; // Vega itself forgets only what was clicked
  }
});
addEventListener(
  "pointerdown",
  (event) => {
    // a tooltip that a tap brought stays until the finger comes down somewhere else
    for (const chart of isTouch(event) ? charts() : []) chart.hideTip?.(event);
  },
  true,
);

onMark(() => figures.forEach((figure) => figure.mark()));
// the numbers of all heads, among which they are looked for, are those of a figure that has a field
onMark(() => question().text && [...figures.values()].find(({ finder }) => finder)?.start());
onMark(() => Math.max(marked().token, pins().token) >= 0 && shadePassage().catch(console.warn));
onMark(() => marked().head >= 0 && showHead());
onLabels((of) => charts().find(({ labels, text }) => labels && text === of)?.labels);

onReset(() => [...figures.values()].some(({ differs }) => differs), reset);

// Called once by start.js, which gives what it has:
//   whenNear(element, act)  runs `act` once the element is needed; forget(element): no more
//   equip(figure)           gives the figure its toolbar
export function begin(given) {
  ({ whenNear, forget, equip } = given);
  // Material for MkDocs announces every page, the first one included; elsewhere there is only one.
  if (window.document$) window.document$.subscribe(page);
  else page();
}
