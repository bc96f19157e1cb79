// Files that a reader may take away from a figure. They are made in the page, of what the figure
// shows now. Nothing is fetched for them that the figure does not have already, but its
// specification.

import { source } from "../reader/address.js";
import { csv } from "./csv.js";
import { chosenShort, tablesOf } from "./numbers.js";
import { nameOf, png, svg } from "./picture.js";
import { specification } from "./specification.js";

const FILES = {
  csv: async (figure, { whole }) => text(csv(tablesOf(figure, whole)), "text/csv", "csv"),
  json: async (figure, { whole }) => json(numbers(figure, whole), "json"),
  svg: async (figure, { whole }) => text(await svg(figure, whole), "image/svg+xml", "svg"),
  png: async (figure, { whole }) => ({ blob: await png(figure, whole), end: "png" }),
  spec: async (figure, { panel, whole }) =>
    json(await specification(figure.charts[panel], whole), "vl.json"),
};

// Makes a file of a kind of FILES and saves it; panel: of which one, if a figure has several; whole:
// of a map, whether all of it and not only the part that is shown
export async function download(figure, kind, { panel = 0, whole = false } = {}) {
  await settled(figure);
  const { blob, end } = await FILES[kind](figure, { panel, whole });
  const several = kind === "spec" && figure.charts.length > 1 ? `-${panel + 1}` : "";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${fileName(figure)}${several}.${end}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  return link.download;
}

// Resolves when the figure shows what its controls say: numbers may still be on their way.
export function settled(figure) {
  const { element } = figure;
  return new Promise((resolve, reject) => {
    const look = () => JSON.stringify(figure.shows) === JSON.stringify(figure.state) && resolve();
    element.addEventListener("figureshown", look);
    element.addEventListener("figurefailed", () => reject(new Error("its data could not be loaded")));
    look();
  });
}

// The tables of numbers.js, with what they are of; all text as it is, all numbers in full.
function numbers(figure, whole) {
  return {
    figure: figure.element.dataset.figure,
    title: nameOf(figure),
    source: source(figure.fragment()),
    state: figure.state,
    tables: tablesOf(figure, whole),
  };
}

const text = (content, type, end) => ({ blob: new Blob([content], { type: `${type};charset=utf-8` }), end });
const json = (data, end) => text(`${JSON.stringify(data)}\n`, "application/json", end);

function fileName(figure) {
  const words = [figure.element.dataset.figure, ...chosenShort(figure)].join("-");
  return words.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 90);
}
