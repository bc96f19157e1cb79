// Brings the figures of a page to life. All knowledge about a figure is in its specification
// (usermeta.report) and in decoders.js; here: sliders, marks, palette, addresses, print.
//
// A page is <figure class="live-figure" data-datasets> elements, in each a box with data-spec for
// every chart, and perhaps a <div class="passage"> whose tokens mark themselves in the figures.

import * as address from "./address.js";
import { cells } from "./cells.js";
import { decoders } from "./decoders.js";
import { draw, loadLibrary } from "./drawing.js";
import { heads } from "./heads.js";
import { items } from "./items.js";
import { latest, loadJson, loadTokens } from "./loading.js";
import { mapPicture } from "./map.js";
import * as marks from "./marks.js";
import { emptied, fitSliders, freeSliders, loadSpec } from "./models.js";
import { watchPassage } from "./passage.js";
import { onLabels } from "./pins.js";
import { positions } from "./positions.js";
import { hasSingles, headsOf, Singles, singlesStore } from "./singles.js";
import { forget, whenNear } from "./start.js";
import { keepTooltipInside } from "./tooltip.js";
import { walk } from "./walk.js";

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
    this.controls = element.querySelector(".live-figure__controls");
    this.name = element.querySelector("figcaption strong")?.textContent.replace(/\.$/, "");
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
    this.picks = {}; // what is chosen in the chart itself, as its address says it
    watchSettling(element);
    watchControls(this);
    this.link?.addEventListener("change", () => linkAll(this));
  }

  get state() {
    const chosen = this.inputs.filter((input) => input.type === "range" || input.checked);
    return Object.fromEntries(chosen.map((input) => [param(input), valueOf(input)]));
  }

  // All that an address says of it.
  get values() {
    return { ...this.state, ...this.picks, ...marks.pinsInAddress() };
  }

  // What the address of its state says after the page's.
  fragment() {
    return address.fragment(this.element.id, this.values);
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
    const before = this.fragment();
    for (const input of this.inputs) {
      const value = values[param(input)];
      if (value === undefined || !this.offers(param(input), value)) continue;
      if (input.type === "range") input.value = value;
      else input.checked = input.value === String(value);
      showValue(input);
    }
    const changed = this.fragment() !== before;
    if (this.started && (spread || changed)) this.update();
    // not yet near the window: what was changed may be printed all the same
    else if (changed) this.start();
    if (!spread) return;
    if (this.link?.checked) spreadLinked(this);
    address.write(() => this.fragment());
  }

  // What an address says of it: what that does not name is not chosen in the chart either.
  restore(values) {
    const picks = Object.fromEntries(PICKS.map((name) => [name, values[name]]));
    this.pick(picks);
    this.set(values, false);
  }

  // values: {name: text}, or undefined for what is not chosen
  pick(values) {
    const picks = Object.entries({ ...this.picks, ...values });
    this.picks = Object.fromEntries(picks.filter(([, value]) => value !== undefined));
    for (const chart of this.charts.filter((each) => each.shown)) {
      chart.drawPicks();
      if (chart.kind.restore) chart.view?.runAsync();
    }
  }

  // Set by a press in the chart: a step of its own in the history.
  choose(values) {
    this.set(values);
    address.settle();
  }

  // The same of what is chosen in the chart itself.
  changed() {
    address.write(() => this.fragment());
    address.settle();
  }

  // The head that it shows, if it is one figure of one head.
  get head() {
    const { layer, head } = this.state;
    const { model } = this.charts[0] ?? {};
    return layer === undefined || head === undefined ? null : { layer, head, model };
  }

  // What a reader sees of a slider's value, undefined if there is no such slider.
  shownValue(name) {
    const input = this.inputs.find((each) => each.type === "range" && param(each) === name);
    return input && shownValue(input);
  }

  // Called when the figure is needed: draws it, over its still picture. Its sliders can be moved
  // from now on, and are obeyed once there is a chart.
  start() {
    if (this.started) return;
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

  async embed(spec, datasets, values) {
    const view = await draw(this.canvasBox, spec, datasets, values);
    if (!this.element.isConnected) {
      view.finalize(); // the reader has gone to another page
      return;
    }
    this.view = view;
    this.params = new Set(spec.signals.map((each) => each.name));
    this.singles = hasSingles(spec) ? new Singles(view, spec, () => this.readSingles()) : null;
    if (datasets.map) this.watchSize();
    keepTooltipInside(view);
    this.hideTip = this.watch();
  }

  // Listens to pointer, fingers and keys; returns what takes a tooltip away.
  watch() {
    const of = this.report.ramp ? cells : { positions, heads }[this.report.points] ?? items;
    this.kind = of(this);
    return walk(this, this.canvasBox, this.kind);
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
      labels === null || loadTokens(new URL(labels ?? "passage.json", this.figure.datasets)),
    ]);
    if (!this.element.isConnected) return;
    const shown = decoders[decode](file, tokens, state, this.report);
    this.changeTo(state.model);
    if (Array.isArray(tokens)) this.labels = tokens;
    marks.limit(reach(shown.datasets, this.labels));
    const before = this.view && shade();
    const painted = this.painted(shown);
    const rows = { ...shown.datasets, ...painted.datasets };
    const values = { ...state, ...shown.signals, ...painted.signals, ...this.marks };
    const chosen = hasSingles(spec) ? singlesStore(spec, this.figure.picks.singled) : {};
    if (!this.view) await this.embed(spec, { ...rows, ...chosen }, values);
    else for (const name of datasets) this.view.data(name, rows[name] ?? []);
    if (!this.view) return;
    this.shown = shown;
    if (this.dataLink) this.dataLink.href = new URL(address, this.figure.datasets).href;
    this.entitle();
    this.signals({ ...values, ...this.marks });
    this.markTitle();
    this.drawPicks();
    this.kind.refresh?.();
    // a new chart has only now a size; or the reader has changed the palette meanwhile
    if (shade() !== before) this.repainted();
    await this.view.runAsync();
  }

  // Another model's specification needs a chart of its own.
  changeTo(model) {
    if (this.view && this.drawn !== model) {
      this.view.finalize();
      this.view = null;
      this.canvasBox = emptied(this.canvasBox);
    }
    this.drawn = model;
  }

  // Whose heads it shows, where a page has those of several models.
  get model() {
    return this.report?.model ?? this.figure.state.model;
  }

  // A title that names the values of sliders follows them.
  entitle() {
    const { title } = this.report;
    const value = (whole, name) => this.figure.shownValue(name) ?? whole;
    if (title) this.title.textContent = title.replace(/{(\w+)}/g, value);
    const name = this.title?.textContent || this.figure.name || "Chart";
    if (this.help) this.canvasBox.setAttribute("aria-label", `${name}; ${this.help}`);
  }

  // Returns whether any of its params has changed.
  signals(values) {
    const known = Object.entries(values).filter(([name]) => this.params.has(name));
    const changed = known.filter(([name, value]) => this.view.signal(name) !== value);
    for (const [name, value] of changed) this.view.signal(name, value);
    return changed.length > 0;
  }

  // What a reader marks, as params of the chart.
  get marks() {
    return marks.markSignals(this.model);
  }

  mark() {
    if (!this.view || !this.shown || !this.figure.inSight) return;
    if (this.signals(this.marks)) this.view.runAsync();
    this.markTitle();
  }

  // The title of a panel that shows one head.
  markTitle() {
    const { place = this.figure.head, points } = this.report;
    const named = place && points === "positions";
    if (named) markHead(this.title, "live-figure__title", { ...place, model: this.model });
  }

  // What is chosen in the chart, as far as there is such a thing in these data.
  drawPicks() {
    this.kind.restore?.();
    if (!this.singles) return;
    const there = new Set(this.shown.datasets.points.map(({ head }) => head));
    const heads = headsOf(this.figure.picks.singled).filter((head) => there.has(head));
    if (heads.length) this.figure.picks.singled = heads.join("+");
    else delete this.figure.picks.singled;
    this.singles.heads = heads;
  }

  readSingles() {
    const singled = this.singles.heads.join("+") || undefined;
    if (!this.shown || singled === this.figure.picks.singled) return;
    this.figure.pick({ singled });
    this.figure.changed();
  }

  // Everything that depends on the palette: datasets and params of the chart.
  painted(shown) {
    const { ink, paper, ramp, kinds } = this.report;
    const signals = { ink: ink[shade()] };
    if (!shown.picture) return { signals };
    const dark = shade() === "dark";
    const looks = Object.entries(kinds).map(([kind, [shape, ...colours]]) => [
      kind,
      shape,
      colours[Number(dark)],
    ]);
    const place = this.view && { width: this.view.width(), height: this.view.height() };
    const image = mapPicture(shown, ramp[shade()], looks, paper[shade()], place);
    return { signals, datasets: { map: [{ image }], markers: [] } };
  }

  // Puts what depends on the palette, and on the size of a map, into the chart; returns its view.
  repainted() {
    const { signals, datasets = {} } = this.painted(this.shown);
    this.signals(signals);
    for (const [name, rows] of Object.entries(datasets)) this.view.data(name, rows);
    return this.view;
  }

  repaint() {
    if (this.view && this.shown) this.repainted().run(); // at once: the printer does not wait
  }

  // A map is drawn anew when its plot has got another size.
  watchSize() {
    const { view } = this;
    const sized = latest(async () => {
      await view.runAsync();
      if (this.view === view && this.shown) await this.repainted().runAsync();
    });
    for (const name of ["width", "height"]) view.addSignalListener(name, sized);
  }

  say(text) {
    this.figure.say(text);
  }
}

const PICKS = ["cell", "singled"]; // what can be chosen in charts

// How many tokens, layers and heads there are, as far as a chart's data say.
function reach({ heads }, labels) {
  const count = (name) => heads && 1 + Math.max(...heads.map((each) => each[name]));
  return { token: labels?.length, layer: count("layer"), head: count("head") };
}

// Says of an element whether the head that it stands for is marked or pinned.
function markHead(element, name, head) {
  const is = (of) => ["layer", "head", "model"].every((part) => of[part] === head[part]);
  element.classList.toggle(`${name}--marked`, is(marks.marked()));
  element.classList.toggle(`${name}--pinned`, is(marks.pins()));
}

const shade = () =>
  !printing && document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";
const charts = () => [...figures.values()].flatMap((figure) => figure.charts);
// The specification as Vega draws it, which the build has made of a chart's Vega-Lite.
const compiled = (address) => address.href.replace(/\.json$/, ".vega.json");
const withSlash = (path) => (path.endsWith("/") ? path : `${path}/`);
const param = (input) => input.dataset.param ?? input.name;
const valueOf = (input) => (input.type === "range" ? Number(input.value) : input.value);

// Readers may count from 1 where values are indices from 0, or read a name of each value.
function shownValue({ value, min, dataset }) {
  if (dataset.labels) return JSON.parse(dataset.labels)[value - min];
  return String(Number(value) + Number(dataset.offset ?? 0));
}

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

marks.onMark(() => {
  for (const chart of charts()) chart.mark();
  for (const figure of figures.values()) {
    if (figure.head) markHead(figure.controls, "live-figure__controls", figure.head);
  }
});

// A pin is part of the address of the figure where it was set, or of the one that is there already.
marks.onPin((source) => {
  for (const figure of figures.values()) figure.pick({});
  const figure = source ?? figureOf(address.parsed(location.hash)?.id);
  address.write(() =>
    figure ? figure.fragment() : address.fragment("passage", marks.pinsInAddress()),
  );
  address.settle();
});

onLabels(() => charts().find(({ labels }) => labels)?.labels);

// The controls of a figure that shows one head stand for that head.
function watchControls(figure) {
  const { controls } = figure;
  const on = (type, act) => controls.addEventListener(type, act);
  const point = () => figure.head && marks.point(figure.head);
  on("pointerover", (event) => marks.isTouch(event) || point());
  on("pointerleave", () => controls.matches(":focus-within") || marks.unpoint());
  on("focusin", point);
  on("input", point);
  on("focusout", marks.unpoint);
}

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
  figures: [...figures.values()].map((figure) => [figure.element.id, figure.values]),
  pins: marks.pinsInAddress(),
});

const remember = () => seen.set(address.entry(), snapshot());

// Shows what the address says. Where the reader comes back to, all figures are as they were then.
function restore() {
  address.forget();
  const then = seen.get(address.entry());
  const { id, values } = address.parsed(location.hash) ?? {};
  const named = figureOf(id);
  if (then?.path === location.pathname) {
    marks.setPins(then.pins);
    for (const [each, values] of then.figures) figureOf(each)?.restore(values);
    if (named && !inSight(named.element)) named.element.scrollIntoView();
    return;
  }
  if (named || id === "passage") {
    const told = Object.fromEntries(values);
    const [token] = told.cell?.split("+") ?? [];
    marks.setPins({ pinned_token: token, ...told });
    marks.limit(reachOfSliders());
    named?.restore(told);
    (named?.element ?? document.querySelector(".passage"))?.scrollIntoView();
  }
  remember();
}

const figureOf = (id) => figures.get(id && document.getElementById(id));

// Layers and heads of the page's sliders.
function reachOfSliders() {
  const sliders = [...document.querySelectorAll(".live-figure input[type=range]")];
  const count = (name) => {
    const ends = sliders.filter((each) => param(each) === name).map(({ max }) => 1 + Number(max));
    return ends.length ? Math.max(...ends) : undefined;
  };
  const tokens = document.querySelectorAll(".token[data-token]").length || undefined;
  return { token: tokens, layer: count("layer"), head: count("head") };
}

function inSight(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

address.onWritten(remember);

// --- The page ----------------------------------------------------------------------------------

// Marks are drawn in figures that can be seen, or nearly; the others have them when they come near.
const sight = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const figure = figures.get(target);
      if (!figure) continue;
      figure.inSight = isIntersecting;
      figure.charts.forEach((chart) => chart.mark());
    }
  },
  { rootMargin: "100% 0px" },
);

let path; // of the page whose figures these are

function page() {
  for (const [element, figure] of figures) {
    if (element.isConnected) continue; // left behind by instant navigation
    forget(element);
    sight.unobserve(element);
    figure.charts.forEach((chart) => chart.view?.finalize());
    figures.delete(element);
  }
  path = location.pathname;
  marks.setPins({});
  marks.unpoint();
  for (const element of document.querySelectorAll(".live-figure[data-datasets]")) {
    if (figures.has(element)) continue;
    figures.set(element, new Figure(element));
    whenNear(element, () => figures.get(element)?.start());
    sight.observe(element);
  }
  document.querySelectorAll(".passage").forEach(watchPassage);
  restore();
}

// Back and forward, and links; not if they lead to a page that instant navigation is still loading.
function arrive() {
  if (location.pathname === path) restore();
}

function repaint() {
  for (const chart of charts()) chart.repaint();
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
  marks.clearMarks();
  for (const chart of charts()) {
    chart.hideTip?.(event);
    if (chart.singles) chart.singles.heads = []; // Vega itself forgets only what was clicked
  }
});
addEventListener(
  "pointerdown",
  (event) => {
    // a tooltip that a tap brought stays until the finger comes down somewhere else
    for (const chart of marks.isTouch(event) ? charts() : []) chart.hideTip?.(event);
  },
  true,
);

// Material for MkDocs announces every page, the first one included; elsewhere there is only one.
if (window.document$) window.document$.subscribe(page);
else page();
