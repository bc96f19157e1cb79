// Charts whose points are looked up here and not by Vega, so that nobody must aim: positions along
// an axis, or the cells of a heat map. By pointer, by finger and by arrow keys; what is pointed at
// is marked in all panels of the figure, and told by the same tooltip.
//
// `shown.points` comes from a decoder:
//   tell(item)    lines of the tooltip, or null where there is nothing
//   mark(item)    params to set in all panels, so that they mark it; of null: so that they do not
//   choose(item)  values of controls that a click sets; without it, a click pins the mark
//   positions     how many there are (kind "positions"; an item is [position])
//   layers, heads how many there are (kind "heads"; an item is [layer, head])

import { isTouch } from "./marks.js";
import { eventAt, inPlot } from "./plot.js";

const KINDS = {
  positions: {
    help: "arrow keys, Home and End move over its positions",
    at: (view, x) => [Math.round(view.scale("x").invert(x))],
    place: (view, [position]) => [view.scale("x")(position), view.height() / 3],
    keys: ([position], { positions }) => ({
      ArrowLeft: [Math.max(position - 1, 0)],
      ArrowRight: [Math.min(position + 1, positions - 1)],
      Home: [0],
      End: [positions - 1],
    }),
    first: () => [-1], // so that the first step leads to the first position
  },
  heads: {
    help: "arrow keys move over its cells, Enter chooses one",
    at: (view, x, y) => [view.scale("y").invert(y), view.scale("x").invert(x)],
    place: (view, [layer, head]) => {
      const [across, down] = [view.scale("x"), view.scale("y")];
      return [across(head) + across.bandwidth(), down(layer) + down.bandwidth()];
    },
    keys: ([layer, head], { layers, heads }) => ({
      ArrowUp: [Math.max(layer - 1, 0), head],
      ArrowDown: [Math.min(layer + 1, layers - 1), head],
      ArrowLeft: [layer, Math.max(head - 1, 0)],
      ArrowRight: [layer, Math.min(head + 1, heads - 1)],
      Home: [layer, 0],
      End: [layer, heads - 1],
    }),
    first: ({ layer, head }) => [layer, head], // where the figure stands
  },
};

// Returns a function that takes tooltip and marks away.
export function watchPoints(chart, box) {
  const { view, figure } = chart;
  const kind = KINDS[chart.report.points];
  const same = (one, other) => one?.join() === other?.join();
  let at = null; // the item that is told of
  let left = null; // and the one that was, when a finger came down here again

  const show = (item, event) => {
    const lines = chart.shown.points.tell(item);
    if (!lines) return leave(event);
    if (!same(at, item)) figure.mark(chart.shown.points.mark(item));
    at = item;
    view.tooltip().call(view, null, event, null, lines);
    return lines;
  };
  const leave = (event) => {
    if (!at) return;
    at = null;
    unmark();
    view.tooltip().call(view, null, event, null, null);
  };
  const unmark = () => figure.mark({ ...chart.shown.points.mark(null), ...figure.pinned });
  const clear = (event) => {
    left = box.contains(event.target) ? at : null;
    if (figure.pinned) {
      figure.pinned = null;
      unmark();
    }
    leave(event);
  };
  const point = (event) => chart.shown && show(kind.at(view, ...inPlot(view, event)), event);
  const touch = (event) => {
    // a second tap at the same place takes away what the first one brought
    if (isTouch(event) && same(left, kind.at(view, ...inPlot(view, event)))) left = null;
    else point(event);
  };
  const choose = (item) => {
    const { choose, mark } = chart.shown.points;
    if (choose) figure.set(choose(item));
    else figure.pin(mark(item));
  };
  const press = (event) => {
    if (!chart.shown) return;
    if (["Enter", " "].includes(event.key) && at) {
      event.preventDefault();
      choose(at);
      return;
    }
    const next = kind.keys(at ?? kind.first(figure.state), chart.shown.points)[event.key];
    if (!next) return;
    event.preventDefault();
    const lines = show(next, eventAt(view, ...kind.place(view, next)));
    if (lines) chart.say(Object.entries(lines).map((line) => line.join(" ")).join(", "));
  };

  box.addEventListener("pointermove", (event) => isTouch(event) || point(event));
  box.addEventListener("pointerdown", touch);
  box.addEventListener("click", () => at && choose(at));
  // a lifted finger leaves too, but its reader has only begun to read
  box.addEventListener("pointerleave", (event) => isTouch(event) || leave(event));
  box.addEventListener("blur", leave);
  box.addEventListener("keydown", press);
  box.tabIndex = 0;
  box.setAttribute("role", "application");
  chart.help = kind.help;
  chart.entitle();
  return clear;
}
