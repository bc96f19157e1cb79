// The attention map is one picture, so its cells are looked up here: any of them by pointer or by
// arrow keys, with the same tooltip that the other figures get from Vega.

import { isTouch } from "./marks.js";

export function watchCells(figure, box) {
  const { view } = figure;
  let at = null; // [current token, target token]

  const show = (i, j, event) => {
    at = [i, j];
    view.data("cursor", [{ current_token: i, target_token: j }]).runAsync();
    const lines = describe(figure.shown.cell(i, j), figure.report.terms);
    view.tooltip().call(view, null, event, null, lines);
    return lines;
  };
  const hide = (event) => {
    if (!at) return;
    at = null;
    view.data("cursor", []).runAsync();
    view.tooltip().call(view, null, event, null, null);
  };
  const point = (event) => {
    if (!figure.shown) return;
    const [i, j] = cellAt(view, event);
    if (!(j >= 0 && j <= i && i < figure.shown.size)) hide(event);
    else show(i, j, event);
  };
  const press = (event) => {
    if (!figure.shown) return;
    const next = step(event.key, at ?? [figure.shown.size - 1, 0], figure.shown.size - 1);
    if (!next) return;
    event.preventDefault();
    const lines = Object.entries(show(...next, eventAt(view, ...next)));
    figure.say(lines.map((line) => line.join(" ")).join(", "));
  };

  box.addEventListener("pointermove", point);
  box.addEventListener("pointerdown", point);
  // a lifted finger leaves too, but its reader has only begun to read
  box.addEventListener("pointerleave", (event) => isTouch(event) || hide(event));
  box.addEventListener("blur", hide);
  box.addEventListener("keydown", press);
  box.tabIndex = 0;
  box.setAttribute("role", "application");
  box.setAttribute("aria-label", "Attention map; arrow keys, Home and End move over its cells");
  return hide;
}

// The cell that a key leads to, or undefined for other keys.
function step(key, [i, j], last) {
  return {
    ArrowUp: [Math.max(i - 1, j), j],
    ArrowDown: [Math.min(i + 1, last), j],
    ArrowLeft: [i, Math.max(j - 1, 0)],
    ArrowRight: [i, Math.min(j + 1, i)],
    Home: [i, 0],
    End: [i, i],
  }[key];
}

// Where the plot begins, in pixels of the window.
function corner(view) {
  const frame = view.container().querySelector("canvas").getBoundingClientRect();
  const { left, top } = view.padding();
  const [x, y] = view.origin();
  return [frame.left + left + x, frame.top + top + y];
}

function cellAt(view, event) {
  const [left, top] = corner(view);
  return [
    Math.floor(view.scale("y").invert(event.clientY - top)),
    Math.floor(view.scale("x").invert(event.clientX - left)),
  ];
}

// A stand-in for a pointer event at a cell, for the tooltip.
function eventAt(view, i, j) {
  const [left, top] = corner(view);
  const clientX = left + view.scale("x")(j + 1);
  const clientY = top + view.scale("y")(i + 1);
  return { clientX, clientY, pageX: clientX + scrollX, pageY: clientY + scrollY };
}

const fixed = (value, digits) => value.toFixed(digits).replace("-", "−");

function describe(cell, names) {
  const token = (index, text) => `${index}  “${text}”`;
  const digits = cell.probability < 0.01 ? 1 : 2; // such scores are kept less exactly
  const terms = Object.entries(cell.terms).map(([n, v]) => [`${names[n]} term`, fixed(v, digits)]);
  return {
    "current token": token(cell.current_token, cell.current_text),
    "target token": token(cell.target_token, cell.target_text),
    "tokens in the past": cell.distance,
    score: fixed(cell.score, digits),
    probability: fixed(cell.probability, 3),
    ...Object.fromEntries(terms),
  };
}
