// A figure as a picture, as the reader has set it: light colours, all panels, its name, the values
// of its controls, and where it is from. The PNG is the SVG, drawn at twice the size.

import { loadLibrary } from "../figure/drawing.js";
import { compiledBy } from "../figure/expressions.js";
import { loadSpec } from "../figure/models.js";
import { source } from "../reader/address.js";
import { chosen } from "./numbers.js";
import { mapOf, sizeOf, specification } from "./specification.js";

const SVG = "http://www.w3.org/2000/svg";
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
const MARGIN = 20;
const GAP = 16; // between panels
const [INK, SOFT] = ["#2a2d34", "#5c626d"];
const STYLES = { name: "700 17px", state: "400 13px", panel: "600 13px", key: "400 13px", source: "400 11px" };
const DASHES = { dash: "7 4", dots: "2 4" };
const FORBIDDEN = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu; // in XML

// The figure as the text of an SVG file.
// whole: see `specification`
export async function svg(figure, whole) {
  const charts = await Promise.all(figure.charts.map((chart, n) => drawn(chart, n, whole)));
  const root = element("svg", { "font-family": FONT });
  const placed = layout(figure, charts);
  const width = placed.width + 2 * MARGIN;
  let y = MARGIN;
  const write = (text, style, fill = INK) => (y = paragraph(root, text, style, fill, width, y));
  write(nameOf(figure), "name");
  const state = chosen(figure).join(", ");
  if (state) write(state, "state", SOFT);
  y += 8;
  for (const item of placed.items) {
    item.setAttribute("transform", `translate(${MARGIN} ${y})`);
    root.append(item);
  }
  y += placed.height + 10;
  write(from(), "source", SOFT);
  const height = Math.ceil(y + MARGIN - 6);
  set(root, { width, height, viewBox: `0 0 ${width} ${height}` });
  root.prepend(element("rect", { width, height, fill: "white" }));
  return new XMLSerializer().serializeToString(root);
}

// The same as a PNG file, two pixels for one.
export async function png(figure, whole) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await svg(figure, whole))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  set(canvas, { width: 2 * image.naturalWidth, height: 2 * image.naturalHeight });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no memory for a picture")))),
  );
}

export const nameOf = (figure) => {
  const caption = figure.element.querySelector("figcaption");
  const words = [".live-figure__number", "strong"].map((each) => caption.querySelector(each));
  return words.map((each) => each?.textContent.trim() ?? "").join(" ");
};

// The article and its address, on the page of the figure alone too.
function from() {
  const title = document.querySelector("h1, .embed__source a")?.firstChild.textContent.trim();
  const page = document.querySelector(".embed__source a")?.href ?? source("");
  return [title, page.replace(/#.*/, "")].filter(Boolean).join(" · ");
}

// A chart drawn anew by Vega, at the size of its still picture. Charts on the page do not change.
async function drawn(chart, number, whole) {
  const view = await viewOf(chart, whole);
  const text = (await view.toSVG()).replace(FORBIDDEN, "\ufffd");
  view.finalize();
  const own = text.replace(/(\bid="|url\(#|href="#)/g, `$1panel${number}-`);
  const found = new DOMParser().parseFromString(own, "image/svg+xml").documentElement;
  return document.importNode(found, true);
}

async function viewOf(chart, whole) {
  const { View, parse, expressionInterpreter } = await loadLibrary();
  const spec = await loadSpec(chart.specAddress, chart.figure.state);
  const { datasets, params, width, height, padding } = await specification(chart, whole);
  const rows = { ...datasets };
  if (chart.map) {
    const { image } = mapOf(chart, whole);
    rows.map = [{ image: Object.assign(image, { src: image.toDataURL() }) }];
  }
  const selected = (name) => (name.endsWith("_store") ? chart.view.data(name) : undefined);
  const data = spec.data.map((each) => {
    const values = rows[each.name] ?? selected(each.name) ?? each.values;
    return values ? { ...each, values } : each;
  });
  // as the page has it beside the plot
  const legends = spec.legends?.map((each) =>
    padding && each.title === " " ? { ...each, title: chart.map.shade } : each,
  );
  const parsed = parse({ ...spec, ...(legends ? { legends } : {}), data }, {}, { ast: true });
  const expr = compiledBy(expressionInterpreter);
  const view = new View(parsed, { renderer: "none", expr, logLevel: 1 });
  view.width(width).height(height);
  if (padding) view.padding(padding);
  const plain = params.filter((param) => "value" in param && !param.select);
  for (const { name, value } of plain) view.signal(name, value);
  return view.runAsync();
}

// Panels in rows as on a wide page, each below its legend and its title.
function layout(figure, charts) {
  const grid = figure.element.querySelector(".live-figure__panels");
  const columns = grid ? Number(getComputedStyle(grid).getPropertyValue("--columns")) : 1;
  const boxes = figure.charts.map((chart) => {
    const panel = chart.element.parentElement;
    const span = Number(getComputedStyle(panel).getPropertyValue("--span")) || 1;
    return { chart, span: Math.min(span, columns), ...sizeOf(chart) };
  });
  const cell = Math.max(...boxes.map(({ width, span }) => (width - GAP * (span - 1)) / span));
  const width = Math.round(cell * columns + GAP * (columns - 1));
  const items = [];
  let [y, used, bottom] = [0, 0, 0];
  boxes.forEach(({ chart, span, width: across, height }, n) => {
    const panel = chart.element.parentElement;
    if (used + span > columns) [y, used] = [bottom + GAP, 0];
    const keys = legendOf(panel);
    if (keys.length) {
      items.push(shifted(legend(keys, width), 0, y));
      y += 26;
    }
    const group = element("g");
    const x = used * (cell + GAP);
    const room = cell * span + GAP * (span - 1);
    const top = chart.title ? paragraph(group, chart.title.textContent, "panel", INK, room + 2 * MARGIN, 0) + 4 : 0;
    set(charts[n], { x: (room - across) / 2, y: top, width: across, height });
    group.append(charts[n]);
    items.push(shifted(group, x, y));
    used += span;
    bottom = Math.max(bottom, y + top + height);
  });
  return { items, width, height: bottom };
}

// The list that stands before a panel, if one does: [{label, mark, colour}].
function legendOf(panel) {
  const list = panel.previousElementSibling;
  if (!list?.matches(".live-figure__legend")) return [];
  return [...list.children].map((key) => ({
    label: key.textContent.trim(),
    mark: /live-figure__key--(\w+)/.exec(key.className)?.[1],
    colour: key.style.getPropertyValue("--light").trim(),
  }));
}

function legend(keys, width) {
  const group = element("g");
  const widths = keys.map(({ label }) => 34 + measured(label, STYLES.key) + 24);
  let x = Math.max(0, (width - widths.reduce((sum, each) => sum + each, -24)) / 2);
  keys.forEach(({ label, mark, colour }, n) => {
    const sign =
      mark === "span"
        ? element("rect", { x, y: 2, width: 28, height: 13, fill: colour })
        : element("line", { x1: x, x2: x + 28, y1: 8, y2: 8, stroke: colour, "stroke-width": 3 });
    if (DASHES[mark]) sign.setAttribute("stroke-dasharray", DASHES[mark]);
    group.append(sign, line(label, "key", INK, x + 34, 13));
    x += widths[n];
  });
  return group;
}

// Writes text from the left margin, in as many lines as it needs. Returns where the next may begin.
function paragraph(parent, text, style, fill, width, y) {
  const size = parseInt(STYLES[style].split(" ")[1]);
  const left = parent.tagName === "svg" ? MARGIN : 0;
  for (const words of broken(text, STYLES[style], width - 2 * MARGIN)) {
    y += Math.round(1.35 * size);
    parent.append(line(words, style, fill, left, y - Math.round(0.3 * size)));
  }
  return y;
}

function broken(text, style, width) {
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && measured(longer, style) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function line(text, style, fill, x, y) {
  const [weight, size] = STYLES[style].split(" ");
  const found = element("text", { x, y, fill, "font-size": size, "font-weight": weight });
  found.textContent = text.replace(FORBIDDEN, "\ufffd");
  return found;
}

let pen;
function measured(text, style) {
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${style} ${FONT}`;
  return pen.measureText(text).width;
}

function shifted(item, x, y) {
  const around = element("g");
  const inner = element("g", { transform: `translate(${x} ${y})` });
  inner.append(item);
  around.append(inner);
  return around;
}

const element = (name, attributes = {}) => set(document.createElementNS(SVG, name), attributes);

function set(found, attributes) {
  for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
  return found;
}
