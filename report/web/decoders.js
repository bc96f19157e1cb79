// From dataset files to the rows of a chart. Pure functions, the twins of `rows()` in
// report/figures: tests compare the two number by number.

// attention/1 -> the terms and probability of every cell (current token i, target token j <= i)
export function attention(shard) {
  const terms = {};
  for (const [name, { per, step, values }] of Object.entries(shard.terms)) {
    terms[name] =
      per === "cell" ? (i, j) => values[(i * (i + 1)) / 2 + j] * step
      : per === "target" ? (i, j) => values[j] * step
      : (i, j) => values[j] * step - values[i] * step;
  }
  const each = Object.values(terms);
  const score = (i, j) => each.reduce((sum, term) => sum + term(i, j), 0);
  const probability = (i, j) => Math.exp(score(i, j) - shard.log_normalizer[i]);
  const target = (i, k) => shard.largest_targets[i * 11 + k];
  return { shard, size: shard.tokens, terms, score, probability, target };
}

// What a figure's usermeta calls `decode`. Each returns {datasets: {name: rows}, ...}:
// signals to set, and for the attention map its picture and a look-up of single cells.
export const decoders = {
  attention_map: (shard, tokens) => {
    const map = attention(shard);
    const scores = lowerTriangle(map);
    const [low, high] = scoreRange(scores);
    const markers = [];
    shard.marker_count.forEach((count, i) => {
      for (let k = 0; k < count; k++) {
        const j = map.target(i, k);
        markers.push({ current_token: i, target_token: j, kind: kind(i, j) });
      }
    });
    return {
      datasets: { markers, cursor: [] },
      signals: { score_low: low, score_high: high },
      picture: (ramp) => raster(scores, map.size, low, high, ramp),
      cell: (i, j) => cell(map, tokens, i, j),
      size: map.size,
    };
  },

  attention_breakdown: (shard, tokens, { sort_idx: k }) => {
    const { size, terms, probability, target } = attention(shard);
    const names = ["content", "bias", "position"];
    const points = [];
    for (let i = 0; i < size; i++) {
      const j = target(i, k);
      if (j < 0) continue;
      const shifted = names.map((name) => terms[name](i, j) - smallest(terms[name], i));
      const total = shifted.reduce((sum, value) => sum + value, 0);
      if (total <= 0) continue;
      const point = {
        current_token: i, current_text: tokens[i],
        target_token: j, target_text: tokens[j],
        distance: i - j, probability: probability(i, j),
      };
      for (const name of names) point[name] = terms[name](i, j);
      names.forEach((name, n) => (point[`share_${name}`] = shifted[n] / total));
      points.push(point);
    }
    return { datasets: { points } };
  },

  bias_vs_position: (shard, tokens) => {
    const targets = tokens.map((token_text, token) => ({ token, token_text }));
    for (const name of ["bias", "position"]) {
      const { step, values } = shard.terms[name];
      const mean = values.reduce((sum, value) => sum + value * step, 0) / values.length;
      targets.forEach((row) => (row[name] = values[row.token] * step - mean));
    }
    return { datasets: { targets } };
  },

  tables: (file, tokens) => ({
    datasets: Object.fromEntries(
      Object.entries(file.tables).map(([name, table]) => [name, records(table, tokens)]),
    ),
  }),
};

// A table of columns as a list of objects; token indices get their text as a companion.
function records({ rows, columns }, tokens) {
  const records = Array.from({ length: rows }, () => ({}));
  for (const [name, { step, values }] of Object.entries(columns)) {
    const isToken = name === "token" || name === "largest_target";
    records.forEach((record, row) => {
      record[name] = step ? values[row] * step : values[row];
      if (isToken) record[`${name}_text`] = tokens[values[row]];
    });
  }
  return records;
}

export function kind(current, target) {
  if (target === current) return "the token itself";
  return target === 0 ? "the first token" : "another token";
}

function smallest(term, i) {
  let low = Infinity;
  for (let j = 0; j <= i; j++) low = Math.min(low, term(i, j));
  return low;
}

function cell({ terms, score, probability }, tokens, i, j) {
  const values = Object.fromEntries(Object.entries(terms).map(([n, term]) => [n, term(i, j)]));
  return {
    current_token: i, current_text: tokens[i], target_token: j, target_text: tokens[j],
    distance: i - j, score: score(i, j), probability: probability(i, j), terms: values,
  };
}

function lowerTriangle({ size, score }) {
  const scores = new Float64Array((size * (size + 1)) / 2);
  for (let i = 0, n = 0; i < size; i++) for (let j = 0; j <= i; j++) scores[n++] = score(i, j);
  return scores;
}

// The scores of the first and the last colour: two quantiles of at most 8192 cells, for speed.
function scoreRange(scores) {
  const stride = Math.ceil(scores.length / 8192);
  const sample = scores.filter((_, n) => n % stride === 0).sort();
  const [low, high] = [0.02, 0.98].map((part) => sample[Math.trunc(part * (sample.length - 1))]);
  return [low, Math.max(high, low + 1e-6)];
}

// One pixel a cell, RGBA, transparent above the diagonal.
export function raster(scores, size, low, high, ramp) {
  const shades = Array.from({ length: 256 }, (_, n) => shade(ramp, n / 255));
  const pixels = new Uint8ClampedArray(4 * size * size);
  for (let i = 0, n = 0; i < size; i++) {
    for (let j = 0; j <= i; j++, n++) {
      const part = Math.min(1, Math.max(0, (scores[n] - low) / (high - low)));
      pixels.set(shades[Math.round(part * 255)], 4 * (i * size + j));
    }
  }
  return pixels;
}

function shade(ramp, part) {
  const at = part * (ramp.length - 1);
  const low = Math.min(Math.floor(at), ramp.length - 2);
  const [from, to] = [ramp[low], ramp[low + 1]].map((colour) =>
    [1, 3, 5].map((n) => parseInt(colour.slice(n, n + 2), 16)),
  );
  return [...from.map((value, n) => Math.floor(value + (to[n] - value) * (at - low) + 0.5)), 255];
}
