// How a reader goes through a chart: by mouse, by finger and by keys, the same way in every figure.
// What there is to go through, a chart's stops, depends on its kind: cells.js, positions.js,
// heads.js, items.js. A kind is, of a chart,
//   help          what keys do, for those who do not see
//   next(at, key) the stop that a key leads to, undefined for other keys; at: null at first
//   tell(at)      lines of the tooltip, {name: value}, or null where there is nothing
//   place(at)     where the tooltip is, in pixels of the plot
//   show(at)      draws the stop and marks what it is; of null: nothing
//   choose(at)    what Enter, a click or a tap does
//   hit(x, y)     the stop at a place in the plot; without it Vega looks for what is pointed at
//   same(a, b)    whether two stops are one
//   restore()     draws what is chosen, once the view is run; refresh(): other data have come; both
//                 are optional

import { isTouch } from "./marks.js";
import { eventAt, inPlot } from "./plot.js";
import { shortened } from "./words.js";

// Returns a function that takes the tooltip away.
export function walk(chart, box, kind) {
  const { view } = chart;
  let at = null; // the stop that is told of
  let left = null; // and the one that was, when a finger came down here again

  const tip = (event, lines) => view.tooltip().call(view, null, event, null, lines);
  const show = (stop, event) => {
    const lines = stop === null ? null : kind.tell(stop);
    if (!lines) return leave(event);
    if (at === null || !kind.same(at, stop)) kind.show(stop);
    at = stop;
    tip(event, lines);
    return lines;
  };
  const leave = (event) => {
    if (at === null) return;
    at = null;
    kind.show(null);
    tip(event, null);
  };
  const hit = (event) => kind.hit(...inPlot(view, event));

  if (kind.hit) {
    box.addEventListener("pointermove", (event) => {
      if (chart.shown && !isTouch(event)) show(hit(event), event);
    });
    box.addEventListener("pointerdown", (event) => {
      if (!chart.shown) return;
      const stop = hit(event);
      // a second tap at the same place takes away what the first one brought
      if (isTouch(event) && left !== null && stop !== null && kind.same(left, stop)) kind.choose(left);
      else show(stop, event);
    });
    box.addEventListener("click", () => at === null || kind.choose(at));
    // a lifted finger leaves too, but its reader has only begun to read
    box.addEventListener("pointerleave", (event) => isTouch(event) || leave(event));
  }
  box.addEventListener("blur", leave);
  box.addEventListener("keydown", (event) => {
    if (!chart.shown || event.ctrlKey || event.metaKey || event.altKey) return;
    if (["Enter", " "].includes(event.key) && at !== null) {
      event.preventDefault();
      kind.choose(at);
      return;
    }
    const next = kind.next(at, event.key);
    if (next === undefined) return;
    event.preventDefault();
    const lines = show(next, eventAt(view, ...kind.place(next)));
    if (lines) chart.say(Object.entries(lines).map((line) => line.map(shortened).join(" ")).join(", "));
  });
  box.tabIndex = 0;
  box.setAttribute("role", "application");
  box.setAttribute("aria-roledescription", "interactive chart");
  chart.help = kind.help;
  chart.entitle();

  return (event) => {
    left = box.contains(event.target) ? at : null;
    leave(event);
    if (!kind.hit) tip(event, null);
  };
}

// One step along a list or a grid: keys to a number of steps, within bounds.
export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

export const PAGE = 10; // steps of Page Up and Page Down
