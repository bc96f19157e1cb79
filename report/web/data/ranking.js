// The largest targets of a row. The twin of report/datasets/formats/ranking.py, which says how a file
// tells them.

export const RANKS = 11;
const DEPTH = 42;

// numbers: of the listed targets of the row; scores: of its visible cells, the first that of target
// `first`. Returns so many targets.
export function largestTargets(numbers, scores, first) {
  let furthest = 0;
  for (const number of numbers) if (number < DEPTH) furthest = Math.max(furthest, number);
  const left = highest(scores, first, Math.min(DEPTH, furthest + RANKS));
  const targets = [];
  for (const number of numbers) {
    if (number < DEPTH) targets.push(left.splice(number, 1)[0]);
    else targets.push(number - DEPTH);
  }
  return targets;
}

// The targets of the highest scores of a row; of equal scores the first target comes first.
function highest(scores, first, depth) {
  const targets = [];
  let least = -Infinity; // of those found, once they are as many as that
  for (let n = 0; n < scores.length; n++) {
    const score = Math.fround(scores[n]); // as sums in another order have it, too
    if (score <= least) continue;
    let at = targets.length < depth ? targets.push(0) - 1 : depth - 1;
    for (; at > 0 && best[at - 1] < score; at--) {
      best[at] = best[at - 1];
      targets[at] = targets[at - 1];
    }
    best[at] = score;
    targets[at] = first + n;
    if (targets.length === depth) least = best[depth - 1];
  }
  return targets;
}

const best = new Float64Array(DEPTH); // scores, used again for every row
