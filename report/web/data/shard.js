// The file of one head as functions of a cell: current token i, target token j. This is attention/3,
// the twin of attention.py, attention_terms.py, product.py and packing.py in report/datasets/formats;
// attention/4 is in factored.js.

import { factored, rowOf } from "./factored.js";
import { startOfRows, visibleOf } from "./visible.js";

const PLACED = ["content", "content_position", "position_content", "position_position"];

// A cell that i cannot see has no value: ask `sees` first.
export function attention(shard) {
  if (shard.schema === "attention/4") return factored(shard);
  const size = shard.tokens;
  const { first, last } = visibleOf(shard);
  const start = startOfRows(first, last);
  const terms = {};
  const parts = { cells: [], target: new Float64Array(size), current: new Float64Array(size) };
  for (const [name, term] of Object.entries(shard.terms)) {
    const cells = term.per === "cell" ? cellsOf(term, first, last, start[size]) : null;
    terms[name] = termOf(term, cells, start);
    addTo(parts, term, cells);
  }
  const each = Object.values(terms);
  if (terms.position_position) {
    // what is one term where its parts are not known
    const value = (i, j) => PLACED.reduce((sum, name) => sum + terms[name](i, j), 0);
    Object.defineProperty(terms, "mixed", { value }); // to be asked for, but no term beside them
  }
  const { softcap, log_normalizer } = shard;
  const score = each.reduce((sum, term) => (i, j) => sum(i, j) + term(i, j));
  // what enters the softmax
  const capped = softcap
    ? (i, j) => softcap * Math.tanh(score(i, j) / softcap)
    : score;
  return {
    shard, size, first, last, terms, score, capped,
    nearly: capped, // of single cells, as fast as may be
    // what enters the softmax, of the visible cells of a row
    row: (i) => {
      const scores = sums(parts, first[i], last[i], start[i], i);
      return softcap ? scores.map((x) => softcap * Math.tanh(x / softcap)) : scores;
    },
    termRow: (name, i) => rowOf(terms[name], first[i], last[i], i),
    normalizer: (i) => log_normalizer[i],
    cell: (i, j) => start[i] + j, // its place in a list of all visible cells
    sees: (i, j) => i >= 0 && i < size && j >= first[i] && j <= last[i],
    probability: (i, j) => Math.exp(capped(i, j) - log_normalizer[i]),
    target: (i, k) => shard.largest_targets[i * 11 + k],
    backward: last.every((target, i) => target <= i), // no token sees a later one
  };
}

// A term of all visible cells, row by row.
function cellsOf({ packed, step, product }, first, last, count) {
  const cells = new Float64Array(count);
  if (!product) {
    const integers = unpack(packed);
    for (let n = 0; n < count; n++) cells[n] = integers[n] * step;
    return cells;
  }
  addProduct(cells, product, first, last);
  const [skipped, missing] = [unpack(product.skipped), unpack(product.missing)];
  for (let k = 0, n = -1; k < missing.length; k++) cells[(n += skipped[k] + 1)] += missing[k] * step;
  return cells;
}

// Row by row, so that what is added to stays in the fastest cache, and four components at once, as
// reading and writing it takes longer than a product. The sum is in the order of the components.
function addProduct(cells, product, first, last) {
  const { queries, keys } = components(product, first.length);
  for (let i = 0, start = 0; i < first.length; i++) {
    const from = first[i], to = last[i];
    for (let c = 0; c < keys.length; c += 4) {
      const q0 = queries[c][i], q1 = queries[c + 1][i], q2 = queries[c + 2][i], q3 = queries[c + 3][i];
      const k0 = keys[c], k1 = keys[c + 1], k2 = keys[c + 2], k3 = keys[c + 3];
      for (let j = from, n = start; j <= to; j++, n++) {
        cells[n] = cells[n] + q0 * k0[j] + q1 * k1[j] + q2 * k2[j] + q3 * k3[j];
      }
    }
    start += to - from + 1;
  }
}

// Weighted queries, and keys, of each component; zeros are added up to a multiple of four.
function components({ weights, coarse, fine }, size) {
  const low = unpack(fine);
  const integers = unpack(coarse).map((high, n) => (57 * high + low[n]) / 100);
  const queries = [], keys = [];
  for (let c = 0; c < 4 * Math.ceil(weights.length / 4); c++) {
    const from = 2 * c * size; // beyond the last component there is nothing
    const query = new Float64Array(size), key = new Float64Array(size);
    key.set(integers.subarray(from + size, from + 2 * size));
    query.set(integers.subarray(from, from + size));
    queries.push(query.map((integer) => integer * (weights[c] ?? 0)));
    keys.push(key);
  }
  return { queries, keys };
}

function termOf({ per, step, values }, cells, start) {
  if (per === "cell") return (i, j) => cells[start[i] + j];
  if (per === "current") return (i) => values[i] * step;
  if (per === "target") return (i, j) => values[j] * step;
  return (i, j) => values[j] * step - values[i] * step;
}

// Adds a term to what is summed for all cells of a row at once, since a slider waits for it: terms of
// a cell are kept apart, those of one token added to what its column or row gets.
function addTo(parts, { per, step, values }, cells) {
  if (per === "cell") parts.cells.push(cells);
  else for (let n = 0; n < values.length; n++) {
    if (per !== "current") parts.target[n] += values[n] * step;
    if (per !== "target") parts.current[n] += (per === "current" ? 1 : -1) * values[n] * step;
  }
}

function sums({ cells: [one, ...others], target, current }, first, last, start, i) {
  const scores = new Float64Array(last - first + 1);
  const place = start + first;
  for (let n = 0; n < scores.length; n++) scores[n] = one[place + n] + target[first + n] + current[i];
  for (const cells of others) for (let n = 0; n < scores.length; n++) scores[n] += cells[place + n];
  return scores;
}

// What each character adds to a number; # to [ begin one.
const VALUE = new Int32Array(128);
const kinds = [["#", 57, 100, 28], ["]", 11, 10, 5], ["h", 11, 1, 5], ["s", 6, 5700, 6]];
for (const [from, count, unit, middle] of [...kinds, ["y", 6, 5700, -1]]) {
  for (let n = 0; n < count; n++) VALUE[from.charCodeAt(0) + n] = unit * (n - middle);
}
const FIRST_ADDED = "]".charCodeAt(0);

export function unpack(text) {
  const numbers = new Int32Array(text.length);
  let count = 0;
  for (let n = 0; n < text.length; n++) {
    const code = text.charCodeAt(n);
    if (code < FIRST_ADDED) numbers[count++] = VALUE[code];
    else numbers[count - 1] += VALUE[code];
  }
  return numbers.subarray(0, count);
}
