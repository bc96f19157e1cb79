// A heat map with a cell a head: a stop is a head, [layer, head].
//
// `shown.points` comes from a decoder:
//   layers, heads   how many there are
//   tell(stop)      lines of the tooltip, or null where there is nothing

import { pin, point, unpoint } from "./marks.js";
import { clamp } from "./walk.js";

export function heads(chart) {
  const { view, figure } = chart;
  const points = () => chart.shown.points;

  return {
    help:
      "arrow keys, Page Up, Page Down, Home and End move over its cells, Enter chooses one, " +
      "Escape leaves",
    hit: (x, y) => {
      const at = [view.scale("y").invert(y), view.scale("x").invert(x)];
      return at.includes(undefined) ? null : at;
    },
    next: (at, key) => {
      // at first from where the figure stands
      const [layer, head] = at ?? [figure.state.layer, figure.state.head];
      const [lowest, last] = [points().layers - 1, points().heads - 1];
      return {
        ArrowUp: [clamp(layer - 1, 0, lowest), head],
        ArrowDown: [clamp(layer + 1, 0, lowest), head],
        PageUp: [0, head],
        PageDown: [lowest, head],
        ArrowLeft: [layer, clamp(head - 1, 0, last)],
        ArrowRight: [layer, clamp(head + 1, 0, last)],
        Home: [layer, 0],
        End: [layer, last],
      }[key];
    },
    place: ([layer, head]) => {
      const [across, down] = [view.scale("x"), view.scale("y")];
      return [across(head) + across.bandwidth(), down(layer) + down.bandwidth()];
    },
    same: (one, other) => one.join() === other.join(),
    tell: (at) => points().tell(at),
    show: (at) => {
      if (at) point({ layer: at[0], head: at[1], model: chart.model });
      else unpoint();
    },
    choose: ([layer, head]) => pin({ layer, head, model: chart.model }, figure),
  };
}
