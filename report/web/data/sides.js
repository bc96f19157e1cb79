// Queries and keys of an attention/4 file, before rotation and rotated, and their products. Twin of
// report/datasets/formats/sides.py and of Products in attention.py.
//
// The numbers of a side (queries or keys) are blocks of four tokens, in which the four of each
// component lie side by side: what is multiplied together is then read in order, in half the time.
// The last block is filled up with zeros.

import { readRice } from "./rice.js";

// Index of a token's first component; the others follow, each BLOCK further on.
const BLOCK = 4;
const indexOf = (token, components) => (token & -BLOCK) * components + (token & (BLOCK - 1));

// Term that is not the rest -> the parts of queries and keys whose product it nearly is; null: all
// terms together. position: what positions added to the embeddings make of it; content: the others.
const PARTS = {
  null: ["rotated", "rotated"],
  content: ["plain", "plain"],
  content_position: ["content", "position"],
  position_content: ["position", "content"],
  position_position: ["position", "position"],
};

// Approximate terms of scores. cell(term, query, key): one number; rows: see `fourRows`; ofTarget,
// ofCurrent: see `offsetsOf`. keys: of a keys/1 file, decoded once for all heads that share them.
export function productsOf({ queries, keys, tokens }) {
  const turns = turnsOf(keys.frequencies, tokens);
  if (!keySides.has(keys)) keySides.set(keys, sideOf(keys, tokens, turns));
  const [query, key] = [sideOf(queries, tokens, turns), keySides.get(keys)];
  const { components } = query;
  const parts = (name) => [query[PARTS[name][0]], key[PARTS[name][1]]];
  return {
    ...offsetsOf(tokens, query, key),
    cell: (name, i, j) => dot(...parts(name), components, i, j),
    rows: (name, rows, from, to) => fourRows(...parts(name), components, rows, from, to),
  };
}

const keySides = new WeakMap(); // keys/1 file -> side
let last = {}; // result of the last `turnsOf`: the same for all layers of most models

// Rotation of each pair of components at each token: cosine and sine of its angle, side by side.
function turnsOf(frequencies, tokens) {
  const id = JSON.stringify([frequencies, tokens]);
  if (last.id === id) return last;
  const pairs = frequencies.length;
  const turns = new Float64Array(2 * pairs * tokens);
  for (let i = 0, n = 0; i < tokens; i++) {
    for (let pair = 0; pair < pairs; pair++) {
      turns[n++] = Math.cos(i * frequencies[pair]);
      turns[n++] = Math.sin(i * frequencies[pair]);
    }
  }
  return (last = { id, pairs, turns });
}

function sideOf({ components, step, bias, place, ...rest }, tokens, turns) {
  const plain = valuesOf(rest, components, step, tokens);
  const parts = {};
  if (place) {
    parts.position = valuesOf(place, components, step, tokens);
    parts.content = plain.map((value, n) => value - parts.position[n]);
  }
  const rotated = rotatedOf(plain, components, bias, turns, tokens);
  return { components, bias, plain, rotated, ...parts };
}

function valuesOf({ middles, integers }, components, step, tokens) {
  const numbers = readRice(integers, components, tokens);
  const values = new Float64Array(components * BLOCK * Math.ceil(tokens / BLOCK));
  for (let c = 0, n = 0; c < components; c++) {
    const middle = middles[c];
    for (let i = 0; i < tokens; i++, n++) {
      values[indexOf(i, components) + BLOCK * c] = (numbers[n] + middle) * step;
    }
  }
  return values;
}

// `plain` with bias and rotated.
function rotatedOf(plain, components, bias, { pairs, turns }, tokens) {
  const rotated = plain.slice();
  for (let i = 0, n = 0; i < tokens; i++) {
    const at = indexOf(i, components);
    if (bias) for (let c = 0; c < components; c++) rotated[at + BLOCK * c] += bias[c];
    for (let pair = 0, c = at; pair < pairs; pair++, c += 2 * BLOCK, n += 2) {
      const [a, b] = [rotated[c], rotated[c + BLOCK]];
      rotated[c] = a * turns[n] - b * turns[n + 1];
      rotated[c + BLOCK] = b * turns[n] + a * turns[n + 1];
    }
  }
  return rotated;
}

// What biases add to the plain product: those of queries for each target token (ofTarget), those of
// keys for each current token (ofCurrent).
function offsetsOf(tokens, query, key) {
  const [ofTarget, ofCurrent] = [new Float64Array(tokens), new Float64Array(tokens)];
  const add = (sums, { plain, components }, weights, plus) => {
    for (let i = 0; i < tokens; i++) {
      const at = indexOf(i, components);
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
  let [q, k] = [indexOf(i, components), indexOf(j, components)];
  for (let c = 0; c < components; c++, q += BLOCK, k += BLOCK) sum += queries[q] * keys[k];
  return sum;
}

// Products of the queries of four rows with all keys from one to another: `found`, a list for each
// row until the next call, and `begins`, the key at its index 0, the first of a block. Four keys at a
// time too, since reading a number takes as long as multiplying it.
function fourRows(queries, keys, components, rows, from, to) {
  const begin = from & -BLOCK;
  const length = BLOCK * components;
  makeRoom(to + BLOCK - begin, length);
  rows.forEach((row, n) => {
    const at = indexOf(row, components);
    for (let c = 0; c < length; c += BLOCK) four[c + n] = queries[at + c];
  });
  const [f0, f1, f2, f3] = products;
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
  return { begins: rows.map(() => begin), found: products };
}

let products = []; // four lists, used again and again: new ones would keep a collector busy
let four = []; // the queries of a call, as a block

function makeRoom(keys, numbers) {
  if (!(products[0]?.length >= keys)) products = [0, 1, 2, 3].map(() => new Float64Array(keys));
  if (four.length !== numbers) four = new Float64Array(numbers);
}
