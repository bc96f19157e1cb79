// What the integers of an attention/4 file without queries and keys say nearly of terms, cell by cell. The
// twin of Cells in report/datasets/formats/attention.py.

import { readRice } from "./rice.js";

export function nearCells({ terms }, { first, last, start }) {
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
