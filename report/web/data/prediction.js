// prediction-head/1, the file of one head on a text, as functions of a cell: current token i, which
// predicts, and target token j. The twin of prediction_head.py in report/datasets/formats.

import { gives } from "./shares.js";

const HALF = 0.5; // targets that together have this part of a row are marked
const MOST = 11; // of them

// tokens: their texts; asked: what each row asks for, in words
export function effectsByTarget({ rows, step, share_step, effect, probability }, tokens, asked) {
  const list = [];
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j <= i; j++) {
      const n = list.length;
      list.push({
        current_token: i, current_text: tokens[i], target_token: j, target_text: tokens[j],
        distance: i - j, backward: true, terms: {}, asked: asked[i],
        probability: probability[n] * share_step, effect: effect[n] * step,
      });
    }
  }
  const cell = (i, j) => (i * (i + 1)) / 2 + j;
  const at = (i, j) => list[cell(i, j)];
  const every = Array.from({ length: rows }, (_, n) => n);
  return {
    size: rows, first: every.map(() => 0), last: every, list, cell, at,
    normalizer: () => 0, // a picture takes values as they are
    probability: (i, j) => at(i, j).probability,
    sees: (i, j) => i >= 0 && i < rows && j >= 0 && j <= i,
    top: (field) => every.flatMap((i) => top(list.slice(cell(i, 0), cell(i, i) + 1), field)),
    tell: (i, j) => told(at(i, j)),
  };
}

// The fewest targets of a row that together have half of a field, whatever its sign: [[i, j]].
function top(row, field) {
  const size = (cell) => Math.abs(cell[field]);
  const half = HALF * row.reduce((sum, cell) => sum + size(cell), 0);
  const found = [];
  let reached = 0;
  for (const cell of [...row].sort((one, other) => size(other) - size(one)).slice(0, MOST)) {
    if (reached >= half) break;
    found.push([cell.current_token, cell.target_token]);
    reached += size(cell);
  }
  return found;
}

const token = (index, text) => `${index}  “${text}”`;

function told(cell) {
  const sign = cell.effect > 0 ? "+" : "";
  return {
    title: gives(cell),
    "direct effect": sign + cell.effect.toFixed(3).replace("-", "−"),
    "asked for": cell.asked,
    "current token": token(cell.current_token, cell.current_text),
    "target token": token(cell.target_token, cell.target_text),
  };
}
