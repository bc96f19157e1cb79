// The largest targets of every row. The twin of report/datasets/formats/ranking.py, which says how
// a file tells them.

const RANKS = 11;
const DEPTH = 42;

// numbers: of all rows, one after the other; scores: of all visible cells, row by row. Returns 11
// targets a row, -1 where there are no more.
export function largestTargets(numbers, scores, first, last, start) {
  const targets = new Int32Array(first.length * RANKS).fill(-1);
  const best = { scores: new Float64Array(DEPTH), targets: new Int32Array(DEPTH) };
  for (let i = 0, n = 0; i < first.length; i++) {
    const count = Math.min(RANKS, last[i] - first[i] + 1);
    let furthest = 0;
    for (let k = 0; k < count; k++) {
      if (numbers[n + k] < DEPTH) furthest = Math.max(furthest, numbers[n + k]);
    }
    const depth = Math.min(DEPTH, furthest + RANKS);
    const left = [...sorted(scores, first[i], last[i], start[i], best, depth)];
    for (let k = 0; k < count; k++, n++) {
      const number = numbers[n];
      targets[i * RANKS + k] = number < DEPTH ? left.splice(number, 1)[0] : number - DEPTH;
    }
  }
  return targets;
}

// The targets of the highest scores of a row; of equal scores the first target comes first.
function sorted(scores, from, to, start, best, depth) {
  let size = 0;
  for (let j = from; j <= to; j++) {
    const score = scores[start + j];
    if (size === depth && !(score > best.scores[size - 1])) continue;
    let at = size < depth ? size++ : size - 1;
    for (; at > 0 && best.scores[at - 1] < score; at--) {
      best.scores[at] = best.scores[at - 1];
      best.targets[at] = best.targets[at - 1];
    }
    best.scores[at] = score;
    best.targets[at] = j;
  }
  return best.targets.subarray(0, size);
}
