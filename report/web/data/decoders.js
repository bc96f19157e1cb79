// From dataset files to the rows of a chart. Pure functions, the twins of `rows()` in
// report/figures: tests compare the two number by number.
//
// `decode` in a figure's usermeta.report.data names one of them. It is called with the file, the
// labels of the tokens, the values of the controls and usermeta.report, and returns
//   datasets  {name: rows} for the chart
//   signals   params of the chart to set (optional)
//   text      labels by which the text is known, where they are not those of its tokens (optional)
// and for the attention map also its picture (raster.js) and a look-up of single cells; where report.points
// says how a chart is pointed at, `points`, see positions.js and heads.js.
//
// attention_map        of tokens, or of the regions that `by` names of report.regions; shaded by `shade`, "score" where there is no such control; markers {current_token, target_token, kind}; edge {column, row, order}: the
//                      corners of the cells at which a sliding window begins
// table_attention_map  the same, the kind of a marker being the class of its target; report.classes
//                      names them, report.places holds [role, row, column] of each token
// attention_breakdown  points: a target a row, by `sort_idx`; report.axes names two or three terms;
//                      each as it is under its name, and less its smallest value in the row as
//                      height_<term> (two) or, divided by the sum of them, share_<term> (three)
// bias_vs_position     report.lines names the terms; report.by "target": targets {token, token_text,
//                      <term>...}; "distance": distances {distance, pairs, <term>...}; means removed
// received             lines {condition, position, mean, standard_error, low, high}: report.lines names
//                      the conditions; report.cut: only positions of the first one
// effects              cells {layer, head, and each measure with its error}: report.condition
// looked_at, mattered  maps of a head's probabilities and of its effects by target; report.labels,
//                      report.asked and report.scales are of all texts, by `sentence`, 0 where there is one
// attention_change     a head in two models, or what changed from one to the other, by `shows`; markers on
//                      cells that changed by report.least; report.names: what the models are called
// tables               every table of a table/1 file

import * as conditions from "./conditions.js";
import { changed, changeOf, tellChange } from "./change.js";
import { effectsByTarget } from "./prediction.js";
import { byDistance, byTarget, spread } from "./profiles.js";
import { drawn, ENDS, isMany, wholeOf, withEnds } from "./raster.js";
import { labelled, rows } from "./records.js";
import { ofRegions } from "./regions.js";
import { attention } from "./shard.js";

const MOST_POINTS = 1024; // of a figure that has a point a token

export const decoders = {
  attention_map: (shard, tokens, { shade: told = "score", by } = {}, { regions } = {}) => {
    if (regions?.[by]) return mapOfRegions(ofRegions(attention(shard), regions[by].firsts), by, regions[by]);
    const map = attention(shard);
    const look = { of: told };
    const markers = (part, target = map.target) => markersOf(shard.marker_count, part, target);
    return {
      // of many cells, markers are asked for where they are drawn
      datasets: { markers: isMany(map, wholeOf(map)) ? [] : markers(wholeOf(map)), edge: edge(map), cursor: [] },
      // of many cells, to be asked for once a worker has told them
      signals: {
        get shade_low() { return withEnds(map, look).low; },
        get shade_high() { return withEnds(map, look).high; },
      },
      markers,
      // of a part, in at most so many pixels, [across, down]; see raster.js
      picture: (part, pixels) => drawn(map, look, part, pixels),
      cell: (i, j) => cell(map, tokens, i, j),
      map,
      look,
    };
  },

  table_attention_map: (shard, tokens, state, { classes, places }) => {
    const shown = decoders.attention_map(shard, tokens, state);
    const named = (i, j) => classes[targetClass(places, i, j)];
    const classed = (markers) => {
      for (const marker of markers) marker.kind = named(marker.current_token, marker.target_token);
      return markers;
    };
    classed(shown.datasets.markers);
    const markers = (...part) => classed(shown.markers(...part));
    return { ...shown, markers, cell: (i, j) => ({ ...shown.cell(i, j), class: named(i, j) }) };
  },

  attention_breakdown: (shard, tokens, { sort_idx: k }, { axes }) => {
    const map = attention(shard);
    const points = [];
    for (const i of spread(map, MOST_POINTS)) {
      const j = map.target(i, k);
      if (j < 0) continue;
      const rows = axes.map((name) => (map.terms[name] ? map.termRow(name, i) : [0]));
      const at = (row) => row[Math.min(j - map.first[i], row.length - 1)]; // a missing term is 0
      const shifted = rows.map((row) => at(row) - least(row));
      const total = shifted.reduce((sum, value) => sum + value, 0);
      if (total <= 0) continue;
      const point = {
        current_token: i, current_text: tokens[i],
        target_token: j, target_text: tokens[j],
        distance: i - j, probability: map.probability(i, j),
      };
      axes.forEach((name, n) => (point[name] = at(rows[n])));
      axes.forEach((name, n) => {
        if (axes.length === 2) point[`height_${name}`] = shifted[n];
        else point[`share_${name}`] = shifted[n] / total;
      });
      points.push(point);
    }
    return { datasets: { points } };
  },

  bias_vs_position: (shard, tokens, state, { by, lines }) => {
    const map = attention(shard);
    if (by === "distance") return { datasets: { distances: rows(byDistance(map, lines)) } };
    const token = tokens.map((_, n) => n);
    return { datasets: { targets: rows({ token, token_text: tokens, ...byTarget(map, lines) }) } };
  },

  received: (file, texts, { reduction }, report) =>
    conditions.received(file, texts, reduction, report),

  effects: (file, texts, { reduction }, report) =>
    conditions.effects(file, texts, reduction, report),

  looked_at: (file, tokens, { sentence = 0 }, report) => {
    const map = effectsByTarget(file, tokens, report.asked[sentence]);
    const least = ENDS.probability[0];
    const shares = map.list.map(({ probability }) => Math.max(Math.log(probability), least));
    const at = { scores: shares, ends: ENDS.probability, labels: report.labels[sentence] };
    return effectMap(map, at, (i, j) => kind(i, j), "probability");
  },

  mattered: (file, tokens, { sentence = 0 }, report) => {
    const map = effectsByTarget(file, tokens, report.asked[sentence]);
    const scores = map.list.map(({ effect }) => effect);
    const most = Math.max(report.scales[sentence], ...scores.map(Math.abs)) || 1;
    const at = { scores, ends: [-most, most], labels: report.labels[sentence] };
    const [above, below] = Object.keys(report.kinds);
    return effectMap(map, at, (i, j) => (map.at(i, j).effect < 0 ? below : above), "effect");
  },

  attention_change: (file, tokens, { shows }, { names, kinds, least }) => {
    const map = changeOf(file, tokens, shows);
    const markers = shows === "change" ? changed(map, least, Object.keys(kinds)) : [];
    const [low, high] = [-1, 1];
    const look = { of: "score", low, high };
    return {
      datasets: { markers, cursor: [] },
      signals: { shade_low: low, shade_high: high, size: map.size },
      markers: () => markers,
      picture: (part, pixels) => drawn(map, look, part, pixels),
      cell: map.at,
      tell: (i, j) => tellChange(map.at(i, j), names),
      map,
      look,
    };
  },

  tables: (file, tokens) => ({
    datasets: Object.fromEntries(
      Object.entries(file.tables).map(([name, table]) => [name, labelled(table, tokens)]),
    ),
  }),
};

// What a map draws of the attention of regions. by: what they are, "words"; texts: of each
function mapOfRegions(map, by, { firsts, texts }) {
  const look = { of: "probability", firsts };
  const unit = by.slice(0, -1);
  const named = (i) => texts[map.region(i)];
  const middle = (i) => (map.span(i)[0] + map.span(i)[1] - 1) / 2;
  const length = (i) => map.span(i)[1] - map.span(i)[0];
  const markers = (part, target = map.target) => {
    const found = [];
    for (let i = part.top; i < part.top + part.rows; i++) {
      if (map.span(i)[0] !== i || target(i, 0) < 0) continue; // a region has one row of markers
      for (let k = 0; k < map.markers(i); k++) {
        const j = target(i, k);
        const span = Math.min(length(i), length(j));
        found.push({ current_token: middle(i), target_token: middle(j), kind: kind(i, j), span });
      }
    }
    return found;
  };
  const [shade_low, shade_high] = ENDS.probability;
  return {
    datasets: { markers: isMany(map, wholeOf(map)) ? [] : markers(wholeOf(map)), edge: [], cursor: [] },
    signals: { shade: "probability", shade_low, shade_high, labels: Array.from(map.first, (_, i) => named(i)) },
    markers,
    picture: (part, pixels) => drawn(map, look, part, pixels),
    cell: (i, j) => ({
      current_token: i, current_text: named(i), current_last: map.span(i)[1] - 1,
      target_token: j, target_text: named(j), target_last: map.span(j)[1] - 1,
      distance: map.region(i) - map.region(j), backward: map.backward,
      probability: map.probability(i, j), terms: {}, unit,
    }),
    map,
    look,
  };
}

// What a map draws of values of a text's cells; `named` gives a marker's kind, `field` what is marked.
function effectMap(map, { scores, ends: [low, high], labels }, named, field) {
  const markers = map.top(field).map(([i, j]) => ({
    current_token: i, target_token: j, kind: named(i, j),
  }));
  const look = { of: "score", low, high };
  map.row = (i) => scores.slice(map.cell(i, 0), map.cell(i, i) + 1);
  return {
    datasets: { markers, cursor: [] },
    signals: { shade_low: low, shade_high: high, size: map.size, labels },
    markers: () => markers,
    picture: (part, pixels) => drawn(map, look, part, pixels),
    cell: map.at,
    tell: map.tell,
    map,
  };
}

export function kind(current, target) {
  if (target === current) return "the token itself";
  return target === 0 ? "the first token" : "another token";
}

// The marked cells in rows of a part; target(i, k): the k-th largest target of a row, -1 if it is not
// known yet.
function markersOf(counts, { top, rows }, target) {
  const markers = [];
  for (let i = top; i < top + rows; i++) {
    for (let k = 0; k < counts[i]; k++) {
      const j = target(i, k);
      if (j >= 0) markers.push({ current_token: i, target_token: j, kind: kind(i, j) });
    }
  }
  return markers;
}

function edge({ first }) {
  if (first.every((target) => target === 0)) return [];
  const corners = first.flatMap((column, i) => [[column, i], [column, i + 1]]);
  return corners.map(([column, row], order) => ({ column, row, order }));
}

function least(values) {
  let low = Infinity;
  for (const value of values) low = Math.min(low, value);
  return low;
}

function cell(map, tokens, i, j) {
  const { terms, score, capped, probability, backward } = map;
  const values = Object.fromEntries(Object.entries(terms).map(([n, term]) => [n, term(i, j)]));
  return {
    current_token: i, current_text: tokens[i], target_token: j, target_text: tokens[j],
    distance: i - j, backward, score: capped(i, j), probability: probability(i, j), terms: values,
    uncapped: map.shard.softcap ? score(i, j) : undefined,
  };
}

// The class of a target token in a table, seen from the current token. The twin of
// report/datasets/formats/token_classes.py.
const [FIRST, HEADER, DELIMITER, OWN_CELL, SAME_COLUMN, OTHER_CELLS, OTHER] = [0, 1, 2, 3, 4, 5, 6];

// A place in the list of classes. places: [role, row, column] of each token.
function targetClass(places, current, target) {
  if (target === 0) return FIRST;
  const [role, row, column] = places[target];
  if (role === "header") return HEADER;
  if (role === "delimiter") return DELIMITER;
  if (role !== "value") return OTHER;
  const [, here, same] = places[current];
  if (column === same && row === here) return OWN_CELL;
  return column === same && row < here ? SAME_COLUMN : OTHER_CELLS;
}
