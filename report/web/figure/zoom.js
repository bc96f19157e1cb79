// A closer look at an attention map: the part that is shown, and how a reader chooses it. By the
// wheel with Ctrl or Alt, by two fingers, by a double click or tap, by dragging, by keys, by buttons
// of the toolbar, and by the frame in the overview (overview.js). The address has it.
//
// Cells stay about square: a reader chooses rows, and columns follow from the shape of the plot.

import { latest, loadStyles } from "../data/loading.js";
import { wholeOf } from "../data/raster.js";
import * as address from "../reader/address.js";
import { inPlot } from "../reader/plot.js";
import { clamp } from "../reader/walk.js";
import { watchGestures } from "./gestures.js";
import { Overview } from "./overview.js";

const LEAST = 8; // rows that are shown
const STEP = 0.5; // of the rows that are left, by a key, a button or a double click
const PAN = 0.25; // of what is shown, by a key
const ROOMY = 520; // pixels of a box that has room for the overview at the right
const RIGHT = 182; // pixels that it needs there, with legends below it
const BELOW = 190; // and below the plot, with legends at its right

export class Zoom {
  // null: the chart has gone meanwhile, with its page or for another one
  static async of(chart) {
    await loadStyles(new URL("zoom.css", import.meta.url));
    return chart.view ? new Zoom(chart) : null;
  }

  constructor(chart) {
    this.chart = chart;
    this.wanted = null; // {top, left, rows}, not rounded; null: all is shown
    this.padding = chart.view.padding();
    this.measure();
    this.overview = new Overview(this);
    this.draw = latest(async () => {
      if (!chart.view || !chart.shown) return;
      this.fit();
      await chart.repainted().runAsync();
    });
    this.sizes = new ResizeObserver(() => {
      if (!this.wanted) return;
      dispatchEvent(new Event("resize")); // which Vega listens to
      this.draw();
    });
    this.sizes.observe(chart.element);
    this.over = new AbortController(); // ends what is listened to
    watchGestures(this, this.over.signal);
    chart.canvasBox.addEventListener("keydown", (event) => this.press(event), {
      capture: true,
      signal: this.over.signal,
    });
  }

  end() {
    this.over.abort();
    this.sizes.disconnect();
    this.overview.end();
    this.chart.element.classList.remove("live-figure__box--part");
  }

  // The part of a map that is shown, or null if all of it is.
  partOf({ size }) {
    if (!this.wanted || this.onPaper) return null;
    const { top, left, rows, columns } = this.exact(size);
    const count = (cells) => clamp(Math.round(cells), Math.min(LEAST, size), size);
    const [down, across] = [count(rows), count(columns)];
    const from = (at, cells) => clamp(Math.round(at), 0, size - cells);
    return { top: from(top, down), left: from(left, across), rows: down, columns: across };
  }

  // The same without rounding, so that many small steps are as one.
  exact(size, wished = this.wanted?.rows) {
    if (!wished) return wholeOf({ size });
    const [width, height] = this.plot;
    const { top, left, rows } = { top: 0, left: 0, ...this.wanted, rows: wished };
    return { top, left, rows, columns: Math.min(size, (rows * width) / height) };
  }

  get map() {
    return this.chart.shown.map;
  }

  get shown() {
    return this.partOf(this.map) ?? wholeOf(this.map);
  }

  // The size of the plot that columns follow from: the picture has them as the axes do.
  measure() {
    const { view } = this.chart;
    this.plot = [view.width(), view.height()].map((length) => Math.max(1, length));
  }

  // Makes axes, legends and overview fit what is shown.
  fit() {
    const { chart, padding, wanted } = this;
    const { view, element } = chart;
    this.measure();
    const part = this.partOf(this.map);
    const roomy = element.clientWidth > ROOMY;
    const aside = !part ? "" : roomy ? "right" : "below";
    if (aside !== this.aside) {
      this.aside = aside;
      element.classList.toggle("live-figure__box--part", aside !== "");
      const right = padding.right + (aside === "right" ? RIGHT : 0);
      const bottom = padding.bottom + (aside === "below" ? BELOW : 0);
      view.padding({ ...padding, right, bottom });
      dispatchEvent(new Event("resize")); // a box on a phone has grown
    }
    const { top, left, rows, columns } = this.shown;
    const signals = { part_top: top, part_left: left, part_rows: rows, part_columns: columns };
    if (chart.signals({ ...signals, aside })) view.resize(); // labels may be longer than before
    this.overview.show(part, wanted && aside);
  }

  // Shows a part, {top, left, rows}, or all of the map; settled: it is a step of its own
  to(wanted, settled = true) {
    const { chart } = this;
    this.wanted = wanted && wanted.rows < this.map.size ? wanted : null;
    const part = this.partOf(this.map);
    if (part) {
      const { size } = this.map;
      const { top, left, rows, columns } = this.exact(size);
      this.wanted = { top: clamp(top, 0, size - rows), left: clamp(left, 0, size - columns), rows };
    }
    const { part: before, ...picks } = chart.figure.picks;
    const said = part ? [part.top, part.left, part.rows].join("+") : undefined;
    chart.figure.picks = said ? { ...picks, part: said } : picks;
    this.draw();
    if (said === before) return;
    address.write(() => chart.figure.fragment());
    if (settled) address.settle();
  }

  // What an address says, text or undefined; what makes no sense here is dropped from it.
  restore(text) {
    const [, ...digits] = /^(\d{1,9})\+(\d{1,9})\+(\d{1,9})$/.exec(text) ?? [];
    const [top, left, rows] = digits.map(Number);
    const wanted = rows > 0 && rows < this.map.size ? { top, left, rows } : null;
    if (!wanted) delete this.chart.figure.picks.part;
    const said = (part) => part && [part.top, part.left, part.rows].join("+");
    if (said(this.partOf(this.map)) === said(wanted)) return;
    this.wanted = wanted;
    this.draw();
  }

  // Shows `factor` times as many rows around a place, [row, column], which stays where it is, or comes
  // to where `shares` of the plot lie above and left of it.
  by(factor, [row, column] = this.middle, settled = true, shares = null) {
    const { size } = this.map;
    const { top, left, rows, columns } = this.exact(size);
    const now = clamp(rows * factor, Math.min(LEAST, size), size);
    const part = now / rows;
    const [above, before] = shares ?? [(row - top) / rows, (column - left) / columns];
    const wide = this.wanted ? columns * part : this.exact(size, now).columns;
    this.to({ top: row - above * now, left: column - before * wide, rows: now }, settled);
  }

  // By so many cells.
  pan(down, across, settled = true) {
    if (!this.wanted) return;
    const { top, left, rows } = this.wanted;
    this.to({ top: top + down, left: left + across, rows }, settled);
  }

  // The cell that is pointed at or pinned; else below the diagonal, since above it there may be none.
  get middle() {
    const at = this.chart.kind.at();
    const { top, left, rows, columns } = this.shown;
    const seen = at && at[0] >= top && at[0] < top + rows && at[1] >= left && at[1] < left + columns;
    return seen ? at.map((cell) => cell + 0.5) : [top + 0.75 * rows, left + 0.25 * columns];
  }

  // The same around the middle, with the first column as long as it leaves room for the cell.
  near(factor) {
    const [row, column] = this.middle;
    const { top, left, rows, columns } = this.exact(this.map.size);
    const keeps = left < 1 && column < factor * columns;
    const before = keeps ? column / (factor * columns) : (column - left) / columns;
    this.by(factor, [row, column], true, [(row - top) / rows, before]);
  }

  // Which shares of the plot lie above and left of a pointer.
  sharesOf(event) {
    const { view } = this.chart;
    const [x, y] = inPlot(view, event);
    return [y / view.height(), x / view.width()];
  }

  // The place of a pointer, [row, column] with fractions, also in what is not drawn yet.
  placeOf(event) {
    const [down, across] = this.sharesOf(event);
    const { top, left, rows, columns } = this.exact(this.map.size);
    return [top + down * rows, left + across * columns];
  }

  zoomIn = () => this.told(() => this.near(STEP));
  zoomOut = () => this.told(() => this.near(1 / STEP));
  all = () => this.told(() => this.to(null));

  told(act) {
    act();
    const { top, left, rows, columns } = this.shown;
    const said = `Current tokens ${top} to ${top + rows - 1}, target tokens ${left} to ${left + columns - 1}`;
    this.chart.say(this.wanted ? said : "The whole map");
  }

  press(event) {
    const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey) return;
    const { rows, columns } = this.shown;
    const pan = {
      ArrowUp: [-PAN, 0], ArrowDown: [PAN, 0], ArrowLeft: [0, -PAN], ArrowRight: [0, PAN],
    }[key];
    const act = { "+": this.zoomIn, "=": this.zoomIn, "-": this.zoomOut, 0: this.all }[key];
    if (!act && !(shiftKey && pan)) return;
    event.preventDefault();
    event.stopPropagation();
    if (act) act();
    else this.told(() => this.pan(pan[0] * rows, pan[1] * columns));
  }

  // Brings a cell that keys lead to into sight, at once.
  follow([i, j]) {
    const part = this.partOf(this.map);
    if (!part) return;
    const near = (at, from, count) => clamp(from, at - count + 1, at);
    const top = near(i, part.top, part.rows);
    const left = near(j, part.left, part.columns);
    if (top === part.top && left === part.left) return;
    this.to({ top, left, rows: part.rows }, false);
    this.fit();
    this.chart.repainted().run();
  }

  // Paper has all of the map.
  forPaper(now) {
    this.onPaper = now;
    this.fit();
    this.chart.view.run();
    this.fit();
  }
}
