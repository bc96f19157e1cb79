// One chart: a figure has one, or several panels. It fetches its data, has them decoded and drawn,
// and follows the palette, the size of its box and what a reader marks.

import { decoders } from "../data/decoders.js";
import { latest, loadJson, loadTokens } from "../data/loading.js";
import { cells } from "../reader/cells.js";
import { watchBrush } from "./brush.js";
import { heads } from "../reader/heads.js";
import { items } from "../reader/items.js";
import { limit, marked, markSignals, pins, placePins, PLACES, sameHead } from "../reader/marks.js";
import { positions } from "../reader/positions.js";
import { walk } from "../reader/walk.js";
import { textId } from "../reader/words.js";
import { draw, loadLibrary } from "./drawing.js";
import { linesOf } from "./expressions.js";
import { MapDrawing } from "./map_drawing.js";
import { loadSpec } from "./models.js";
import { placeTooltip } from "./tooltip.js";
import { hasSingles, headsOf, Singles, singlesStore } from "./singles.js";

// Longer labels make a narrower plot, which shows fewer columns, whose labels may be shorter again: a
// map whose size never stays keeps the part that it was fitted to last.
const MOST_FITS = 3;

export class Chart {
  constructor(figure, box, dataLink) {
    this.figure = figure;
    this.element = box;
    this.canvasBox = box.querySelector(".live-figure__chart");
    this.title = box.parentElement.querySelector(".live-figure__title");
    this.dataLink = dataLink;
    this.texts = {}; // address of a text's tokens -> which text it is
    this.sources = {}; // model -> what its specification says of data
  }

  async embed(spec, datasets, values) {
    const view = await draw(this.canvasBox, spec, datasets, values);
    if (!this.element.isConnected) {
      view.finalize(); // the reader has gone to another page
      return;
    }
    this.view = view;
    this.params = new Set(spec.signals.map((each) => each.name));
    this.drawnOf = new Set(spec.data.map((each) => each.name)); // others stand beside the chart
    this.singles = hasSingles(spec) ? new Singles(view, spec, () => this.readSingles()) : null;
    if (datasets.map) this.watchSize();
    placeTooltip(view, () => this.map && this.canvasBox);
    this.hideTip = this.watch();
  }

  // Listens to pointer, fingers and keys; returns a function that takes the tooltip away.
  watch() {
    const of = this.report.ramp ? cells : { positions, heads }[this.report.points] ?? items;
    this.kind = of(this);
    this.map?.watch();
    if (this.report.brush) watchBrush(this);
    return walk(this, this.canvasBox, this.kind);
  }

  get specAddress() {
    return compiled(new URL(this.element.dataset.spec, this.figure.page));
  }

  specification(state) {
    return loadSpec(this.specAddress, state);
  }

  // The address of a file at a state, of one with {layer} and the like.
  addressAt(state, path) {
    return new URL(path.replace(/{(\w+)}/g, (_, name) => state[name]), this.figure.datasets);
  }

  // What a state needs, by its specification's `data`: its dataset file, the file's address, and the
  // labels of its tokens (true where the figure names no tokens).
  async fetched(state, { url, tokens = "passage.json" }) {
    const address = this.addressAt(state, url).href;
    const labels = tokens === null || loadTokens(this.addressAt(state, tokens));
    const [file, read] = await Promise.all([loadJson(address), labels]);
    return { address, file, tokens: read };
  }

  // Which text its tokens are of at a state, undefined where none is, or that is not known yet.
  textAt(state) {
    const { text, tokens = "passage.json" } = this.sources[state.model] ?? {};
    return this.texts[(text ?? tokens) && this.addressAt(state, text ?? tokens).href];
  }

  // Finds that out of the data that it shows.
  async readText(state, source, tokens, shown) {
    const { text, tokens: named = "passage.json" } = source;
    this.sources[state.model] = source;
    if (!(text ?? named)) return;
    const address = this.addressAt(state, text ?? named);
    const labels = shown.text ?? (text ? await loadTokens(address) : tokens);
    if (Array.isArray(labels)) this.texts[address.href] ??= textId(labels);
  }

  // Draws the data of a state, or puts them into the chart that is there.
  async show(state) {
    loadLibrary().catch(() => {}); // while data are on their way; `draw` tells if it fails
    const spec = await this.specification(state);
    this.report = spec.usermeta.report;
    const { decode, datasets } = this.report.data;
    const { address, file, tokens } = await this.fetched(state, this.report.data);
    if (!this.element.isConnected) return;
    const shown = decoders[decode](file, tokens, state, this.report);
    await this.readText(state, this.report.data, tokens, shown);
    this.changeTo(state.model);
    if (shown.map) await (this.map ??= new MapDrawing(this)).ready(shown);
    if (!this.element.isConnected) return;
    if (Array.isArray(tokens)) this.labels = tokens;
    this.text = this.textAt(state);
    if (this.figure.charts[0] === this) placePins(this.figure, this.text);
    limit(reach(shown.datasets, this.labels), this.model, this.text);
    const before = this.view && shade();
    const painted = this.painted(shown);
    const rows = { ...shown.datasets, ...painted.datasets };
    const values = { ...state, ...labelsOf(spec), ...shown.signals, ...painted.signals, ...this.marks };
    const chosen = hasSingles(spec) ? singlesStore(spec, this.figure.picks.singled) : {};
    if (!this.view) await this.embed(spec, { ...rows, ...chosen }, values);
    else for (const name of datasets.filter((each) => this.drawnOf.has(each))) this.view.data(name, rows[name] ?? []);
    if (!this.view) return;
    this.shown = shown;
    this.map?.zoom?.fit();
    if (this.dataLink) this.dataLink.href = address;
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
      this.finalize();
      this.canvasBox = emptied(this.canvasBox);
    }
    this.drawn = model;
  }

  // The chart is no more.
  finalize() {
    this.view?.finalize();
    this.map?.end();
    this.view = this.map = null;
  }

  // Whose heads it shows, where a page has those of several models.
  get model() {
    return this.report?.model ?? this.figure.addressed;
  }

  // A title that names the values of controls follows them.
  entitle() {
    const { title } = this.report;
    if (title) this.title.textContent = this.figure.filled(title);
    const name = this.title?.textContent || this.figure.name || "Chart";
    if (this.help) this.canvasBox.setAttribute("aria-label", `${name}; ${this.help}`);
  }

  // Sets params; those that the chart does not have are left out. Returns whether any has changed.
  signals(values) {
    const known = Object.entries(values).filter(([name]) => this.params.has(name));
    const changed = known.filter(([name, value]) => this.view.signal(name) !== value);
    for (const [name, value] of changed) this.view.signal(name, value);
    return changed.length > 0;
  }

  // What a reader marks, as params of the chart.
  get marks() {
    return markSignals(this.model, this.text);
  }

  // Whether it would mark what is pinned, were that a token of its text.
  get lacksPin() {
    const { text } = pins();
    if (!this.view || !text || !this.text || text === this.text) return false;
    return PLACES.some((name) => pins()[name] >= 0 && this.params.has(`pinned_${name}`));
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
    this.map?.restore(this.figure.picks.part);
    this.figure.finder?.show();
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
    if (!shown.map) return { signals };
    const dark = shade() === "dark";
    const looks = Object.entries(kinds).map(([kind, [shape, ...colours]]) => [
      kind,
      shape,
      colours[Number(dark)],
    ]);
    const image = this.map.image(shown, [ramp[shade()], looks, paper[shade()]]);
    return { signals, datasets: { map: [{ image }], markers: [] } };
  }

  // Puts what depends on the palette, and on the size of a map, into the chart; returns its view.
  repainted() {
    if (!this.view) return null;
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
    const size = () => `${view.width()} ${view.height()}`;
    let fits = 0; // since the size last stayed
    const sized = latest(async () => {
      await view.runAsync();
      if (this.view !== view || !this.shown) return;
      const before = size();
      if (++fits <= MOST_FITS) this.map?.zoom?.fit();
      await this.repainted().runAsync();
      if (size() === before) fits = 0;
    });
    for (const name of ["width", "height"]) view.addSignalListener(name, sized);
  }

  // The lines of an item's tooltip, {name: value}.
  told(item) {
    return linesOf(item.tooltip);
  }

  say(text) {
    this.figure.say(text);
  }
}

// What axes call tokens, where data may call them otherwise meanwhile: {labels}, or {}.
const labelsOf = ({ signals }) =>
  Object.fromEntries(signals.filter(({ name }) => name === "labels").map(({ name, value }) => [name, value]));

// The specification as Vega draws it, which the build has made of a chart's Vega-Lite.
const compiled = (address) => address.href.replace(/\.json$/, ".vega.json");

// An empty box in the place of a chart's, without what listened to the chart that was in it.
function emptied(box) {
  const fresh = box.cloneNode(false);
  box.replaceWith(fresh);
  return fresh;
}

// How many tokens, layers and heads there are, as far as a chart's data say.
function reach({ heads }, labels) {
  const count = (name) => heads && 1 + Math.max(...heads.map((each) => each[name]));
  return { token: labels?.length, layer: count("layer"), head: count("head") };
}

// Says of an element whether the head that it stands for is marked or pinned.
export function markHead(element, name, head) {
  element.classList.toggle(`${name}--marked`, sameHead(marked(), head));
  element.classList.toggle(`${name}--pinned`, sameHead(pins(), head));
}

// --- The palette: the page's own on a screen, light colours on paper ----------------------------

let printing = false;

const shade = () =>
  !printing && document.body.dataset.mdColorScheme === "slate" ? "dark" : "light";

// Whether charts are for paper from now on; they are to be repainted.
export const forPaper = (now) => (printing = now);
