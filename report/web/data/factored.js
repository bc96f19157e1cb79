// attention/4, the queries of one head and the keys of its group, as functions of a cell: current
// token i, target token j. The twin of report/datasets/formats/factored.py, which says what they are.

import { largestTargets } from "./ranking.js";
import { eachOfFew, readRice } from "./rice.js";
import { startOfRows, visibleOf } from "./visible.js";

const RANKS = 11;

// What is asked of single cells needs a few products. Scores of all cells, and what follows from
// them (the normalizers, the largest targets), are worked out when they are first asked for.
export function factored(shard) {
  const size = shard.tokens;
  const { first, last } = visibleOf(shard);
  const start = startOfRows(first, last);
  const { softcap, sink } = shard;
  const sides = sidesOf(shard);
  const offsets = offsetsOf(shard, sides);
  const ofTokens = tokenTerms(shard, size);
  const whole = once(() => wholeOf(shard, sides, offsets, ofTokens, { first, last, start }));
  const missing = once(() => missingContent(shard, whole().targets, first, last, start));
  const content = (i, j) => dot(sides, i, j) + (missing().get(start[i] + j) ?? 0);
  const score = (i, j) => whole().scores[start[i] + j];
  const others = (i, j) => ofTokens.target[j] + ofTokens.current[i];
  const terms = {};
  for (const [name, term] of Object.entries(shard.terms)) {
    if (term.per !== "cell") terms[name] = termOf(term);
    else if (name === "content") terms[name] = content;
    else terms[name] = (i, j) => score(i, j) - others(i, j) - content(i, j);
  }
  const cap = softcap ? (x) => softcap * Math.tanh(x / softcap) : (x) => x;
  const normalizers = once(() => normalizersOf(whole().scores, cap, sink, first, last));
  return {
    // as in a file of an older schema
    shard: Object.defineProperty({ ...shard }, "log_normalizer", { get: normalizers }),
    size, first, last, terms, score,
    capped: softcap ? (i, j) => cap(score(i, j)) : score,
    scores: () => (softcap ? whole().scores.map(cap) : whole().scores),
    cell: (i, j) => start[i] + j,
    sees: (i, j) => i >= 0 && i < size && j >= first[i] && j <= last[i],
    probability: (i, j) => Math.exp(cap(score(i, j)) - normalizers()[i]),
    target: (i, k) => whole().targets[i * RANKS + k],
    backward: last.every((target, i) => target <= i),
  };
}

function once(make) {
  let made;
  return () => (made ??= make());
}

const termOf = ({ per, step, values }) =>
  per === "current" ? (i) => values[i] * step : (i, j) => values[j] * step;

// What the terms of single tokens add to a score.
function tokenTerms({ terms }, size) {
  const sums = { target: new Float64Array(size), current: new Float64Array(size) };
  for (const { per, step, values } of Object.values(terms)) {
    if (per !== "cell") values.forEach((value, n) => (sums[per][n] += value * step));
  }
  return sums;
}

// Queries and keys, before rotation and rotated: the components of a token lie side by side. There
// are zeros behind the last token, up to a multiple of four.
function sidesOf({ queries, keys, tokens }) {
  const angles = keys.frequencies;
  const [query, key] = [queries, keys].map(({ components, integers, step, bias }) => {
    const numbers = readRice(integers, components, tokens);
    const plain = new Float64Array(components * 4 * Math.ceil(tokens / 4));
    for (let c = 0, n = 0; c < components; c++) {
      for (let i = 0; i < tokens; i++, n++) plain[i * components + c] = numbers[n] * step;
    }
    return { components, bias, plain, turned: turnedOf(plain, components, bias, angles, tokens) };
  });
  const both = { components: query.components, queries: query.plain, keys: key.plain };
  return { ...both, query, key };
}

function turnedOf(plain, components, bias, angles, tokens) {
  const turned = plain.slice();
  for (let i = 0; i < tokens; i++) {
    const at = i * components;
    if (bias) for (let c = 0; c < components; c++) turned[at + c] += bias[c];
    for (let pair = 0; pair < angles.length; pair++) {
      const c = at + 2 * pair;
      const [cos, sin] = [Math.cos(i * angles[pair]), Math.sin(i * angles[pair])];
      const [a, b] = [turned[c], turned[c + 1]];
      turned[c] = a * cos - b * sin;
      turned[c + 1] = b * cos + a * sin;
    }
  }
  return turned;
}

function dot({ queries, keys, components }, i, j) {
  let sum = 0;
  for (let c = 0, q = i * components, k = j * components; c < components; c++) {
    sum += queries[q + c] * keys[k + c];
  }
  return sum;
}

// What the biases of queries, and of keys, add to the plain product: of the target, of the current
// token.
function offsetsOf({ tokens }, { query, key }) {
  const target = new Float64Array(tokens);
  const current = new Float64Array(tokens);
  const add = (sums, side, weights, plus) => {
    for (let i = 0; i < tokens; i++) {
      for (let c = 0; c < side.components; c++) {
        sums[i] += (side.plain[i * side.components + c] + (plus?.[c] ?? 0)) * weights[c];
      }
    }
  };
  if (query.bias) add(target, key, query.bias);
  if (key.bias) add(current, query, key.bias, query.bias);
  return { target, current };
}

// The scores of all visible cells, row by row, and the largest targets.
function wholeOf(shard, { query, key }, offsets, ofTokens, { first, last, start }) {
  const scores = products(query.turned, key.turned, query.components, first, last, start);
  const { target } = ofTokens;
  for (let i = 0, n = 0; i < first.length; i++) {
    const row = offsets.current[i];
    for (let j = first[i]; j <= last[i]; j++, n++) scores[n] += target[j] - offsets.target[j] - row;
  }
  const counts = first.map((from, i) => Math.min(RANKS, last[i] - from + 1));
  const listed = counts.reduce((sum, count) => sum + count, 0);
  const numbers = readRice(shard.targets, 1, listed);
  const targets = largestTargets(numbers, scores, first, last, start);
  const term = shard.terms.position ?? shard.terms.content;
  eachMissing(term, targets, start, (n, value) => (scores[n] += value));
  const rows = term.rows ? readRice(term.rows, 1, first.length) : [];
  for (let i = 0, n = 0; i < first.length; i++) {
    const row = (rows[i] ?? 0) * term.step + ofTokens.current[i];
    for (let j = first[i]; j <= last[i]; j++, n++) scores[n] += row;
  }
  return { scores, targets };
}

// Calls add(cell, value) for what is missing of a term.
function eachMissing({ step, tens, top, top_cells, cells }, targets, start, add) {
  const listed = [];
  targets.forEach((j, n) => {
    if (j >= 0) listed.push(start[Math.floor(n / RANKS)] + j);
  });
  readRice(top, 1, listed.length).forEach((number, n) => {
    if (number) add(listed[n], number * tens * step);
  });
  eachOfFew(top_cells, (n, number) => add(listed[n], number * step));
  eachOfFew(cells, (n, number) => add(n, number * step));
}

function missingContent({ terms }, targets, first, last, start) {
  const missing = new Map();
  const add = (n, value) => missing.set(n, (missing.get(n) ?? 0) + value);
  eachMissing(terms.content, targets, start, add);
  return missing;
}

// The products of queries and keys at all visible cells. Four queries and four keys at a time, since
// reading a number takes as long as multiplying it.
function products(queries, keys, size, first, last, start) {
  const tokens = first.length;
  const found = new Float64Array(start[tokens]);
  const block = new Float64Array(16);
  for (let i = 0; i < tokens; i += 4) {
    const rows = Math.min(4, tokens - i);
    let [from, to] = [first[i], last[i]];
    for (let r = 1; r < rows; r++) {
      from = Math.min(from, first[i + r]);
      to = Math.max(to, last[i + r]);
    }
    for (let j = from - (from % 4); j <= to; j += 4) {
      fourByFour(block, queries, keys, size, i * size, j * size);
      for (let r = 0; r < rows; r++) {
        const row = start[i + r];
        const stop = Math.min(last[i + r], j + 3);
        for (let t = Math.max(first[i + r], j); t <= stop; t++) found[row + t] = block[4 * r + t - j];
      }
    }
  }
  return found;
}

function fourByFour(block, queries, keys, size, q0, k0) {
  const q1 = q0 + size, q2 = q1 + size, q3 = q2 + size;
  const k1 = k0 + size, k2 = k1 + size, k3 = k2 + size;
  let a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
  let c0 = 0, c1 = 0, c2 = 0, c3 = 0, d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  for (let c = 0; c < size; c++) {
    const x0 = keys[k0 + c], x1 = keys[k1 + c], x2 = keys[k2 + c], x3 = keys[k3 + c];
    const a = queries[q0 + c], b = queries[q1 + c], e = queries[q2 + c], d = queries[q3 + c];
    a0 += a * x0; a1 += a * x1; a2 += a * x2; a3 += a * x3;
    b0 += b * x0; b1 += b * x1; b2 += b * x2; b3 += b * x3;
    c0 += e * x0; c1 += e * x1; c2 += e * x2; c3 += e * x3;
    d0 += d * x0; d1 += d * x1; d2 += d * x2; d3 += d * x3;
  }
  block[0] = a0; block[1] = a1; block[2] = a2; block[3] = a3;
  block[4] = b0; block[5] = b1; block[6] = b2; block[7] = b3;
  block[8] = c0; block[9] = c1; block[10] = c2; block[11] = c3;
  block[12] = d0; block[13] = d1; block[14] = d2; block[15] = d3;
}

// Logarithms of the sums that the softmax divides by.
function normalizersOf(scores, cap, sink, first, last) {
  let n = 0;
  return first.map((from, i) => {
    const end = n + last[i] - from + 1;
    let largest = sink ?? -Infinity;
    for (let at = n; at < end; at++) largest = Math.max(largest, cap(scores[at]));
    let sum = sink === undefined ? 0 : Math.exp(sink - largest);
    for (; n < end; n++) sum += Math.exp(cap(scores[n]) - largest);
    return largest + Math.log(sum);
  });
}
