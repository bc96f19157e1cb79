// A chart as a Vega-Lite specification that needs nothing else: its data are inside, its params
// stand where the reader has put them, and its colours are the light ones. It opens wherever
// Vega-Lite is read, in the Vega editor too.

import { loadJson } from "../data/loading.js";
import { source } from "../reader/address.js";

// whole: of a map, whether all of it is shown and not only the part that the reader looks at
export async function specification(chart, whole = false) {
  const { report } = chart;
  const found = structuredClone(await loadJson(addressOf(chart)));
  const { width, height } = sizeOf(chart);
  const datasets = { ...found.datasets };
  for (const name of report.data.datasets) datasets[name] = chart.shown.datasets[name] ?? [];
  const params = found.params.map((param) => standing(param, chart.view));
  const set = (name, value) => params.filter((each) => each.name === name).forEach((each) => (each.value = value));
  set("ink", report.ink.light);
  const usermeta = { figure: report.figure, source: source() };
  const page = { ...found, width, height, background: "white", params, datasets, usermeta };
  if (chart.map) placeMap(page, chart, set, whole);
  return page;
}

const ASIDE = 182; // pixels for the legends of a part, which stand beside it

function placeMap(page, chart, set, whole) {
  const { map } = chart;
  const { part, image, markers } = mapOf(chart, whole);
  Object.assign(page.datasets, { map: [{ image: image.toDataURL() }], markers });
  const { top, left, rows, columns } = part;
  const values = { part_top: top, part_left: left, part_rows: rows, part_columns: columns };
  for (const [name, value] of Object.entries(values)) set(name, value);
  const all = rows === chart.shown.map.size;
  set("aside", all ? "" : "right");
  if (all) return;
  page.padding = { left: 4, top: 4, bottom: 4, right: 4 + ASIDE };
  for (const legend of legendsOf(page)) if (legend.title === " ") legend.title = map.shade;
}

function* legendsOf({ layer = [], encoding = {} }) {
  for (const each of layer) yield* legendsOf(each);
  for (const { legend } of Object.values(encoding)) if (legend) yield legend;
}

// A figure with a switch between models has a specification for each.
function addressOf({ element, report, figure }) {
  const address = new URL(element.dataset.spec, figure.page);
  return new URL(report.models?.[figure.state.model] ?? "", address).href;
}

// Of the still picture: about as wide as the chart is on a page.
export function sizeOf(chart) {
  const picture = chart.element.querySelector(".live-figure__picture");
  return { width: Number(picture.getAttribute("width")), height: Number(picture.getAttribute("height")) };
}

function standing(param, view) {
  if (param.name.startsWith("marked_")) return param; // what is pointed at is no state
  if ("value" in param) return { ...param, value: view.signal(param.name) };
  if (!param.select) return param;
  const chosen = view.data(`${param.name}_store`).map(({ fields, values }) =>
    Object.fromEntries(fields.map(({ field }, n) => [field, values[n]])),
  );
  return chosen.length ? { ...param, value: chosen } : param;
}

// An attention map's picture in light colours, as MapDrawing gives it for a file.
export function mapOf({ shown, report, map }, whole) {
  const { ramp, kinds, paper } = report;
  const looks = Object.entries(kinds).map(([kind, [shape, light]]) => [kind, shape, light]);
  return map.forFile(shown, [ramp.light, looks, paper.light], whole);
}
