// The attention of regions, such as words, out of that of tokens: what one gives to another is the
// probability of all tokens of the other together, the mean over its own tokens. All tokens of a region
// are alike, so that a map has the same places as one of tokens. The twin of `of_regions` in
// report/datasets/formats/attention.py.
//
// A row is worked out when it is asked for.

import { RANKS } from "./ranking.js";

const LEAST = -700; // the logarithm of a share, at least: of none there is no logarithm

// map: of tokens, see shard.js; firsts: the first token of each region
export function ofRegions(map, firsts) {
  const { size, backward, shard } = map;
  const end = (n) => firsts[n + 1] ?? size;
  const region = new Int32Array(size);
  firsts.forEach((first, n) => region.fill(n, first, end(n)));
  const over = (n, of, most) => most(...Array.from({ length: end(n) - firsts[n] }, (_, k) => of[firsts[n] + k]));
  const from = firsts.map((_, n) => region[over(n, map.first, Math.min)]);
  const to = firsts.map((_, n) => region[over(n, map.last, Math.max)]);
  const rows = new Map(); // region -> {shares of its visible regions, targets}
  const of = (i) => {
    const n = region[i];
    if (!rows.has(n)) rows.set(n, rowOf(n));
    return rows.get(n);
  };

  function rowOf(n) {
    const shares = new Float64Array(to[n] - from[n] + 1);
    const own = new Float64Array(shares.length); // of one token, added up by itself as in Python
    for (let i = firsts[n]; i < end(n); i++) {
      own.fill(0);
      for (let j = map.first[i]; j <= map.last[i]; j++) own[region[j] - from[n]] += map.probability(i, j);
      for (let k = 0; k < own.length; k++) shares[k] += own[k];
    }
    const tokens = end(n) - firsts[n];
    for (let k = 0; k < shares.length; k++) shares[k] /= tokens;
    const order = [...shares.keys()].sort((a, b) => shares[b] - shares[a] || a - b).slice(0, RANKS);
    let [marked, sum] = [0, 0];
    while (marked < order.length && sum < 0.5) sum += shares[order[marked++]];
    return { shares, targets: order.map((k) => firsts[from[n] + k]), marked };
  }

  const probability = (i, j) => of(i).shares[region[j] - from[region[i]]];
  const capped = (i, j) => Math.max(Math.log(probability(i, j)), LEAST);
  const first = Array.from(region, (n) => firsts[from[n]]);
  const last = Array.from(region, (n) => end(to[n]) - 1);
  return {
    shard, size, backward, first, last, probability, capped,
    region: (i) => region[i],
    span: (i) => [firsts[region[i]], end(region[i])], // of the tokens that one is among
    row: (i) => Float64Array.from({ length: last[i] - first[i] + 1 }, (_, k) => capped(i, first[i] + k)),
    normalizer: () => 0,
    sees: (i, j) => i >= 0 && i < size && j >= first[i] && j <= last[i],
    cell: (i, j) => firsts[region[Math.floor(i)]] * size + firsts[region[Math.floor(j)]],
    target: (i, k) => of(i).targets[k] ?? -1,
    markers: (i) => (firsts[region[i]] === i ? of(i).marked : 0),
  };
}
