// A chart as a Vega-Lite specification that needs nothing else: its data are inside, its params
// stand where the reader has put them, and its colours are the light ones. It opens wherever
// Vega-Lite is read, in the Vega editor too.

import { loadJson } from "../data/loading.js";
import { source } from "../reader/address.js";

export async function specification(chart) {
  const { report } = chart;
  const found = structuredClone(await loadJson(addressOf(chart)));
  const { width, height } = sizeOf(chart);
  const datasets = { ...found.datasets };
  for (const name of report.data.datasets) datasets[name] = chart.shown.datasets[name] ?? [];
  if (chart.shown.picture) datasets.map = [{ image: mapOf(chart).src }];
  const params = found.params.map((param) => standing(param, chart.view));
  const ink = params.find(({ name }) => name === "ink");
  if (ink) ink.value = report.ink.light;
  const usermeta = { figure: report.figure, source: source() };
  return { ...found, width, height, background: "white", params, datasets, usermeta };
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

// An attention map's picture in light colours, one pixel a cell: a canvas, its `src` a data URL.
export function mapOf({ shown: { map, picture }, report }) {
  const { size } = map;
  const canvas = Object.assign(document.createElement("canvas"), { width: size, height: size });
  const pixels = picture(report.ramp.light);
  canvas.getContext("2d").putImageData(new ImageData(pixels, size, size), 0, 0);
  return Object.assign(canvas, { src: canvas.toDataURL() });
}
