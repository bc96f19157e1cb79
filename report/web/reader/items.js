// Charts whose marks Vega looks up itself: lines, scatters, histograms, triangles. A stop is an
// item of Vega's scene that has a tooltip. Keys go from stop to stop as they lie on the screen.
//
// report.walk, if a chart has it, names two fields. Items with the same value of the first are a
// column. Items with the same value of the second belong together from column to column: they are a
// line, or a head.

import { ask, byFinger, clearMarks, isTouch, pin, point, question, unpoint } from "./marks.js";
import { clamp, PAGE } from "./walk.js";

const SHARED = ["line", "area", "trail"]; // one item for many points: it has the first one's data

export function items(chart) {
  const { canvasBox } = chart;
  const cursor = cursorOf(canvasBox.parentElement);
  let found = null; // the stops, until something else is drawn
  let last = null; // where the reader has been, also after other data have come
  watchPointer(chart);

  return {
    help:
      "arrow keys, Page Up, Page Down, Home and End move over its points, Enter pins one, " +
      "Escape leaves",
    next: (at, key) => {
      const size = [chart.view.width(), chart.view.height()].join();
      if (found?.size !== size) found = Object.assign(stops(chart), { size });
      const now = found.find(({ item }) => item === at?.item) ?? nearest(found, at ?? last);
      if (!now) return undefined;
      const steps = chart.report.walk ? byColumn(found, now) : byPlace(found, now);
      if (!(key in steps)) return undefined;
      return at || last ? steps[key]() : now; // the first key leads to the first point
    },
    place: ({ x, y }) => [x, y],
    same: (one, other) => one.item === other.item,
    tell: ({ item }) => chart.told(item),
    show: (at) => {
      place(cursor, chart.view, at);
      if (!at) return unpoint();
      last = at;
      point(marksOf(chart, at.item));
    },
    choose: ({ item }) => choose(chart, item),
    refresh: () => {
      cursor.hidden = true; // the data are others
      found = null;
    },
  };
}

// What is drawn around a stop; one for all charts that come into a box one after the other.
function cursorOf(box) {
  const made = Object.assign(document.createElement("div"), { className: "live-figure__cursor" });
  const cursor = box.querySelector(".live-figure__cursor") ?? made;
  cursor.hidden = true;
  box.append(cursor);
  return cursor;
}

// What an item marks in all figures; of a figure of one layer, heads are heads of that layer.
function marksOf({ figure, model, text }, item) {
  const { token = item.datum.current_token, head } = item.datum;
  const layer = item.datum.layer ?? figure.state.layer;
  const found = token === undefined ? {} : { token, text };
  return layer === undefined || head === undefined
    ? found
    : { ...found, layer, head, model };
}

// A click on a bar singles its head out, which Vega does; a key must say so. What stands for several
// heads asks for them, and once more for none.
function choose(chart, item, key = true) {
  const { asks } = item.datum;
  if (asks) return ask(asks === question().text ? "" : asks, chart.figure, true);
  if (!chart.singles) pin(marksOf(chart, item), chart.figure);
  else if (key) chart.singles.toggle(item.datum.head);
}

function watchPointer(chart) {
  const { view, canvasBox } = chart;
  const single = (item) => (item?.datum && !SHARED.includes(item.mark.marktype) ? item : null);
  const telling = (item) => (single(item)?.tooltip ? item : null);
  let touched = null; // the item that a finger came down on

  view.addEventListener("pointermove", (event, found) => {
    if (isTouch(event)) return;
    const item = telling(found);
    if (item) point(marksOf(chart, item));
    else unpoint();
  });
  view.addEventListener("touchstart", (event, found) => (touched = found));
  view.addEventListener("click", (event, found) => {
    const item = telling(byFinger() ? touched : found);
    if (byFinger()) {
      point(item ? marksOf(chart, item) : {});
      // a finger that is lifted has left the chart, and Vega has taken its tooltip away
      view.tooltip().call(view, null, event, item, item?.tooltip);
    }
    if (item) choose(chart, item, false);
    else if (byFinger()) clearMarks(); // a tap beside
  });
  canvasBox.addEventListener("pointerleave", (event) => isTouch(event) || unpoint());
}

// --- Where the stops are ---------------------------------------------------------------------

// The items of a chart that have a tooltip: [{item, x, y, box}], in pixels of the plot.
export function stops({ view, report }) {
  const found = new Map();
  const visit = (group, left, top) => {
    for (const mark of group.items ?? []) {
      for (const item of mark.items ?? []) {
        if (mark.marktype === "group") visit(item, left + (item.x ?? 0), top + (item.y ?? 0));
        else if (item.tooltip && item.datum && !SHARED.includes(mark.marktype)) {
          const { x1, y1, x2, y2 } = item.bounds;
          const [x, y] = [left + (x1 + x2) / 2, top + (y1 + y2) / 2];
          const keys = report.walk?.map((name) => item.datum[name]);
          if (keys?.includes(undefined)) continue; // drawn beside what is walked through
          const [width, height] = [x2 - x1, y2 - y1];
          let where = (keys ?? [Math.round(x), Math.round(y)]).join();
          // what is drawn twice, large and unseen or small and coloured, is one stop
          while (!keys && found.has(where) && !isSame(found.get(where).item, item)) where += "'";
          found.set(where, { item, x, y, width, height, keys });
        }
      }
    }
  };
  for (const group of view.scenegraph().root.items) visit(group, 0, 0);
  return [...found.values()];
}

// Tooltips take long to work out: only where two items lie on each other.
const isSame = (one, other) => JSON.stringify(one.tooltip) === JSON.stringify(other.tooltip);

function nearest(found, to) {
  const far = ({ x, y }) => (to ? (x - to.x) ** 2 + (y - to.y) ** 2 : x);
  return least(found, far);
}

const least = (list, measure) =>
  list.reduce((best, each) => (best && measure(best) <= measure(each) ? best : each), null);

// By columns: left and right along a line, up and down to the neighbours in the column.
function byColumn(found, now) {
  const [along, line] = now.keys;
  const columns = [...new Set(found.map(({ keys }) => keys[0]))].sort((a, b) => a - b);
  const column = (number) => {
    const value = columns[clamp(number, 0, columns.length - 1)];
    const here = found.filter(({ keys }) => keys[0] === value);
    return here.find(({ keys }) => keys[1] === line) ?? least(here, ({ y }) => Math.abs(y - now.y));
  };
  const at = columns.indexOf(along);
  const upwards = found.filter(({ keys }) => keys[0] === along).sort((a, b) => b.y - a.y);
  const up = (steps) => upwards[clamp(upwards.indexOf(now) + steps, 0, upwards.length - 1)];
  return {
    ArrowLeft: () => column(at - 1),
    ArrowRight: () => column(at + 1),
    ArrowUp: () => up(1),
    ArrowDown: () => up(-1),
    PageUp: () => up(PAGE),
    PageDown: () => up(-PAGE),
    Home: () => column(0),
    End: () => column(Infinity),
  };
}

// Of a cloud: left and right to the next point by x, so that all are reached; up and down to the
// nearest above or below.
function byPlace(found, now) {
  const across = (found.across ??= [...found].sort((a, b) => a.x - b.x || a.y - b.y));
  const right = (steps) => across[clamp(across.indexOf(now) + steps, 0, across.length - 1)];
  const up = (sign) => {
    const beyond = found.filter(({ y }) => sign * (now.y - y) > 0.5);
    return least(beyond, ({ x, y }) => Math.abs(y - now.y) + 2 * Math.abs(x - now.x)) ?? now;
  };
  return {
    ArrowLeft: () => right(-1),
    ArrowRight: () => right(1),
    ArrowUp: () => up(1),
    ArrowDown: () => up(-1),
    PageUp: () => right(-PAGE),
    PageDown: () => right(PAGE),
    Home: () => across[0],
    End: () => across.at(-1),
  };
}

const ROOM = 4; // pixels between a point and the line around it
const LEAST = 16; // pixels across

function place(cursor, view, at) {
  cursor.hidden = !at;
  if (!at) return;
  const { left, top } = view.padding();
  const [x, y] = view.origin();
  const size = (length) => Math.max(LEAST, length + 2 * ROOM);
  const [width, height] = [size(at.width), size(at.height)];
  cursor.style.left = `${left + x + at.x - width / 2}px`;
  cursor.style.top = `${top + y + at.y - height / 2}px`;
  cursor.style.width = `${width}px`;
  cursor.style.height = `${height}px`;
}
