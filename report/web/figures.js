// Brings the figures of a page to life. All knowledge about a figure is in its specification
// (usermeta.report) and in decoders.js; here: sliders, marks, palette, addresses, print.
//
// A page is <figure class="live-figure" data-datasets> elements, in each a box with data-spec for
// every chart, and perhaps a <div class="passage"> whose tokens mark themselves in the figures.

import * as address from "./address.js";
import { watchCells } from "./cells.js";
import { decoders } from "./decoders.js";
import { draw, loadLibrary } from "./drawing.js";
import { latest, loadJson, loadTokens } from "./loading.js";
import { clearMarks, isTouch, markSignals, onMark, watchFigure, watchPassage } from "./marks.js";
import { emptied, fitSliders, freeSliders, loadSpec } from "./models.js";
import { watchPoints } from "./points.js";
import { forget, whenNear } from "./start.js";
import { keepTooltipInside } from "./tooltip.js";

const figures = new Map(); // <figure> element -> Figure
let printing = false;

// --- One figure ------------------------------------------------------------------------------

class Figure {
  constructor(element) {
    this.element = element;
    this.datasets = new URL(withSlash(element.dataset.datasets), location.href);
    this.inputs = [...element.querySelectorAll("input[name]")];
    this.link = element.querySelector("input[data-link]");
    this.live = element.querySelector(".live-figure__live");
    const dataLinks = element.querySelectorAll("a[data-link-data]");
    this.charts = [...element.querySelectorAll("[data-spec]")].map(
      (box, number) => new Chart(this, box, dataLinks[number]),
    );
    this.update = latest(() => this.show());
    this.inputs.forEach((input) => {
      const changed = () => this.set({ [param(input)]: valueOf(input) });
      input.addEventListener("input", changed);
      if (input.type === "radio") input.addEventListener("change", changed);
      showValue(input);
    });
    watchSettling(element);
    this.link?.addEventListener("change", () => linkAll(this));
  }

  get state() {
    const chosen = this.inputs.filter((input) => input.type === "range" || input.checked);
    return Object.fromEntries(chosen.map((input) => [param(input), valueOf(input)]));
  }

  // What the address of its state says after the page's.
  fragment() {
    return address.fragment(this.element.id, this.state);
  }

  // The whole address of what it shows, to share.
  address() {
    return new URL(this.fragment(), location.href).href;
  }

  // Whether a slider is given a whole number, or a switch has the value.
  offers(name, value) {
    const fits = (input) =>
      input.type === "range" ? /^-?\d+$/.test(value) : input.value === String(value);
    return this.inputs.some((input) => param(input) === name && fits(input));
  }

  // Values out of reach are clamped, unknown ones dropped.
  set(values, spread = true) {
    if (values.model) freeSliders(this);
    for (const input of this.inputs) {
      const value = values[param(input)];
      if (value === undefined || !this.offers(param(input), value)) continue;
      if (input.type === "range") input.value = value;
      else input.checked = input.value === String(value);
      showValue(input);
    }
    const drawn = this.fragment();
    if (this.started && drawn !== this.drawn) this.update();
    this.drawn = drawn;
    if (!spread) return;
    if (this.link?.checked) spreadLinked(this);
    address.write(() => this.fragment());
  }

  // Marks something in all panels, whichever of them it was pointed at in.
  mark(values) {
    for (const chart of this.charts) {
      if (!chart.shown) continue;
      chart.signals(values);
      chart.view.runAsync();
    }
  }

  // What is pinned stays marked when the pointer leaves; once more, and it is so no longer.
  pin(values) {
    const same = JSON.stringify(this.pinned) === JSON.stringify(values);
    this.pinned = same ? null : values;
  }

  // What a reader sees of a slider's value, undefined if there is no such slider.
  shownValue(name) {
    const input = this.inputs.find((each) => each.type === "range" && param(each) === name);
    return input && shownValue(input);
  }

  // Called when the figure is needed: draws it, over its still picture. Its sliders can be moved
  // from now on, and are obeyed once there is a chart.
  start() {
    this.started = true;
    this.enable(true);
    this.update();
  }

  async show() {
    try {
      await fitSliders(this, this.charts[0].specAddress);
      this.inputs.forEach(showValue);
      const state = this.state;
      await Promise.all(this.charts.map((chart) => chart.show(state)));
      if (!this.charts.every((chart) => chart.view)) return;
      this.succeed();
      this.shows = state;
      this.element.dispatchEvent(new Event("figureshown"));
      this.toolbar ??= import("./toolbar.js").then(({ equip }) => equip(this)).catch(console.warn);
    } catch (error) {
      this.fail(error);
    }
  }

  succeed() {
    this.element.classList.add("live-figure--live");
    if (this.element.classList.contains("live-figure--failed")) this.say("");
    this.element.classList.remove("live-figure--failed");
    this.enable(true);
  }

  enable(yes) {
    this.element.querySelectorAll("input, fieldset").forEach((each) => (each.disabled = !yes));
  }

  // Before the first success the still picture simply stays; later the outdated chart is dimmed.
  fail(error) {
    console.warn(error);
    this.element.classList.add("live-figure--failed");
    const drawn = this.charts.every((chart) => chart.shown);
    if (!drawn) this.enable(false);
    const still = drawn ? "" : " The still picture stays.";
    this.say(`This figure could not be loaded (${error.message}).${still}`);
    this.element.dispatchEvent(new Event("figurefailed"));
  }

  say(text) {
    if (this.live) this.live.textContent = text;
  }
}

// --- One chart: a figure has one, or several panels ------------------------------------------

class Chart {
  constructor(figure, box, dataLink) {
    this.figure = figure;
    this.element = box;
    this.canvasBox = box.querySelector(".live-figure__chart");
    this.title = box.parentElement.querySelector(".live-figure__title");
    this.dataLink = dataLink;
  }

  async embed(spec, datasets) {
    const view = await draw(this.canvasBox, spec, datasets);
    if (!this.element.isConnected) {
      view.finalize(); // the reader has gone to another page
      return;
    }
    this.view = view;
    this.params = new Set(spec.signals.map((each) => each.name));
    keepTooltipInside(view);
    this.hideTip = this.watch();
  }

  // Listens to pointer, fingers and keys; returns what takes a tooltip away.
  watch() {
    const { view, canvasBox } = this;
    if (this.report.points) return watchPoints(this, canvasBox);
    watchFigure(this);
    if (this.report.ramp) return watchCells(this, canvasBox);
    return (event) => view.tooltip().call(view, null, event, null, null);
  }

  get specAddress() {
    return compiled(new URL(this.element.dataset.spec, location.href));
  }

  async show(state) {
    loadLibrary().catch(() => {}); // while data are on their way; `draw` tells if it fails
    const spec = await loadSpec(this.specAddress, state);
    this.report = spec.usermeta.report;
    const { url, decode, datasets, tokens: labels } = this.report.data;
    const address = url.replace(/{(\w+)}/g, (_, name) => state[name]);
    const [file, tokens] = await Promise.all([
      loadJson(new URL(address, this.figure.datasets).href),
      loadTokens(new URL(labels ?? "passage.json", this.figure.datasets)),
    ]);
    if (!this.element.isConnected) return;
    const shown = decoders[decode](file, tokens, state, this.report);
    this.changeTo(state.model);
    if (!this.view) await this.embed(spec, shown.datasets);
    else for (const name of datasets) this.view.data(name, shown.datasets[name] ?? []);
    if (!this.view) return;
    this.shown = shown;
    if (this.dataLink) this.dataLink.href = new URL(address, this.figure.datasets).href;
    this.entitle();
    this.signals({ ...state, ...this.shown.signals, ...markSignals() });
    this.paint();
    await this.view.runAsync();
  }

  // Another model's specification needs a chart of its own.
  changeTo(model) {
    if (this.view && this.model !== model) {
      this.view.finalize();
      this.view = null;
      this.canvasBox = emptied(this.canvasBox);
    }
    this.model = model;
  }

  // A title that names the values of sliders follows them.
  entitle() {
    const { title } = this.report;
    const value = (whole, name) => this.figure.shownValue(name) ?? whole;
    if (title) this.title.textContent = title.replace(/{(\w+)}/g, value);
    const name = this.title?.textContent ?? "Chart";
    if (this.help) this.canvasBox.setAttribute("aria-label", `${name}; ${this.help}`);
  }

  signals(values) {
    for (const [name, value] of Object.entries(values)) {
      if (this.params.has(name)) this.view.signal(name, value);
    }
  }

  // Everything that depends on the palette.
  paint() {
    const shade = !printing && document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";
    this.view.signal("ink", this.report.ink[shade]);
    if (!this.shown?.picture) return;
    const { size } = this.shown.map;
    const canvas = Object.assign(document.createElement("canvas"), { width: size, height: size });
    const pixels = this.shown.picture(this.report.ramp[shade]);
    canvas.getContext("2d").putImageData(new ImageData(pixels, size, size), 0, 0);
    this.view.data("map", [{ image: canvas }]);
  }

  say(text) {
    this.figure.say(text);
  }
}

const charts = () => [...figures.values()].flatMap((figure) => figure.charts);
// The specification as Vega draws it, which the build has made of a chart's Vega-Lite.
const compiled = (address) => address.href.replace(/\.json$/, ".vega.json");
const withSlash = (path) => (path.endsWith("/") ? path : `${path}/`);
const param = (input) => input.dataset.param ?? input.name;
const valueOf = (input) => (input.type === "range" ? Number(input.value) : input.value);

// Readers may count from 1 where values are indices from 0.
const shownValue = (input) => String(Number(input.value) + Number(input.dataset.offset ?? 0));

function showValue(input) {
  if (input.type !== "range") return;
  const output = input.parentElement.querySelector("output");
  if (output) output.textContent = shownValue(input);
  const label = input.parentElement.querySelector("span")?.textContent.trim() ?? input.name;
  input.setAttribute("aria-valuetext", `${label} ${shownValue(input)}`);
}

// --- Linked sliders --------------------------------------------------------------------------

const linked = () => [...figures.values()].filter((figure) => figure.link);

function linkAll(source) {
  linked().forEach((figure) => (figure.link.checked = source.link.checked));
  if (source.link.checked) spreadLinked(source);
}

function spreadLinked(source) {
  const { layer, head } = source.state;
  for (const figure of linked()) if (figure !== source) figure.set({ layer, head }, false);
}

// --- Marks: the same token, the same head, in every figure ------------------------------------

onMark((marked) => {
  for (const chart of charts()) {
    if (!chart.shown) continue;
    chart.signals(marked);
    chart.view.runAsync();
  }
});

// --- The address: #fig-1:layer=2,head=5 --------------------------------------------------------

const seen = new Map(); // entry of the history -> what every figure showed then

// A slider that was dragged is done with when it is let go; one that is moved by keys, after a
// pause, or every step of a held key would be an entry of the history.
function watchSettling(element) {
  let keyed = false;
  element.addEventListener("keydown", () => (keyed = true));
  element.addEventListener("pointerdown", () => (keyed = false));
  element.addEventListener("change", ({ target }) => {
    if (!keyed || target.type === "radio") address.settle();
  });
}

const snapshot = () => ({
  path: location.pathname,
  figures: [...figures.values()].map((figure) => [figure.element.id, figure.state]),
});

const remember = () => seen.set(address.entry(), snapshot());

// Shows what the address says. Where the reader comes back to, all figures are as they were then.
function restore() {
  address.forget();
  const then = seen.get(address.entry());
  const { id, values } = address.parsed(location.hash) ?? {};
  const named = figureOf(id);
  if (then?.path === location.pathname) {
    for (const [each, state] of then.figures) figureOf(each)?.set(state, false);
    if (named && !inSight(named.element)) named.element.scrollIntoView();
    return;
  }
  if (named) {
    named.set(Object.fromEntries(values), false);
    named.element.scrollIntoView();
  }
  remember();
}

const figureOf = (id) => figures.get(id && document.getElementById(id));

function inSight(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

address.onWritten(remember);

// --- The page ----------------------------------------------------------------------------------

let path; // of the page whose figures these are

function page() {
  for (const [element, figure] of figures) {
    if (element.isConnected) continue; // left behind by instant navigation
    forget(element);
    figure.charts.forEach((chart) => chart.view?.finalize());
    figures.delete(element);
  }
  path = location.pathname;
  clearMarks();
  for (const element of document.querySelectorAll(".live-figure[data-datasets]")) {
    if (figures.has(element)) continue;
    figures.set(element, new Figure(element));
    whenNear(element, () => figures.get(element)?.start());
  }
  document.querySelectorAll(".passage").forEach(watchPassage);
  restore();
}

// Back and forward, and links; not if they lead to a page that instant navigation is still loading.
function arrive() {
  if (location.pathname === path) restore();
}

function repaint() {
  for (const chart of charts()) {
    if (!chart.view) continue;
    chart.paint();
    chart.view.run(); // at once: the printer does not wait
  }
}

function print(now) {
  printing = now;
  repaint();
}

new MutationObserver(repaint).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
addEventListener("popstate", arrive);
addEventListener("hashchange", arrive);
addEventListener("beforeprint", () => print(true));
addEventListener("afterprint", () => print(false));
addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  clearMarks();
  for (const chart of charts()) chart.hideTip?.(event);
});
addEventListener(
  "pointerdown",
  (event) => {
    // a tooltip that a tap brought stays until the finger comes down somewhere else
    for (const chart of isTouch(event) ? charts() : []) chart.hideTip?.(event);
  },
  true,
);

// Material for MkDocs announces every page, the first one included; elsewhere there is only one.
if (window.document$) window.document$.subscribe(page);
else page();
