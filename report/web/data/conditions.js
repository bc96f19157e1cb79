// Datasets of a study of conditions (received/1 and effects.json) as rows of charts and lines of
// tooltips. The twins of `rows` in report/figures/parts/received_numbers.py and of `cells` in
// filler_effect.py. Positions, layers and heads are indices from 0.

import { known, records } from "./records.js";

// Decimals of a number that is a multiple of `step`.
const digits = (step) => Math.ceil(-Math.log10(step) - 1e-9);
const sum = (a, b) => (a === null || b === null ? null : a + b);

// The lines of a chart, one per condition, and its points, the positions.
// file: received/1 of a head; texts: conditions.json; lines: [{condition, label}]; cut: whether
// positions are those of the first condition, which leaves out what others add; noun: names what
// the last one adds
export function received(file, texts, reduction, { lines, cut, noun }) {
  const shown = lines.map(({ condition, label }) => {
    const text = texts.conditions.find((each) => each.name === condition);
    const { mean, standard_error } = file.conditions[condition][reduction];
    const places = cut ? text.positions : mean.map((_, place) => place);
    const value = (steps, place) => (place < 0 ? null : known(steps[place], file.step));
    const rows = places.map((place, position) => {
      const [weight, error] = [mean, standard_error].map((steps) => value(steps, place));
      const [low, high] = [sum(weight, error === null ? null : -error), sum(weight, error)];
      return { condition, position, mean: weight, standard_error: error, low, high };
    });
    return { label, text, places, rows };
  });
  return {
    datasets: { lines: shown.flatMap(({ rows }) => rows) },
    // where the tokens of the prompt without additions are: the same for additions of one length
    text: [...texts.conditions[0].tokens, ...shown.at(-1).text.positions],
    points: {
      positions: Math.max(...shown.map(({ rows }) => rows.length)),
      tell: (position) => tooltip(position, shown, texts, { cut, noun }, digits(file.step)),
      mark: (position) => positionsOf(position, shown.at(-1).text, cut),
    },
  };
}

// The tooltip of a position: its token in the first prompt, and the weight in each condition.
function tooltip(position, shown, texts, { cut, noun }, decimals) {
  const here = shown.filter(({ rows }) => rows[position]?.mean != null);
  if (!here.length) return null;
  const tokens = here.map(({ text, places }) => text.tokens[places[position]]);
  const same = tokens.every((token) => token === tokens[0]);
  const shorter = "none, the first prompt is shorter";
  const quoted = (token) => (token === undefined ? shorter : `“${token}”`);
  const lines = { position };
  if (same) lines.token = quoted(tokens[0]);
  else here.forEach(({ label }, n) => (lines[`token, ${label}`] = quoted(tokens[n])));
  for (const { label, rows } of here) {
    const { mean, standard_error: error } = rows[position];
    lines[label] = spread(mean, error, decimals);
  }
  const { text, places } = here[0];
  if (texts.prompts > 1) lines["±"] = `one standard error, ${count(text.counts[places[position]])}`;
  for (const { label, text, places } of here) {
    const over = text.crossings.find((each) => !each.prompt && each.token === places[position]);
    if (over) lines[same ? "over the edge" : `over the edge, ${label}`] = edge(over);
  }
  const added = shown.at(-1).text.segments.find(({ name }) => name === shown.at(-1).text.added);
  if (!cut && added) {
    lines[`in the ${noun}`] = position >= added.first && position <= added.last ? "yes" : "no";
  }
  return lines;
}

// The two segments that a token lies in; names of report/inputs/conditions.py -> words for readers.
const NAMES = { system: "instruction", filler: "addition" };
const segment = (name) => (name.startsWith("template") ? "chat template" : (NAMES[name] ?? name));
const edge = ({ before, after }) => `of the ${segment(before)} and the ${segment(after)}`;

const count = (prompts) => (prompts === 1 ? "1 prompt has it" : `${prompts} prompts`);

function spread(mean, error, decimals) {
  const fixed = (value) => value.toFixed(decimals).replace("-", "−");
  return error === null ? fixed(mean) : `${fixed(mean)} ± ${fixed(error)}`;
}

// The positions of a token in the last condition and, as "original", in the first one; -1 for none.
function positionsOf(position, text, cut) {
  if (!cut) return { position, original: text.positions.indexOf(position) };
  return { position: text.positions[position] ?? -1, original: position };
}

// The cells of a map of heads, and their tooltips.
// file: effects.json; names: {column: label}
export function effects(file, texts, reduction, { condition, names }) {
  const table = file.tables.effects;
  const cells = records(table)
    .filter((row) => row.condition === condition && row.rows === reduction)
    .map((row) => ({
      layer: row.layer,
      head: row.head,
      taken: row.lambda === null ? null : 1 - row.lambda,
      taken_error: row.lambda_error,
      total_variation: row.total_variation,
      total_variation_error: row.total_variation_error,
    }));
  const find = ([layer, head]) => cells.find((each) => each.layer === layer && each.head === head);
  const decimals = digits(table.columns.lambda.step);
  return {
    datasets: { cells },
    points: {
      layers: 1 + Math.max(...cells.map(({ layer }) => layer)),
      heads: 1 + Math.max(...cells.map(({ head }) => head)),
      tell: (item) => {
        const cell = find(item);
        if (!cell) return null;
        const lines = { title: `L${cell.layer}H${cell.head}` };
        for (const [name, label] of Object.entries(names)) {
          const error = cell[`${name}_error`];
          lines[label] = cell[name] === null ? "not known" : spread(cell[name], error, decimals);
        }
        if (texts.prompts > 1) lines["±"] = `one standard error, ${count(texts.prompts)}`;
        return lines;
      },
    },
  };
}
