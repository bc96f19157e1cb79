// The attention map is one picture, so its cells are looked up here: any of them by pointer or by
// arrow keys, with the same tooltip that the other figures get from Vega.

import { isTouch } from "./marks.js";
import { eventAt, inPlot } from "./plot.js";

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
    if (figure.shown.map.sees(i, j)) show(i, j, event);
    else hide(event);
  };
  const press = (event) => {
    if (!figure.shown) return;
    const next = step(event.key, at, figure.shown.map);
    if (!next) return;
    event.preventDefault();
    const lines = Object.entries(show(...next, eventAtCell(view, ...next)));
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

// The cell that a key leads to, or undefined for other keys. At first: the beginning of the last
// row. A row that does not see the target is entered at the nearest one that it sees.
function step(key, at, { size, first, last }) {
  const [i, j] = at ?? [size - 1, first[size - 1]];
  const nearest = (row) => {
    const i = Math.min(Math.max(row, 0), size - 1);
    return [i, Math.min(Math.max(j, first[i]), last[i])];
  };
  return {
    ArrowUp: nearest(i - 1),
    ArrowDown: nearest(i + 1),
    ArrowLeft: [i, Math.max(j - 1, first[i])],
    ArrowRight: [i, Math.min(j + 1, last[i])],
    Home: [i, first[i]],
    End: [i, last[i]],
  }[key];
}

function cellAt(view, event) {
  const [x, y] = inPlot(view, event);
  return [Math.floor(view.scale("y").invert(y)), Math.floor(view.scale("x").invert(x))];
}

// A stand-in for a pointer event at a cell.
const eventAtCell = (view, i, j) => eventAt(view, view.scale("x")(j + 1), view.scale("y")(i + 1));

const fixed = (value, digits) => value.toFixed(digits).replace("-", "−");

// What a tooltip says of a cell; names: {term: what a reader calls it}.
function describe(cell, names) {
  const token = (index, text) => `${index}  “${text}”`;
  const digits = cell.probability < 0.01 ? 1 : 2; // such scores are kept less exactly
  const known = Object.entries(cell.terms).filter(([name]) => names[name]);
  return {
    "current token": token(cell.current_token, cell.current_text),
    "target token": token(cell.target_token, cell.target_text),
    ...(cell.class ? { "what it is": cell.class } : {}),
    [apart(cell)]: Math.abs(cell.distance),
    score: fixed(cell.score, digits),
    ...(cell.uncapped === undefined ? {} : { "score before the cap": fixed(cell.uncapped, digits) }),
    probability: fixed(cell.probability, 3),
    ...Object.fromEntries(known.map(([n, value]) => [`${names[n]} term`, fixed(value, digits)])),
  };
}

function apart({ distance, backward }) {
  if (backward) return "tokens in the past";
  return distance < 0 ? "tokens after" : "tokens before";
}
