// Lines over the positions of a prompt: a stop is a position, whatever the height of the pointer,
// and is marked in the panels of all figures.
//
// `shown.points` comes from a decoder:
//   positions       how many there are
//   tell(position)  lines of the tooltip, or null where there is nothing
//   mark(position)  {position, original}: where the same token is in panels of both kinds

import { pin, point, unpoint } from "./marks.js";
import { clamp, PAGE } from "./walk.js";

export function positions(chart) {
  const { view } = chart;
  const points = () => chart.shown.points;
  const marks = (at) => ({ ...points().mark(at), text: chart.text });
  const within = (position) => clamp(position, 0, points().positions - 1);

  return {
    help:
      "arrow keys, Page Up, Page Down, Home and End move over its positions, " +
      "Enter pins one, Escape leaves",
    hit: (x) => Math.round(view.scale("x").invert(x)),
    next: (at, key) =>
      ({
        ArrowLeft: within((at ?? 0) - 1),
        ArrowRight: within((at ?? -1) + 1),
        PageUp: within((at ?? 0) - PAGE),
        PageDown: within((at ?? 0) + PAGE),
        Home: 0,
        End: within(Infinity),
      })[key],
    place: (position) => [view.scale("x")(position), view.height() / 3],
    same: (one, other) => one === other,
    tell: (position) => points().tell(position),
    show: (at) => (at === null ? unpoint() : point(marks(at))),
    choose: (at) => pin(marks(at), chart.figure),
  };
}
