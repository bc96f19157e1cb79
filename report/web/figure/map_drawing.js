// How a chart draws its attention map: all of it or a part, at once or, of many cells, a coarse
// picture first. What only some readers need comes when they do: zoom.js, map_beside.js.

import { FEW } from "../data/decoders.js";
import { latest } from "../data/loading.js";
import { cellsIn, wholeOf } from "../data/raster.js";
import { isIn, mapPicture, pixelsOf } from "./map_picture.js";

const FIRST = [300, 300]; // pixels of a picture before its plot has a size
const COARSE = 25_000; // cells of the picture of many that is there at once

const IN_FILE = [1200, 1200]; // pixels of a picture in a file, at most
const ITEMS = 4000; // markers that are items of a chart, at most

export class MapDrawing {
  constructor(chart) {
    this.chart = chart;
    this.zoom = null; // a Zoom, once a reader has come near
    this.beside = null; // a Beside, once there were many cells
  }

  part = (map) => this.zoom?.partOf(map) ?? wholeOf(map);

  // colours: [ramp, looks of markers, paper], see map_picture.js
  image(shown, colours) {
    const { view } = this.chart;
    const place = view && { width: view.width(), height: view.height() };
    const part = this.part(shown.map);
    const picture = this.picture(shown, part, place ? pixelsOf(place) : FIRST);
    if (this.colours?.[0] !== colours[0]) this.colours = colours;
    return mapPicture({ picture, part, markers: shown.datasets.markers }, ...colours, place);
  }

  // The same in a small place, from some of the cells.
  small(shown, part, place) {
    const stride = Math.max(1, Math.ceil(Math.sqrt(cellsIn(shown.map, part) / COARSE)));
    const picture = shown.picture(part, pixelsOf(place), stride);
    const of = { picture, part, markers: shown.datasets.markers, square: 1 };
    return mapPicture(of, ...this.colours, place);
  }

  // What the shade tells, as the switch says it.
  get shade() {
    const { inputs } = this.chart.figure;
    const chosen = inputs.find(({ checked, dataset }) => checked && dataset.param === "shade");
    return chosen?.parentElement.textContent.trim() ?? "shade";
  }

  // For a file: of what is shown, or of the whole map, without hurry. Few markers are left out, to
  // be items of a chart; many are in the picture.
  forFile(shown, colours, whole) {
    const part = whole ? wholeOf(shown.map) : this.part(shown.map);
    const picture = shown.picture(part, IN_FILE);
    const markers = shown.datasets.markers.filter((each) => isIn(part, each));
    const few = markers.length <= ITEMS;
    const square = Math.max(1, Math.round((picture.across * 3) / 600));
    const place = { width: 600, height: 600 };
    const image = mapPicture({ picture, part, markers: few ? [] : markers, square }, ...colours, place);
    return { part, image, markers: few ? markers : [] };
  }

  // What the address says of the part that is shown, text or undefined.
  restore(text) {
    if (this.zoom) this.zoom.restore(text);
    else if (text && this.parts) {
      this.zooming().then((zoom) => zoom?.restore(this.chart.figure.picks.part), console.warn);
    }
  }

  // Of a part in so many pixels, [across, down].
  picture(shown, part, pixels) {
    const count = cellsIn(shown.map, part);
    if (count <= FEW || this.zoom?.onPaper) return shown.picture(part, pixels);
    const finer = this.beside?.picture(shown, part, pixels);
    if (finer) return finer;
    if (!this.beside) this.askBeside();
    return shown.picture(part, pixels, Math.ceil(Math.sqrt(count / COARSE)));
  }

  askBeside() {
    const { chart } = this;
    const ready = latest(async () => this.beside && (await chart.repainted()?.runAsync()));
    this.toBeside ??= import("./map_beside.js").then(({ Beside }) => {
      if (chart.map !== this) return;
      this.beside = new Beside(ready, (sentence) => chart.figure.note(sentence));
      ready();
    });
    this.toBeside.catch((error) => {
      this.toBeside = null; // it may be tried again
      console.warn(error);
    });
  }

  // Whether a part of the map can be shown.
  get parts() {
    return this.chart.params.has("part_rows");
  }

  // What looks closer comes once a reader is at the map.
  watch() {
    if (!this.parts) return;
    const near = () => this.zooming().catch(console.warn);
    const { canvasBox } = this.chart;
    for (const type of ["pointerover", "focusin"]) canvasBox.addEventListener(type, near, { once: true });
    // until then nothing else shall grow instead
    const keep = (event) => !this.zoom && (event.ctrlKey || event.altKey) && event.preventDefault();
    canvasBox.addEventListener("wheel", keep, { passive: false });
  }

  zooming() {
    this.toZoom ??= import("./zoom.js").then(async ({ Zoom }) => {
      if (this.chart.map === this) this.zoom = await Zoom.of(this.chart);
      return this.zoom;
    });
    this.toZoom.catch(() => (this.toZoom = null)); // it may be tried again
    return this.toZoom;
  }

  end() {
    this.zoom?.end();
    this.beside?.end();
    this.beside = null;
  }
}
