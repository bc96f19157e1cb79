// attention/4, the queries of one head and the keys of its group, as functions of a cell: current
// token i, target token j. The twin of report/datasets/formats/factored.py, which says what they are.
//
// Rows are worked out when they are asked for, four at a time: all that a row needs of the others is
// where in the file its numbers are. So a page that asks for a cell does not wait for all the others.

import { largestTargets, RANKS } from "./ranking.js";
import { readFew, readRice } from "./rice.js";
import { dot, fourRows, sidesOf } from "./sides.js";
import { normalizerOf } from "./softmax.js";
import { startOfRows, visibleOf } from "./visible.js";

const KEPT = 1_500_000; // numbers of rows that are kept, at most; beyond that all are forgotten

// Where the scores of rows are kept, of one map at a time. Lists that are made anew for each map, or
// for each row, would keep a collector busy.
const room = { owner: null, list: new Float64Array(0), filled: 0 };

export function factored(shard) {
  const size = shard.tokens;
  const { first, last } = visibleOf(shard);
  const start = startOfRows(first, last);
  const { softcap, sink } = shard;
  const cap = softcap ? (x) => softcap * Math.tanh(x / softcap) : (x) => x;
  const rows = new Rows(shard, { first, last, start });
  const { ofTokens } = rows;
  const content = (i, j) => rows.content(i, j);
  const score = (i, j) => rows.of(i).scores[j - first[i]];
  const others = (i, j) => ofTokens.target[j] + ofTokens.current[i];
  const terms = {};
  for (const [name, term] of Object.entries(shard.terms)) {
    if (term.per !== "cell") terms[name] = termOf(term);
    else if (name === rows.plain) terms[name] = content;
    else terms[name] = (i, j) => score(i, j) - others(i, j) - content(i, j);
  }
  const capped = (i, j) => cap(score(i, j));
  const row = (i) => (softcap ? rows.of(i).scores.map(cap) : rows.of(i).scores);
  const normalizer = (i) => (rows.of(i).normalizer ??= normalizerOf(row(i), sink));
  return {
    shard, size, first, last, terms, score, capped, normalizer,
    nearly: (i, j) => cap(rows.nearly(i, j)), // `capped` but for largest targets, without the row
    row, // only until so many other rows are asked for that there is no room for it
    termRow: (name, i) => rows.term(name, i) ?? rowOf(terms[name], first[i], last[i], i),
    // works out four rows that will be asked for, and the content of each if terms are
    ahead: (some, terms = false) => rows.ahead(some, terms),
    cell: (i, j) => start[i] + j,
    sees: (i, j) => i >= 0 && i < size && j >= first[i] && j <= last[i],
    probability: (i, j) => Math.exp(capped(i, j) - normalizer(i)),
    target: (i, k) => rows.of(i).targets[k] ?? -1,
    backward: last.every((target, i) => target <= i),
  };
}

// A term at the visible cells of a row.
export function rowOf(term, first, last, i) {
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
    this.plain = shard.terms.mixed ? "mixed" : "content"; // the term of queries and keys
    this.rows = new Map(); // row -> {scores, targets, normalizer}
    this.contents = new Map(); // row -> content of its cells
  }

  // Where in the lists of a file the targets of each row begin.
  get begins() {
    let listed = 0;
    const counts = this.first.map((from, i) => Math.min(RANKS, this.last[i] - from + 1));
    return this.own("begins", [...counts.map((count) => (listed += count) - count), listed]);
  }

  get sides() {
    return this.own("sides", sidesOf(this.shard));
  }

  get numbers() {
    return this.own("numbers", readRice(this.shard.targets, 1, this.begins.at(-1)));
  }

  // What is missing to scores: to the positional term, which has all the rest, or to the content.
  get missing() {
    const { position } = this.shard.terms;
    return this.own("missing", position?.per === "cell" ? this.missingOf(position) : this.missingContent);
  }

  get missingContent() {
    return this.own("missingContent", this.missingOf(this.shard.terms[this.plain]));
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
    const { ofTarget } = this.sides;
    return this.own("offsets", this.ofTokens.target.map((value, j) => value - ofTarget[j]));
  }

  // Keeps what four rows are, some of which may be the same.
  make(some) {
    const { query, key, ofCurrent } = this.sides;
    const fresh = this.placesFor(some);
    this.products(query.turned, key.turned, some, (i, products, at) => {
      const scores = fresh.get(i);
      if (!scores) return; // it is kept already
      const [from, offsets] = [this.first[i], this.offsets];
      for (let n = 0; n < scores.length; n++) {
        scores[n] = products[at + n] + (offsets[from + n] - ofCurrent[i]);
      }
      const numbers = this.numbers.subarray(this.begins[i], this.begins[i + 1]);
      const targets = largestTargets(numbers, scores, from);
      this.add(this.missing, i, targets, scores);
      const { rows, step } = this.missing;
      const row = rows[i] * step + this.ofTokens.current[i];
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

  // The products of four queries with keys, row by row: a list, and where in it the first visible is.
  products(queries, keys, some, take) {
    const { components } = this.sides;
    const from = Math.min(...some.map((i) => this.first[i]));
    const to = Math.max(...some.map((i) => this.last[i]));
    const { begin, found } = fourRows(queries, keys, components, some, from, to);
    some.forEach((i, n) => take(i, found[n], this.first[i] - begin));
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
    if (terms && some.some((i) => !this.contents.has(i))) this.makeContents(some);
  }

  // The content of all cells of a row.
  contentRow(i) {
    if (!this.contents.has(i)) this.makeContents(this.around(i));
    return this.contents.get(i);
  }

  makeContents(some) {
    if (this.contents.size * this.first.length > KEPT) this.contents.clear();
    if (some.some((i) => !this.has(i))) this.make(some); // now: products hold until others come
    const { query, key } = this.sides;
    const missing = this.missingContent;
    this.products(query.plain, key.plain, some, (i, products, at) => {
      const values = products.slice(at, at + this.last[i] - this.first[i] + 1);
      this.add(missing, i, this.of(i).targets, values);
      const row = missing.rows[i] * missing.step;
      if (row) for (let n = 0; n < values.length; n++) values[n] += row;
      this.contents.set(i, values);
    });
  }

  content(i, j) {
    const known = this.contents.get(i);
    if (known) return known[j - this.first[i]];
    const { query, key, components } = this.sides;
    const { step, tops, cells, rows } = this.missingContent;
    const rank = this.of(i).targets.indexOf(j);
    const top = rank < 0 ? 0 : tops[this.begins[i] + rank];
    const few = integerAt(cells, this.start[i] + j);
    return dot(query.plain, key.plain, components, i, j) + (top + few + rows[i]) * step;
  }

  // A term of all cells of a row, undefined for those of single tokens.
  term(name, i) {
    if (this.shard.terms[name].per !== "cell") return undefined;
    const content = this.contentRow(i);
    if (name === this.plain) return content;
    const [{ scores }, from, { target, current }] = [this.of(i), this.first[i], this.ofTokens];
    return scores.map((score, n) => score - target[from + n] - current[i] - content[n]);
  }

  nearly(i, j) {
    const { query, key, components, ofTarget, ofCurrent } = this.sides;
    const { target, current } = this.ofTokens;
    const { rows, cells, step } = this.missing;
    const turned = dot(query.turned, key.turned, components, i, j);
    const missing = (rows[i] + integerAt(cells, this.start[i] + j)) * step;
    return turned - ofTarget[j] - ofCurrent[i] + missing + target[j] + current[i];
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
