// The file of one head (attention/4) as functions of a cell: current token i, target token j. The twin
// of report/datasets/formats/attention.py, which says what such a file holds.
//
// Rows are worked out when they are asked for, four at a time: all that a row needs of the others is
// where in the file its numbers are. So a page that asks for a cell does not wait for all the others.

import { largestTargets, RANKS } from "./ranking.js";
import { readFew, readRice } from "./rice.js";
import { productsOf } from "./sides.js";

const KEPT = 1_500_000; // numbers of rows that are kept, at most; beyond that all are forgotten

// Where the scores of rows are kept, of one map at a time. Lists that are made anew for each map, or
// for each row, would keep a collector busy.
const room = { owner: null, list: new Float64Array(0), filled: 0 };

// The first of these that is a term of cells is the rest: what the others leave of a score.
const TAKES_UP = ["position", "content", "mixed", "score"];

// A cell that i cannot see has no value: ask `sees` first.
export function attention(shard) {
  const size = shard.tokens;
  const { first, last } = visibleOf(shard);
  const start = startOfRows(first, last);
  const { softcap, sink } = shard;
  const cap = softcap ? (x) => softcap * Math.tanh(x / softcap) : (x) => x;
  const rows = new Rows(shard, { first, last, start });
  const score = (i, j) => rows.of(i).scores[j - first[i]];
  const whole = (i, j) => score(i, j) - rows.ofTokens.target[j] - rows.ofTokens.current[i];
  const terms = {};
  for (const [name, term] of Object.entries(shard.terms)) {
    if (term.per !== "cell") terms[name] = termOf(term);
    else if (name !== rows.rest) terms[name] = (i, j) => rows.cell(name, i, j);
    else terms[name] = (i, j) => rows.others.reduce((left, one) => left - rows.cell(one, i, j), whole(i, j));
  }
  // what is one term where its parts are not known: to be asked for, but no term beside them
  if (terms.position_position) Object.defineProperty(terms, "mixed", { value: whole });
  const capped = (i, j) => cap(score(i, j));
  const row = (i) => (softcap ? rows.of(i).scores.map(cap) : rows.of(i).scores);
  const normalizer = (i) => (rows.of(i).normalizer ??= normalizerOf(row(i), sink));
  return {
    shard, size, first, last, terms, score, capped, normalizer,
    nearly: (i, j) => cap(rows.nearly(i, j)), // `capped` but for largest targets, without the row
    row, // only until so many other rows are asked for that there is no room for it
    termRow: (name, i) => rows.term(name, i) ?? rowOf(terms[name], first[i], last[i], i),
    // works out four rows that will be asked for, and the terms of each if these are
    ahead: (some, terms = false) => rows.ahead(some, terms),
    cell: (i, j) => start[i] + j, // its place in a list of all visible cells
    sees: (i, j) => i >= 0 && i < size && j >= first[i] && j <= last[i],
    probability: (i, j) => Math.exp(capped(i, j) - normalizer(i)),
    target: (i, k) => rows.of(i).targets[k] ?? -1,
    backward: last.every((target, i) => target <= i), // no token sees a later one
  };
}

// A term at the visible cells of a row.
function rowOf(term, first, last, i) {
  const values = new Float64Array(last - first + 1);
  for (let n = 0; n < values.length; n++) values[n] = term(i, first + n);
  return values;
}

function termOf({ per, step, values }) {
  if (per === "current") return (i) => values[i] * step;
  if (per === "target") return (i, j) => values[j] * step;
  return (i, j) => values[j] * step - values[i] * step;
}

class Rows {
  constructor(shard, { first, last, start }) {
    Object.assign(this, { shard, first, last, start });
    this.ofTokens = tokenTerms(shard);
    const cells = Object.keys(shard.terms).filter((name) => shard.terms[name].per === "cell");
    this.rest = TAKES_UP.find((name) => cells.includes(name));
    this.others = cells.filter((name) => name !== this.rest);
    this.rows = new Map(); // row -> {scores, targets, normalizer}
    this.read = {};
    this.kept = new Map(); // row -> {term: values of its cells}, of the other terms
  }

  // Where in the lists of a file the targets of each row begin.
  get begins() {
    let listed = 0;
    const counts = this.first.map((from, i) => Math.min(RANKS, this.last[i] - from + 1));
    return this.own("begins", [...counts.map((count) => (listed += count) - count), listed]);
  }

  // What the file says nearly: products of queries and keys, or cells.
  get near() {
    const { shard, first, last, start } = this;
    const near = shard.queries ? productsOf(shard) : nearCells(shard, { first, last, start });
    return this.own("near", near);
  }

  get numbers() {
    return this.own("numbers", readRice(this.shard.targets, 1, this.begins.at(-1)));
  }

  // What is missing to a term of cells; to the rest, it is missing to scores. Each is read when it is
  // asked for: a map of scores needs no other.
  missing(name) {
    return (this.read[name] ??= this.missingOf(this.shard.terms[name]));
  }

  own(name, value) {
    Object.defineProperty(this, name, { value });
    return value;
  }

  missingOf({ step, tens, top, top_cells, cells, rows }) {
    const listed = this.begins.at(-1);
    const tops = new Float64Array(readRice(top, 1, listed)); // `from` would take ten times as long
    for (let n = 0; n < listed; n++) tops[n] *= tens;
    const [places, few] = readFew(top_cells);
    places.forEach((place, n) => (tops[place] += few[n]));
    const ofRows = rows ? readRice(rows, 1, this.first.length) : new Int32Array(this.first.length);
    return { step, tops, cells: readFew(cells), rows: ofRows };
  }

  of(i) {
    if (!this.has(i)) this.make(this.around(i));
    return this.rows.get(i);
  }

  has(i) {
    return room.owner === this && this.rows.has(i);
  }

  // The four rows of which one is.
  around(i) {
    const from = i - (i % 4);
    return [0, 1, 2, 3].map((n) => Math.min(from + n, this.first.length - 1));
  }

  // What the terms and the biases of a target add to the products of its key.
  get offsets() {
    const { ofTarget } = this.near;
    const { target } = this.ofTokens;
    return this.own("offsets", ofTarget ? target.map((value, j) => value - ofTarget[j]) : target);
  }

  // Keeps what four rows are, some of which may be the same.
  make(some) {
    const fresh = this.placesFor(some);
    const { ofCurrent } = this.near;
    const missing = this.missing(this.rest);
    this.four(null, some, (i, products, at) => {
      const scores = fresh.get(i);
      if (!scores) return; // it is kept already
      const [from, offsets, current] = [this.first[i], this.offsets, ofCurrent ? ofCurrent[i] : 0];
      for (let n = 0; n < scores.length; n++) {
        scores[n] = products[at + n] + (offsets[from + n] - current);
      }
      const numbers = this.numbers.subarray(this.begins[i], this.begins[i + 1]);
      const targets = largestTargets(numbers, scores, from);
      this.add(missing, i, targets, scores);
      const row = missing.rows[i] * missing.step + this.ofTokens.current[i];
      for (let n = 0; n < scores.length; n++) scores[n] += row;
      this.rows.set(i, { scores, targets });
    });
  }

  // Room for the scores of those rows that are not kept: row -> list. Where there is none any more, all
  // others are forgotten.
  placesFor(some) {
    const length = (i) => this.last[i] - this.first[i] + 1;
    let fresh = [...new Set(some)].filter((i) => !this.has(i));
    const needed = fresh.reduce((sum, i) => sum + length(i), 0);
    if (room.owner !== this || room.filled + needed > room.list.length) {
      this.forget();
      fresh = [...new Set(some)];
    }
    return new Map(
      fresh.map((i) => [i, room.list.subarray(room.filled, (room.filled += length(i)))]),
    );
  }

  forget() {
    this.rows.clear();
    const size = this.first.length;
    const needed = Math.min(this.start[size], Math.max(KEPT, 4 * size));
    const list = room.list.length < needed ? new Float64Array(needed) : room.list;
    Object.assign(room, { owner: this, list, filled: 0 });
  }

  // Four rows of a term, or of all together, nearly: of each a list, and where in it the first visible
  // cell is. Lists hold until the next call.
  four(name, some, take) {
    const from = Math.min(...some.map((i) => this.first[i]));
    const to = Math.max(...some.map((i) => this.last[i]));
    const { begins, found } = this.near.rows(name, some, from, to);
    some.forEach((i, n) => take(i, found[n], this.first[i] - begins[n]));
  }

  // Adds what is missing at the cells of a row.
  add({ step, tops, cells: [places, integers] }, i, targets, values) {
    const [from, begin] = [this.first[i], this.begins[i]];
    targets.forEach((j, k) => (values[j - from] += tops[begin + k] * step));
    const start = this.start[i] + from;
    for (let n = firstFrom(places, start); places[n] < start + values.length; n++) {
      values[places[n] - start] += integers[n] * step;
    }
  }

  ahead(some, terms) {
    if (some.some((i) => !this.has(i))) this.make(some);
    if (terms && some.some((i) => !this.kept.has(i))) this.makeTerms(some);
  }

  // The terms of all cells of a row, but for the rest.
  termsOf(i) {
    if (!this.kept.has(i)) this.makeTerms(this.around(i));
    return this.kept.get(i);
  }

  makeTerms(some) {
    if (this.kept.size * this.first.length * this.others.length > KEPT) this.kept.clear();
    if (some.some((i) => !this.has(i))) this.make(some); // now: products hold until others come
    const found = new Map(some.map((i) => [i, {}]));
    for (const name of this.others) {
      const missing = this.missing(name);
      this.four(name, some, (i, products, at) => {
        const values = products.slice(at, at + this.last[i] - this.first[i] + 1);
        this.add(missing, i, this.of(i).targets, values);
        found.get(i)[name] = values;
      });
    }
    for (const [i, terms] of found) this.kept.set(i, terms);
  }

  // One cell of a term that is not the rest.
  cell(name, i, j) {
    const known = this.kept.get(i);
    if (known) return known[name][j - this.first[i]];
    const { step, tops, cells } = this.missing(name);
    const rank = this.of(i).targets.indexOf(j);
    const top = rank < 0 ? 0 : tops[this.begins[i] + rank];
    return this.near.cell(name, i, j) + (top + integerAt(cells, this.start[i] + j)) * step;
  }

  // A term of all cells of a row, undefined for those of single tokens.
  term(name, i) {
    const whole = name === "mixed" && this.rest !== name;
    if (!whole && this.shard.terms[name].per !== "cell") return undefined;
    if (this.others.includes(name)) return this.termsOf(i)[name];
    const [{ scores }, from, { target, current }] = [this.of(i), this.first[i], this.ofTokens];
    const left = scores.map((score, n) => score - target[from + n] - current[i]);
    if (whole || !this.others.length) return left;
    const others = Object.values(this.termsOf(i));
    return left.map((value, n) => others.reduce((rest, values) => rest - values[n], value));
  }

  nearly(i, j) {
    const { ofTarget, ofCurrent } = this.near;
    const { target, current } = this.ofTokens;
    const { rows, cells, step } = this.missing(this.rest);
    const biases = ofTarget ? ofTarget[j] + ofCurrent[i] : 0;
    const missing = (rows[i] + integerAt(cells, this.start[i] + j)) * step;
    return this.near.cell(null, i, j) - biases + missing + target[j] + current[i];
  }
}

// What the terms of single tokens add to a score.
function tokenTerms({ terms, tokens }) {
  const sums = { target: new Float64Array(tokens), current: new Float64Array(tokens) };
  for (const { per, step, values } of Object.values(terms)) {
    if (per === "cell") continue;
    values.forEach((value, n) => {
      if (per !== "current") sums.target[n] += value * step;
      if (per !== "target") sums.current[n] += (per === "current" ? 1 : -1) * value * step;
    });
  }
  return sums;
}

function integerAt([places, integers], place) {
  const n = firstFrom(places, place);
  return places[n] === place ? integers[n] : 0;
}

// The first place in a sorted list of at least so much.
function firstFrom(sorted, least) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Which targets each token sees, from its first to its last. The twin of
// report/datasets/formats/visible.py.

const visibleOf = ({ visible, tokens }) => visible ?? causal(tokens);

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

// What the integers of a file without queries and keys say nearly of terms, cell by cell. The twin of
// Cells in report/datasets/formats/attention.py.
function nearCells({ terms }, { first, last, start }) {
  const count = start[first.length];
  const each = {};
  const all = new Float64Array(count);
  for (const [name, { per, near }] of Object.entries(terms)) {
    if (per !== "cell") continue;
    const integers = readRice(near.integers, 1, count);
    const values = new Float64Array(count);
    for (let i = 0, n = 0; i < first.length; i++) {
      for (const end = start[i] + last[i]; n <= end; n++) {
        values[n] = (near.middles[i] + integers[n]) * near.step;
        all[n] += values[n];
      }
    }
    each[name] = values;
  }
  const values = (name) => (name ? each[name] : all);
  return {
    cell: (name, i, j) => values(name)[start[i] + j],
    rows: (name, some) => ({
      begins: some.map((i) => first[i]),
      found: some.map((i) => values(name).subarray(start[i] + first[i], start[i] + last[i] + 1)),
    }),
  };
}

const PARTS = 1024; // of a doubling, of which the powers are at hand
const UNIT = Math.LN2 / PARTS;
const POWERS = Float64Array.from({ length: PARTS }, (_, n) => 2 ** (n / PARTS));
const HALVES = Float64Array.from({ length: 64 }, (_, n) => 2 ** -n);
const LEAST = -43; // nats below the largest: the sum has no digit for less

// The logarithm of the sum that the softmax of a row divides by. A map of many cells waits for it,
// and `Math.exp` would take three times as long: here an exponential is a power that is at hand, times
// that of the rest, which is so small that four terms of its series have all digits.
function normalizerOf(scores, sink) {
  let largest = sink ?? -Infinity;
  for (let n = 0; n < scores.length; n++) if (scores[n] > largest) largest = scores[n];
  let sum = sink === undefined ? 0 : Math.exp(sink - largest);
  for (let n = 0; n < scores.length; n++) {
    const x = scores[n] - largest;
    if (x < LEAST) continue;
    const units = (x * (1 / UNIT)) | 0;
    const rest = x - units * UNIT;
    const power = POWERS[units & (PARTS - 1)] * HALVES[-(units >> 10)];
    sum += power * (1 + rest * (1 + rest * (0.5 + rest / 6)));
  }
  return largest + Math.log(sum);
}
