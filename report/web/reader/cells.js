// The cells of an attention map, which is one picture: they are looked up here. A stop is a cell,
// [current token, target token]. The current token is marked in all figures, and both in the
// passage. A pinned cell is outlined, and its tokens are pinned.

import { gives, givesMost, part } from "../data/shares.js";
import { aim, inText, pin, pins, pointSoon, unpin, unpoint } from "./marks.js";
import { clamp, PAGE } from "./walk.js";

const TINY = 6; // pixels of a cell below which its row is told as well: it can hardly be aimed at
const LARGEST = 3; // targets that are told of a row

export function cells(chart) {
  const { view, figure } = chart;
  const map = () => chart.shown.map;
  const scale = (name) => view.scale(name);
  let pointed = null;
  // The largest targets of a row, where its cells are too small to be aimed at.
  const largest = (i) => {
    const [top, below] = spanOf(map(), i).map(scale("y"));
    if (!map().target || below - top >= TINY) return [];
    const targets = Array.from({ length: LARGEST }, (_, k) => map().target(i, k));
    return targets.filter((j) => j >= 0);
  };

  return {
    help:
      "arrow keys, Page Up, Page Down, Home and End move over its cells, Enter pins one, " +
      "Escape leaves",
    at: () => pointed ?? chosen(figure),
    hit: (x, y) => surest(map(), ...[["y", y], ["x", x]].map(([name, at]) => under(scale(name), at))),
    next: (at, key) => {
      const next = step(key, at ?? chosen(figure), map());
      if (next) chart.map.zoom?.follow(next);
      return next;
    },
    place: ([i, j]) => [scale("x")(spanOf(map(), j)[1]), scale("y")(spanOf(map(), i)[1])],
    same: (one, other) => one.join() === other.join(),
    tell: ([i, j]) => {
      const { tell, cell } = chart.shown; // a decoder may have its own words
      if (tell) return tell(i, j);
      const { title, ...others } = describe(cell(i, j), chart.report.terms);
      const most = largest(i).map((target) => cell(i, target));
      if (!most.length) return { title, ...others };
      return { title: givesMost(most), "at the pointer": part(cell(i, j)), ...others };
    },
    show: (at) => {
      pointed = at;
      draw(chart, pointed, at ? largest(at[0]) : []).runAsync();
      if (at) pointSoon({ token: at[0], target: at[1], text: chart.text });
      else unpoint();
    },
    choose: (at) => {
      const again = chosen(figure)?.join() === at.join();
      pickCell(figure, again ? null : at);
      if (again) unpin(["token"], figure);
      else pin({ token: at[0], target: at[1], text: chart.text }, figure);
      draw(chart, pointed).runAsync();
    },
    // what the address says, as far as this map has it
    restore: () => {
      const at = chosen(figure) && nearest(...chosen(figure), map());
      const { text } = pins();
      const { token } = text === undefined ? pins() : inText(pins(), chart.text);
      pickCell(figure, at && token === at[0] ? at : null);
      if (figure.picks.cell) aim(at[1]);
      draw(chart, pointed);
    },
  };
}

function pickCell(figure, at) {
  const { cell, ...others } = figure.picks;
  figure.picks = at ? { ...others, cell: at.join("+") } : others;
}

// The first and the last cell along an axis at a pixel: more than one only where they are smaller.
function under(scale, at) {
  const [from, to] = [0, 1].map((more) => scale.invert(Math.floor(at) + more));
  const here = Math.floor(scale.invert(at));
  return to - from <= 1 ? [here, here] : [Math.ceil(from), Math.ceil(to) - 1];
}

// Of the cells under a pixel the one with the largest probability, whose shade the pixel has; null
// where none is visible.
function surest(map, [top, bottom], [left, right]) {
  let best = null;
  for (let i = top; i <= bottom; i++) {
    for (let j = left; j <= right; j++) {
      if (!map.sees(i, j)) continue;
      const sure = map.probability(i, j);
      if (!best || sure > best.sure) best = { at: [i, j], sure };
    }
  }
  return best && best.at.map((at) => spanOf(map, at)[0]);
}

// Of a map of regions, which tokens a cell's are among, from the first to before the last.
const spanOf = (map, at) => map.span?.(at) ?? [at, at + 1];

// The pinned cell: it stands as long as its current token does.
function chosen(figure) {
  const [, i, j] = /^(\d{1,9})\+(\d{1,9})$/.exec(figure.picks.cell) ?? [];
  return i === undefined ? null : [Number(i), Number(j)];
}

// Returns the view, which is to be run.
function draw({ view, figure, shown: { map } }, pointed, largest = []) {
  const row = (at, pinned) => {
    const [[top, below], [left, right]] = at.map((each) => spanOf(map, each));
    return { current_token: top, target_token: left, down: below - top, across: right - left, pinned };
  };
  const pinned = chosen(figure);
  const targets = largest.map((target) => row([pointed[0], target], false));
  const rows = [pinned && row(pinned, true), pointed && row(pointed, false), ...targets];
  return view.data("cursor", rows.filter(Boolean));
}

// The cell of a map that is nearest to a place: in its row, or the last one.
function nearest(row, column, { size, first, last }) {
  const i = clamp(row, 0, size - 1);
  return [i, clamp(column, first[i], last[i])];
}

// The cell that a key leads to, or undefined for other keys. At first: the beginning of the last
// row. A row that does not see the target is entered at the nearest one that it sees.
function step(key, at, map) {
  const { size, first, last } = map;
  const [i, j] = nearest(...(at ?? [size - 1, 0]), map);
  const [[up, down], [left, right]] = [i, j].map((each) => spanOf(map, each));
  const to = (row) => nearest(row, j, map);
  const next = {
    ArrowUp: to(up - 1),
    ArrowDown: to(down),
    PageUp: to(i - PAGE),
    PageDown: to(i + PAGE),
    ArrowLeft: [i, Math.max(left - 1, first[i])],
    ArrowRight: [i, Math.min(right, last[i])],
    Home: [i, first[i]],
    End: [i, last[i]],
  }[key];
  return next?.map((each) => spanOf(map, each)[0]);
}

const fixed = (value, digits) => value.toFixed(digits).replace("-", "−");

// What a tooltip says of a cell, the sentence first; names: {term: what a reader calls it}.
function describe(cell, names) {
  const token = (index, text, last = index) => `${index}${last > index ? `–${last}` : ""}  “${text}”`;
  const { unit = "token" } = cell;
  const digits = cell.probability < 0.01 ? 1 : 2; // such scores are kept less exactly
  const known = Object.entries(cell.terms).filter(([name]) => names[name]);
  const terms = known.map(([name, value]) => `${names[name]} ${fixed(value, digits)}`).join(", ");
  // what the terms add up to: before a cap, where there is one
  const sum = (value) => fixed(value, digits) + (terms && ` (${terms})`);
  let scores = {}; // regions have none
  if (cell.uncapped !== undefined) scores = { score: fixed(cell.score, digits), "score before the cap": sum(cell.uncapped) };
  else if (cell.score !== undefined) scores = { score: sum(cell.score) };
  return {
    title: gives(cell),
    ...(cell.class ? { "what it is": cell.class } : {}),
    ...scores,
    [`current ${unit}`]: token(cell.current_token, cell.current_text, cell.current_last),
    [`target ${unit}`]: token(cell.target_token, cell.target_text, cell.target_last),
  };
}
