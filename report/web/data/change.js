// The attention of one head in two models over one text, attention-pair/1, as functions of a cell. The
// twin of attention_pair.py in report/datasets/formats, and of report/figures/attention_change.py.

import { attention } from "./shard.js";
import { gives, percent } from "./shares.js";

// shows: "reference", "model", or "change", the model less the reference
export function changeOf({ reference, model }, tokens, shows) {
  const map = attention(reference);
  const { size, first, last, cell } = map;
  // one after the other: the rows of only one map are kept
  const [before, now] = [map, attention(model)].map((each) => probabilities(each, size, first, last));
  const change = now.map((share, n) => share - before[n]);
  const values = { reference: before, model: now, change }[shows];
  return {
    size, first, last, cell, sees: map.sees, backward: map.backward, before, now, change,
    normalizer: () => 0, // a picture takes values as they are
    probability: (i, j) => Math.abs(values[cell(i, j)]),
    row: (i) => values.slice(cell(i, first[i]), cell(i, last[i]) + 1).map(stretched),
    at: (i, j) => ({
      current_token: i, current_text: tokens[i], target_token: j, target_text: tokens[j],
      distance: i - j, probability: now[cell(i, j)], before: before[cell(i, j)],
      change: change[cell(i, j)], terms: {},
    }),
  };
}

function probabilities({ probability }, size, first, last) {
  const found = [];
  for (let i = 0; i < size; i++) {
    for (let j = first[i]; j <= last[i]; j++) found.push(probability(i, j));
  }
  return found;
}

// So that small changes are seen beside large ones.
const stretched = (value) => Math.sign(value) * Math.sqrt(Math.abs(value));

// The cells that changed by at least so much, of a kind each.
export function changed({ size, first, last, cell, change }, least, [gained, lost]) {
  const found = [];
  for (let i = 0; i < size; i++) {
    for (let j = first[i]; j <= last[i]; j++) {
      const value = change[cell(i, j)];
      if (Math.abs(value) < least) continue;
      found.push({ current_token: i, target_token: j, kind: value > 0 ? gained : lost });
    }
  }
  return found;
}

const token = (index, text) => `${index}  “${text}”`;

// What a tooltip says of a cell, the sentence first. names: {reference, model}, what they are called
export function tellChange(cell, names) {
  const sign = cell.change < 0 ? "−" : "+";
  return {
    title: gives(cell),
    [names.reference]: percent(cell.before, 1),
    [names.model]: percent(cell.probability, 1),
    change: `${sign}${percent(Math.abs(cell.change), 1)}`,
    "current token": token(cell.current_token, cell.current_text),
    "target token": token(cell.target_token, cell.target_text),
  };
}
