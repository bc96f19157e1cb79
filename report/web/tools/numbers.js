// The numbers that a figure draws now, as tables: for the table view, CSV and JSON.
//
// A table is {panel, name, columns: [field], rows: [{field: number, text or null}]}. Rows are those
// that a decoder gave the chart, without rounding; usermeta.report.shows says which of them are
// drawn: {dataset: [[field, operator, value or "{param}"]]}, all of the datasets if it is missing.
// An attention map is drawn as a picture, so its table has the cells of that.

import { wholeOf } from "../data/raster.js";
import { isChosen, wordsOf } from "../figure/controls.js";

const HOLDS = {
  "=": (value, other) => value === other,
  ">": (value, other) => value > other,
  ">=": (value, other) => value >= other,
};

// whole: of a map, all of it and not only the part that is shown
export function tablesOf(figure, whole = false) {
  const several = figure.charts.length > 1;
  return figure.charts.flatMap((chart, number) => {
    const panel = several ? `${number + 1}. ${chart.title?.textContent ?? ""}`.trim() : "";
    return tablesOfChart(chart, figure.state, whole).map((table) => ({ panel, ...table }));
  });
}

function tablesOfChart({ shown, report, map }, state, whole) {
  if (shown.map) return [cellsOf(shown, whole ? wholeOf(shown.map) : map.part(shown.map))];
  const shows = report.shows ?? Object.fromEntries(report.data.datasets.map((name) => [name, []]));
  return Object.entries(shows).map(([name, conditions]) => {
    const drawn = (row) => conditions.every((condition) => holds(row, condition, state));
    return table(name, shown.datasets[name].filter(drawn));
  });
}

function holds(row, [field, operator, value], state) {
  const [, param] = /^{(\w+)}$/.exec(value) ?? [];
  return HOLDS[operator](row[field], param ? state[param] : value);
}

const table = (name, rows) => ({ name, columns: Object.keys(rows[0] ?? {}), rows });

// Every visible cell of a part of an attention map, row by row, with what its tooltip tells: which
// cell it is, then what one looks for first.
function cellsOf({ map, cell, markers }, part) {
  const marked = new Map(
    markers(part).map((each) => [map.cell(each.current_token, each.target_token), each.kind]),
  );
  const rows = [];
  for (let i = part.top; i < part.top + part.rows; i++) {
    const first = Math.max(map.first[i], part.left);
    const last = Math.min(map.last[i], part.left + part.columns - 1);
    for (let j = first; j <= last; j++) {
      if (map.span && (map.span(i)[0] !== i || map.span(j)[0] !== j)) continue; // of a region once
      const { terms, backward, unit, distance, score, uncapped, asked, ...row } = cell(i, j);
      const more = Object.entries({ distance, score, uncapped, asked });
      const known = more.filter(([, value]) => value !== undefined);
      const kind = (marked.get(map.cell(i, j)) ?? "").replace("token", unit ?? "token");
      rows.push({ ...row, ...Object.fromEntries(known), ...terms, marked: kind });
    }
  }
  return table("cells", rows);
}

const TITLES = {
  layer: "layer (index from 0)",
  head: "head (index from 0)",
  marked: "marked as",
  uncapped: "score before the cap",
};

// What a reader reads above a column; names: of the score's terms, if the figure has them.
export function columnTitle(field, names = {}) {
  const [, lead, term] = /^(share_|height_)?(\w+)$/.exec(field);
  if (term in names) return `${lead ? `${lead.replace("_", " of ")}` : ""}${names[term]} term`;
  return TITLES[field] ?? field.replaceAll("_", " ");
}

// The present values of the controls that a reader sees, in words: ["Layer 2", "Colour: …"].
export function chosen(figure) {
  return seen(figure).map((input) => {
    const range = input.type === "range";
    const place = input.type === "radio" ? input.closest("fieldset") : input.parentElement;
    const label = place.querySelector("span, legend").textContent.trim();
    if (!range) return `${label}: ${wordsOf(input)}`;
    return `${label} ${place.querySelector("output").textContent.trim()}`;
  });
}

// The same for a file's name: ["Layer 2", "measure taken"].
export const chosenShort = (figure) =>
  chosen(figure).map((words, n) => {
    const { type, dataset, value } = seen(figure)[n];
    return type === "range" ? words : `${dataset.param} ${value}`;
  });

const seen = (figure) =>
  figure.inputs.filter((input) =>
    input.type === "range" ? !input.parentElement.hidden : isChosen(input),
  );
