// Which targets each token sees, from its first to its last. The twin of
// report/datasets/formats/visible.py.

export const visibleOf = ({ visible, tokens }) => visible ?? causal(tokens);

function causal(size) {
  const last = Array.from({ length: size }, (_, i) => i);
  return { first: last.map(() => 0), last };
}

// What to add to a target for its place among the visible cells; at the end how many there are.
export function startOfRows(first, last) {
  const start = [];
  let cells = 0;
  for (let i = 0; i < first.length; i++) {
    start.push(cells - first[i]);
    cells += last[i] - first[i] + 1;
  }
  return [...start, cells];
}
