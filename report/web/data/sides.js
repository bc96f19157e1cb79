// Queries and keys of an attention/4 file: as they were before rotation, and rotated. The twin of
// report/datasets/formats/sides.py and of Products in attention.py.
//
// Four tokens are a block, in which the four of each component lie side by side: what is multiplied
// together is then read one after the other, in half the time. The last block is filled up with zeros.

import { readRice } from "./rice.js";

// Where the first component of a token is; the others follow, each BLOCK further on.
const BLOCK = 4;
const placeOf = (token, components) => (token & -BLOCK) * components + (token & (BLOCK - 1));

// Of each term that is not the rest, which parts of queries and keys it is the product of; of `null`,
// all terms together.
const PARTS = {
  null: ["turned", "turned"],
  content: ["plain", "plain"],
  content_position: ["own", "place"],
  position_content: ["place", "own"],
  position_position: ["place", "place"],
};

// What queries and keys say nearly of terms. The keys are those of a keys/1 file, which are read once
// for all heads that share them.
export function productsOf({ queries, keys, tokens }) {
  const turns = turnsOf(keys.frequencies, tokens);
  if (!known.has(keys)) known.set(keys, sideOf(keys, tokens, turns));
  const [query, key] = [sideOf(queries, tokens, turns), known.get(keys)];
  const { components } = query;
  const parts = (name) => [query[PARTS[name][0]], key[PARTS[name][1]]];
  return {
    ...offsetsOf(tokens, query, key),
    cell: (name, i, j) => dot(...parts(name), components, i, j),
    rows: (name, some, from, to) => fourRows(...parts(name), components, some, from, to),
  };
}

const known = new WeakMap(); // keys/1 file -> its keys
let last = {}; // what was found last of how pairs turn: one for all layers of most models

// What each pair of each token is turned by: the cosine and the sine of its angle, side by side.
function turnsOf(frequencies, tokens) {
  const of = JSON.stringify([frequencies, tokens]);
  if (last.of === of) return last;
  const pairs = frequencies.length;
  const turns = new Float64Array(2 * pairs * tokens);
  for (let i = 0, n = 0; i < tokens; i++) {
    for (let pair = 0; pair < pairs; pair++) {
      turns[n++] = Math.cos(i * frequencies[pair]);
      turns[n++] = Math.sin(i * frequencies[pair]);
    }
  }
  return (last = { of, pairs, turns });
}

function sideOf({ components, step, bias, place, ...rest }, tokens, turns) {
  const plain = valuesOf(rest, components, step, tokens);
  const parts = {};
  if (place) {
    parts.place = valuesOf(place, components, step, tokens);
    parts.own = plain.map((value, n) => value - parts.place[n]);
  }
  const turned = turnedOf(plain, components, bias, turns, tokens);
  return { components, bias, plain, turned, ...parts };
}

function valuesOf({ middles, integers }, components, step, tokens) {
  const numbers = readRice(integers, components, tokens);
  const values = new Float64Array(components * BLOCK * Math.ceil(tokens / BLOCK));
  for (let c = 0, n = 0; c < components; c++) {
    const middle = middles[c];
    for (let i = 0; i < tokens; i++, n++) {
      values[placeOf(i, components) + BLOCK * c] = (numbers[n] + middle) * step;
    }
  }
  return values;
}

function turnedOf(plain, components, bias, { pairs, turns }, tokens) {
  const turned = plain.slice();
  for (let i = 0, n = 0; i < tokens; i++) {
    const at = placeOf(i, components);
    if (bias) for (let c = 0; c < components; c++) turned[at + BLOCK * c] += bias[c];
    for (let pair = 0, c = at; pair < pairs; pair++, c += 2 * BLOCK, n += 2) {
      const [a, b] = [turned[c], turned[c + BLOCK]];
      turned[c] = a * turns[n] - b * turns[n + 1];
      turned[c + BLOCK] = b * turns[n] + a * turns[n + 1];
    }
  }
  return turned;
}

// What the biases of queries, and of keys, add to the plain product: of the target, of the current
// token.
function offsetsOf(tokens, query, key) {
  const [ofTarget, ofCurrent] = [new Float64Array(tokens), new Float64Array(tokens)];
  const add = (sums, { plain, components }, weights, plus) => {
    for (let i = 0; i < tokens; i++) {
      const at = placeOf(i, components);
      for (let c = 0; c < components; c++) {
        sums[i] += (plain[at + BLOCK * c] + (plus?.[c] ?? 0)) * weights[c];
      }
    }
  };
  if (query.bias) add(ofTarget, key, query.bias);
  if (key.bias) add(ofCurrent, query, key.bias, query.bias);
  return { ofTarget, ofCurrent };
}

// The product of one query and one key.
function dot(queries, keys, components, i, j) {
  let sum = 0;
  let [q, k] = [placeOf(i, components), placeOf(j, components)];
  for (let c = 0; c < components; c++, q += BLOCK, k += BLOCK) sum += queries[q] * keys[k];
  return sum;
}

// The products of four queries and all keys from one to another: four lists, which begin at the
// first key of a block (the same for all) and hold until the next call. Four keys at a time too, since reading a number
// takes as long as multiplying it.
function fourRows(queries, keys, components, rows, from, to) {
  const begin = from & -BLOCK;
  const length = BLOCK * components;
  makeRoom(to + BLOCK - begin, length);
  rows.forEach((row, n) => {
    const at = placeOf(row, components);
    for (let c = 0; c < length; c += BLOCK) four[c + n] = queries[at + c];
  });
  const [f0, f1, f2, f3] = found;
  for (let j = begin, n = 0, k = begin * components; j <= to; j += 4, n += 4) {
    let a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
    let c0 = 0, c1 = 0, c2 = 0, c3 = 0, d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    for (let c = 0; c < length; c += 4, k += 4) {
      const x0 = keys[k], x1 = keys[k + 1], x2 = keys[k + 2], x3 = keys[k + 3];
      const a = four[c], b = four[c + 1], e = four[c + 2], d = four[c + 3];
      a0 += a * x0; a1 += a * x1; a2 += a * x2; a3 += a * x3;
      b0 += b * x0; b1 += b * x1; b2 += b * x2; b3 += b * x3;
      c0 += e * x0; c1 += e * x1; c2 += e * x2; c3 += e * x3;
      d0 += d * x0; d1 += d * x1; d2 += d * x2; d3 += d * x3;
    }
    f0[n] = a0; f0[n + 1] = a1; f0[n + 2] = a2; f0[n + 3] = a3;
    f1[n] = b0; f1[n + 1] = b1; f1[n + 2] = b2; f1[n + 3] = b3;
    f2[n] = c0; f2[n + 1] = c1; f2[n + 2] = c2; f2[n + 3] = c3;
    f3[n] = d0; f3[n + 1] = d1; f3[n + 2] = d2; f3[n + 3] = d3;
  }
  return { begins: rows.map(() => begin), found };
}

let found = []; // lists of products, used again and again: new ones would keep a collector busy
let four = []; // the queries of a call, as a block

function makeRoom(keys, numbers) {
  if (!(found[0]?.length >= keys)) found = [0, 1, 2, 3].map(() => new Float64Array(keys));
  if (four.length !== numbers) four = new Float64Array(numbers);
}
