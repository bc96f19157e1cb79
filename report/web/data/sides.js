// Queries and keys of an attention/4 file: as they were before rotation, and rotated. The twin of
// report/datasets/formats/sides.py and of Products in factored.py.

import { readRice } from "./rice.js";

// The components of a token lie side by side; behind the last token are zeros, up to a multiple of
// four. keys: those of a keys/1 file, which are read once for all heads that share them.
export function sidesOf({ queries, keys, tokens }) {
  if (!known.has(keys)) known.set(keys, keysOf(keys, tokens));
  const { turns, side } = known.get(keys);
  const query = sideOf(queries, tokens, turns);
  return { components: query.components, query, key: side, ...offsetsOf(tokens, query, side) };
}

const known = new WeakMap(); // keys/1 file -> its keys, and how pairs turn

function keysOf(keys, tokens) {
  const turns = turnsOf(keys.frequencies, tokens);
  return { turns, side: sideOf(keys, tokens, turns) };
}

// What each pair of each token is turned by: the cosine and the sine of its angle, side by side.
function turnsOf(frequencies, tokens) {
  const pairs = frequencies.length;
  const turns = new Float64Array(2 * pairs * tokens);
  for (let i = 0, n = 0; i < tokens; i++) {
    for (let pair = 0; pair < pairs; pair++) {
      turns[n++] = Math.cos(i * frequencies[pair]);
      turns[n++] = Math.sin(i * frequencies[pair]);
    }
  }
  return { pairs, turns };
}

function sideOf({ components, middles, integers, step, bias }, tokens, turns) {
  const numbers = readRice(integers, components, tokens);
  const plain = new Float64Array(components * 4 * Math.ceil(tokens / 4));
  for (let c = 0, n = 0; c < components; c++) {
    for (let i = 0; i < tokens; i++, n++) plain[i * components + c] = (numbers[n] + middles[c]) * step;
  }
  return { components, bias, plain, turned: turnedOf(plain, components, bias, turns, tokens) };
}

function turnedOf(plain, components, bias, { pairs, turns }, tokens) {
  const turned = plain.slice();
  for (let i = 0, n = 0; i < tokens; i++) {
    const at = i * components;
    if (bias) for (let c = 0; c < components; c++) turned[at + c] += bias[c];
    for (let c = at; c < at + 2 * pairs; c += 2, n += 2) {
      const [a, b] = [turned[c], turned[c + 1]];
      turned[c] = a * turns[n] - b * turns[n + 1];
      turned[c + 1] = b * turns[n] + a * turns[n + 1];
    }
  }
  return turned;
}

// What the biases of queries, and of keys, add to the plain product: of the target, of the current
// token.
function offsetsOf(tokens, query, key) {
  const [ofTarget, ofCurrent] = [new Float64Array(tokens), new Float64Array(tokens)];
  const add = (sums, side, weights, plus) => {
    for (let i = 0; i < tokens; i++) {
      for (let c = 0; c < side.components; c++) {
        sums[i] += (side.plain[i * side.components + c] + (plus?.[c] ?? 0)) * weights[c];
      }
    }
  };
  if (query.bias) add(ofTarget, key, query.bias);
  if (key.bias) add(ofCurrent, query, key.bias, query.bias);
  return { ofTarget, ofCurrent };
}

// The product of one query and one key.
export function dot(queries, keys, size, i, j) {
  let sum = 0;
  for (let c = 0, q = i * size, k = j * size; c < size; c++) sum += queries[q + c] * keys[k + c];
  return sum;
}

// The products of four queries and all keys from one to another: four lists, which begin at the
// first key that is a multiple of four. Four keys at a time too, since reading a number takes as
// long as multiplying it.
export function fourRows(queries, keys, size, rows, from, to) {
  const begin = from - (from % 4);
  const found = rows.map(() => new Float64Array(4 * Math.ceil((to + 1 - begin) / 4)));
  const [f0, f1, f2, f3] = found;
  const [q0, q1, q2, q3] = rows.map((row) => row * size);
  for (let j = begin, n = 0; j <= to; j += 4, n += 4) {
    const k0 = j * size, k1 = k0 + size, k2 = k1 + size, k3 = k2 + size;
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
    f0[n] = a0; f0[n + 1] = a1; f0[n + 2] = a2; f0[n + 3] = a3;
    f1[n] = b0; f1[n + 1] = b1; f1[n + 2] = b2; f1[n + 3] = b3;
    f2[n] = c0; f2[n + 1] = c1; f2[n + 2] = c2; f2[n + 3] = c3;
    f3[n] = d0; f3[n + 1] = d1; f3[n + 2] = d2; f3[n + 3] = d3;
  }
  return { begin, found };
}
