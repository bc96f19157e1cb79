// attention/2, the file of one head, as functions of a cell: current token i, target token j.
// The twin of report/datasets/attention.py and packing.py.

// A cell that i cannot see has no value: ask `sees` first.
export function attention(shard) {
  const size = shard.tokens;
  const { first, last } = shard.visible ?? causal(size);
  const start = startOfRows(first, last);
  const terms = {};
  const parts = { cells: [], target: new Float64Array(size), current: new Float64Array(size) };
  for (const [name, term] of Object.entries(shard.terms)) {
    const cells = term.per === "cell" ? unpack(term.packed) : null;
    terms[name] = termOf(term, cells, start);
    addTo(parts, term, cells);
  }
  const each = Object.values(terms);
  const { softcap, log_normalizer } = shard;
  const score = each.reduce((sum, term) => (i, j) => sum(i, j) + term(i, j));
  // what enters the softmax
  const capped = softcap
    ? (i, j) => softcap * Math.tanh(score(i, j) / softcap)
    : score;
  return {
    shard, size, first, last, terms, score, capped,
    // what enters the softmax, of all visible cells, row by row
    scores: () => {
      const scores = sums(parts, first, last, start[size]);
      return softcap ? scores.map((x) => softcap * Math.tanh(x / softcap)) : scores;
    },
    cell: (i, j) => start[i] + j, // its place in a list of all visible cells
    sees: (i, j) => i >= 0 && i < size && j >= first[i] && j <= last[i],
    probability: (i, j) => Math.exp(capped(i, j) - log_normalizer[i]),
    target: (i, k) => shard.largest_targets[i * 11 + k],
    backward: last.every((target, i) => target <= i), // no token sees a later one
  };
}

function causal(size) {
  const last = Array.from({ length: size }, (_, i) => i);
  return { first: last.map(() => 0), last };
}

// What to add to a target for its place among the visible cells; at the end how many there are.
function startOfRows(first, last) {
  const start = [];
  let cells = 0;
  for (let i = 0; i < first.length; i++) {
    start.push(cells - first[i]);
    cells += last[i] - first[i] + 1;
  }
  return [...start, cells];
}

function termOf({ per, step, values }, cells, start) {
  if (per === "cell") return (i, j) => cells[start[i] + j] * step;
  if (per === "current") return (i) => values[i] * step;
  if (per === "target") return (i, j) => values[j] * step;
  return (i, j) => values[j] * step - values[i] * step;
}

// Adds a term to what is summed for all cells at once, since a slider waits for it: terms of a cell
// are kept apart, those of one token added to what its column or row gets.
function addTo(parts, { per, step, values }, cells) {
  if (per === "cell") parts.cells.push({ cells, step });
  else for (let n = 0; n < values.length; n++) {
    if (per !== "current") parts.target[n] += values[n] * step;
    if (per !== "target") parts.current[n] += (per === "current" ? 1 : -1) * values[n] * step;
  }
}

function sums({ cells: [one, ...others], target, current }, first, last, count) {
  const scores = new Float64Array(count);
  for (let i = 0, n = 0; i < first.length; i++) {
    for (let j = first[i]; j <= last[i]; j++, n++) {
      scores[n] = one.cells[n] * one.step + target[j] + current[i];
    }
  }
  for (const { cells, step } of others) for (let n = 0; n < count; n++) scores[n] += cells[n] * step;
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
