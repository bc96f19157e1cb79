// A head that is pointed at, with its attention map, small, beside the pointer: by the tooltip of its
// point, or by its name in the text. The map is drawn of the file that a figure of one head has for
// it, fetched once a reader stays at the head.

import { loadStyles } from "../data/loading.js";
import { coloured, drawn, isMany, wholeOf } from "../data/raster.js";
import { attention } from "../data/shard.js";
import { atlasOf } from "./atlas.js";
import { byFinger, marked, onMark, pins, sameHead } from "./marks.js";
import { headName } from "./words.js";

const STYLES = new URL("head_card.css", import.meta.url);
const PATIENCE = 150; // ms
const GAP = 8; // pixels
const MOST = 160; // pixels across

const card = Object.assign(document.createElement("div"), { className: "head-card", hidden: true });
card.id = "head-card";
const pictures = new WeakMap(); // file of a head -> {ramp, canvas}

const line = document.createElement("p");
let waiting; // timer until it comes
let leaving; // timer until it goes: meanwhile the pointer may come to its link
let anchor; // what it stands beside
let figures; // a map of element to Figure, of this page

export function watchHeads(all) {
  figures = all;
  changed();
}

onMark(changed);
addEventListener("scroll", hide, { capture: true, passive: true });

function hide() {
  clearTimeout(waiting);
  clearTimeout(leaving);
  card.hidden = true;
  document.querySelector(`[aria-describedby=${card.id}]`)?.removeAttribute("aria-describedby");
}

let shown = {}; // the head

function changed() {
  const { layer, head, model } = marked();
  const at = { layer, head, model };
  clearTimeout(leaving);
  if (sameHead(at, shown)) return tell();
  if (head < 0 && !card.hidden && isHeld() && !byFinger()) {
    leaving = setTimeout(leave, 2 * PATIENCE);
    return;
  }
  shown = at;
  hide();
  if (head < 0 || byFinger()) return; // what a finger is at, a card would cover
  waiting = setTimeout(() => show(at).catch(console.warn), PATIENCE);
}

// At a name in the text the pointer can go on to the card; over a chart, the card is in nobody's way.
const isHeld = () => anchor.matches("button");

function leave() {
  if (card.matches(":hover")) return;
  shown = {};
  hide();
}

card.addEventListener("pointerleave", () => (leaving = setTimeout(leave, 2 * PATIENCE)));
addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  shown = {};
  hide();
});

async function show(at) {
  const name = document.querySelector("button.head-name:is(:hover, :focus-visible)");
  const beside = name ?? document.querySelector("#vg-tooltip-element.visible");
  if (!beside) return; // controls mark a head too, which their figure shows
  const [found] = await Promise.all([mapOf(at), loadStyles(STYLES)]);
  if (!sameHead(at, shown) || !(found || name)) return;
  card.replaceChildren(...(found ? [found] : []), line);
  tell();
  (document.fullscreenElement ?? document.body).append(card);
  card.hidden = false;
  anchor = beside;
  card.classList.toggle("head-card--held", isHeld());
  name?.setAttribute("aria-describedby", card.id);
  place(beside.getBoundingClientRect());
}

function tell() {
  const at = shown;
  const name = Object.assign(document.createElement("strong"), { textContent: headName(at) });
  line.replaceChildren(name, sameHead(at, pins()) ? " click to undo" : " click to show it");
  atlasOf(at).then((found) => {
    if (!found || !sameHead(at, shown) || line.children.length > 1) return;
    const link = Object.assign(document.createElement("a"), { href: found.address });
    link.tabIndex = -1; // whoever uses the keyboard pins the head, and has the link then
    name.replaceWith(link);
    link.append(name);
    for (const textContent of [found.does, found.matters].filter(Boolean)) {
      line.append(Object.assign(document.createElement("small"), { textContent }));
    }
    if (!card.hidden) place(anchor.getBoundingClientRect()); // it has grown
  });
}

// Its map as a canvas, of the first figure that has a file of its attention; null if none has.
async function mapOf(at) {
  const shade = document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";
  for (const figure of figures.values()) {
    const set = figure.stateOf(at);
    if (!set || !figure.head) continue;
    const { charts: [chart] } = figure;
    const state = { ...figure.state, ...set };
    const { report } = (await chart.specification(state)).usermeta;
    if (!report.ramp) continue;
    const { file } = await chart.fetched(state, report.data);
    if (file.schema === "attention/4") return picture(file, report.ramp[shade]);
  }
  return null;
}

function picture(file, ramp) {
  const before = pictures.get(file);
  if (before?.ramp.join() === ramp.join()) return before.canvas;
  const map = attention(file);
  const part = wholeOf(map);
  if (isMany(map, part)) return null; // a worker would have to draw it
  const { across, down, shades } = drawn(map, { of: "probability" }, part, [MOST, MOST]);
  const canvas = Object.assign(document.createElement("canvas"), { width: across, height: down });
  canvas.getContext("2d").putImageData(new ImageData(coloured({ shades }, ramp), across, down), 0, 0);
  pictures.set(file, { ramp, canvas });
  return canvas;
}

// Below what it belongs to, where the window has room for it; else above, or at a side.
function place({ left, right, top, bottom }) {
  const { width, height } = card.getBoundingClientRect();
  const within = (at, size, room) => Math.max(GAP, Math.min(at, room - size - GAP));
  const [x, y] = [within(left, width, innerWidth), within(top, height, innerHeight)];
  const places = [
    [x, bottom + GAP],
    [x, top - height - GAP],
    [right + GAP, y],
    [left - width - GAP, y],
  ];
  const fits = ([across, down]) =>
    across >= 0 && down >= 0 && across + width <= innerWidth && down + height <= innerHeight;
  const [across, down] = places.find(fits) ?? places[0];
  Object.assign(card.style, { left: `${across}px`, top: `${down}px` });
}
