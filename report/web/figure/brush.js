// Heads that a reader drags over, in any chart of heads: the field that finds heads then says which
// these are, so that all figures mark them, a reader can change the words, and the address has them.
// report.brush names the columns that both axes stand for; "points": they stand for none, and the names
// of the heads are said. A mouse may drag any way, a finger sideways first: up and down it scrolls the
// page.

import { stops } from "../reader/items.js";
import { ask, isTouch } from "../reader/marks.js";
import { inPlot } from "../reader/plot.js";
import { headName } from "../reader/words.js";

const DRAGGED = { true: 12, false: 4 }; // pixels before it is a drag, of a finger and of a mouse

export function watchBrush(chart) {
  const { canvasBox } = chart;
  const box = Object.assign(document.createElement("div"), { className: "live-figure__brush", hidden: true });
  let from = null; // where the drag began
  let dragged = false;
  const on = (type, act) => canvasBox.addEventListener(type, act, { capture: true });
  const end = () => {
    from = null;
    box.hidden = true;
  };

  canvasBox.parentElement.append(box);
  on("pointerdown", (event) => {
    from = event.button === 0 && event.isPrimary && chart.figure.anyFinder ? event : null;
    dragged = false;
  });
  on("pointermove", (event) => {
    if (!from || !event.buttons) return;
    const far = Math.hypot(event.clientX - from.clientX, event.clientY - from.clientY);
    if (!dragged && far <= DRAGGED[isTouch(event)]) return;
    if (!dragged) canvasBox.setPointerCapture?.(event.pointerId);
    dragged = true;
    event.stopPropagation(); // no tooltip on the way
    chart.hideTip(event);
    draw(box, chart, from, event);
  });
  on("pointerup", (event) => {
    if (from && dragged) choose(chart, from, event);
    end();
  });
  on("pointercancel", end); // the page scrolls
  // what ends a drag pins nothing
  on("click", (event) => dragged && event.stopImmediatePropagation());
}

function draw(box, { canvasBox }, from, to) {
  const { left, top, right, bottom } = canvasBox.getBoundingClientRect();
  const x = [from, to].map(({ clientX }) => Math.min(Math.max(clientX, left), right) - left);
  const y = [from, to].map(({ clientY }) => Math.min(Math.max(clientY, top), bottom) - top);
  box.hidden = false;
  box.style.left = `${Math.min(...x)}px`;
  box.style.top = `${Math.min(...y)}px`;
  box.style.width = `${Math.abs(x[0] - x[1])}px`;
  box.style.height = `${Math.abs(y[0] - y[1])}px`;
}

function choose(chart, from, to) {
  const { view, figure, report } = chart;
  const corners = [from, to].map((event) => inPlot(view, event));
  if (report.brush === "points") return ask(namesWithin(chart, corners), figure, true);
  const cells = report.brush.join() === "layer,head"; // that a corner is in, not points around it
  const columns = {};
  for (const [axis, name] of report.brush.entries()) {
    const column = name.replace(/{(\w+)}/g, (_, param) => view.signal(param)).replace(/^corpus_/, "");
    const bounds = boundsOf(view, axis, corners.map((corner) => corner[axis]));
    if (/^(layer|head)$/.test(column)) toWhole(bounds, cells ? 0.5 : 0);
    if (Object.keys(bounds).length) columns[column] = bounds;
  }
  ask(figure.anyFinder.wordsFor(columns), figure, true);
}

// The names of the heads whose points lie between two corners, [x, y] in the plot.
function namesWithin(chart, corners) {
  const within = (place, axis) => {
    const [low, high] = corners.map((corner) => corner[axis]).sort((one, other) => one - other);
    return low <= place && place <= high;
  };
  const heads = stops(chart).filter(({ x, y }) => within(x, 0) && within(y, 1)).map(({ item }) => item.datum);
  heads.sort((one, other) => one.layer - other.layer || one.head - other.head);
  return heads.map(headName).join(", ");
}

// The numbers between two places of an axis; a side beyond the plot bounds nothing.
function boundsOf(view, axis, places) {
  const scale = view.scale("xy"[axis]);
  const length = axis ? view.height() : view.width();
  const bounds = {};
  const [first, last] = [...places].sort((one, other) => one - other);
  const upwards = scale.invert(length) < scale.invert(0); // as most vertical axes
  const [low, high] = upwards ? ["high", "low"] : ["low", "high"];
  if (first > 0) bounds[low] = scale.invert(first);
  if (last < length) bounds[high] = scale.invert(last);
  return bounds;
}

// Of layers or heads. around: how far a cell reaches
function toWhole(bounds, around) {
  if ("low" in bounds) bounds.low = Math.ceil(bounds.low - around);
  if ("high" in bounds) bounds.high = Math.floor(bounds.high + around);
}
