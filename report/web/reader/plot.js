// Where things are in a chart that Vega has drawn.

// Where the plot begins, in pixels of the window.
function corner(view) {
  const frame = view.container().querySelector("canvas").getBoundingClientRect();
  const { left, top } = view.padding();
  const [x, y] = view.origin();
  return [frame.left + left + x, frame.top + top + y];
}

// A pointer's place in the plot, in pixels from its corner.
export function inPlot(view, event) {
  const [left, top] = corner(view);
  return [event.clientX - left, event.clientY - top];
}

// A stand-in for a pointer event at a place in the plot, for the tooltip.
export function eventAt(view, x, y) {
  const [left, top] = corner(view);
  const [clientX, clientY] = [left + x, top + y];
  return { clientX, clientY, pageX: clientX + scrollX, pageY: clientY + scrollY };
}
