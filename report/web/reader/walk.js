// How a reader goes through a chart from stop to stop: by mouse, by finger and by keys, in the same
// way in every figure. What the stops are depends on the kind of chart: cells.js, positions.js,
// heads.js, items.js. Each gives, for a chart, an object with
//   help          what keys do, for those who do not see
//   next(at, key) the stop that a key leads to, undefined for other keys; at: null at first
//   tell(at)      lines of the tooltip, {name: value}, the one named `title` above the others as it
//                 is, or null where there is nothing
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
  const place = new Place(chart.view, kind);
  if (kind.hit) followPointer(chart, box, kind, place);
  followKeys(chart, box, kind, place);
  box.tabIndex = 0;
  box.setAttribute("role", "application");
  box.setAttribute("aria-roledescription", "interactive chart");
  chart.help = kind.help;
  chart.entitle();

  return (event) => {
    place.left = box.contains(event.target) ? place.at : null;
    place.leave(event);
    if (!kind.hit) place.tip(event, null);
  };
}

// Where the reader is in a chart.
class Place {
  at = null; // the stop whose tooltip shows
  left = null; // the stop that was, when a finger came down on the chart again

  constructor(view, kind) {
    this.view = view;
    this.kind = kind;
  }

  tip(event, lines) {
    this.view.tooltip().call(this.view, null, event, null, lines);
  }

  // Goes to a stop and returns the lines of its tooltip. Leaves where there is none, or no lines.
  show(stop, event) {
    const lines = stop === null ? null : this.kind.tell(stop);
    if (!lines) return this.leave(event);
    if (this.at === null || !this.kind.same(this.at, stop)) this.kind.show(stop);
    this.at = stop;
    this.tip(event, lines);
    return lines;
  }

  leave(event) {
    if (this.at === null) return;
    this.at = null;
    this.kind.show(null);
    this.tip(event, null);
  }
}

function followPointer(chart, box, kind, place) {
  const hit = (event) => kind.hit(...inPlot(chart.view, event));
  box.addEventListener("pointermove", (event) => {
    if (chart.shown && !isTouch(event)) place.show(hit(event), event);
  });
  box.addEventListener("pointerdown", (event) => {
    if (!chart.shown) return;
    const stop = hit(event);
    const { left } = place;
    // a second tap at the same place takes away what the first one brought
    const again = isTouch(event) && left !== null && stop !== null && kind.same(left, stop);
    if (again) kind.choose(left);
    else place.show(stop, event);
  });
  box.addEventListener("click", () => place.at === null || kind.choose(place.at));
  // a lifted finger leaves too, but its reader has only begun to read
  box.addEventListener("pointerleave", (event) => isTouch(event) || place.leave(event));
}

function followKeys(chart, box, kind, place) {
  box.addEventListener("blur", (event) => place.leave(event));
  box.addEventListener("keydown", (event) => {
    if (!chart.shown || event.ctrlKey || event.metaKey || event.altKey) return;
    if (["Enter", " "].includes(event.key) && place.at !== null) {
      event.preventDefault();
      kind.choose(place.at);
      return;
    }
    const next = kind.next(place.at, event.key);
    if (next === undefined) return;
    event.preventDefault();
    const lines = place.show(next, eventAt(chart.view, ...kind.place(next)));
    const { title, ...others } = lines ?? {};
    const words = Object.entries(others).map((line) => line.map(shortened).join(" "));
    if (title) words.unshift(title);
    if (lines) chart.say(words.join(", "));
  });
}

// A number within bounds: a step beyond the end of a list or a grid stays at the end.
export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

export const PAGE = 10; // steps of Page Up and Page Down
