// How a chart draws its attention map: all of it or a part, at once or, of many cells, as a worker
// gets on with it. What only some readers need comes when they do: zoom.js, map_beside.js.

import { latest } from "../data/loading.js";
import { isMany, moved, wholeOf } from "../data/raster.js";
import { isIn, mapPicture, pixelsOf } from "./map_picture.js";

const FIRST = [300, 300]; // pixels of a picture before its plot has a size
const IN_FILE = [1200, 1200]; // pixels of a picture in a file, at most
const ITEMS = 4000; // markers that are items of a chart, at most

export class MapDrawing {
  constructor(chart) {
    this.chart = chart;
    this.zoom = null; // a Zoom, once a reader has come near
    this.beside = null; // a Beside, once there were many cells
    this.last = null; // what it found last, {picture, target}
  }

  part = (map) => this.zoom?.partOf(map) ?? wholeOf(map);

  // colours: [ramp, looks of markers, paper], see map_picture.js
  image(shown, colours) {
    const part = this.part(shown.map);
    const { picture, markers } = this.drawn(shown, part, this.pixels);
    if (this.colours?.[0] !== colours[0]) this.colours = colours;
    return mapPicture({ picture, part, markers }, ...colours, this.place);
  }

  // The same of the whole map in a small place, null as long as it is not worked out.
  small(shown, place) {
    const part = wholeOf(shown.map);
    const asked = [shown, part, pixelsOf(place)];
    const long = this.isLong(shown, part);
    const found = long ? this.beside?.picture(...asked, "overview") : { done: true };
    if (!found) return null;
    const { picture = shown.picture(part, pixelsOf(place)), target, done } = found;
    const of = { picture, part, markers: shown.markers(part, target), square: 1 };
    return { image: mapPicture(of, ...this.colours, place), done };
  }

  // Of the plot, once it has a size.
  get place() {
    const { view } = this.chart;
    return view && { width: view.width(), height: view.height() };
  }

  get pixels() {
    return this.place ? pixelsOf(this.place) : FIRST;
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
    const markers = shown.markers(part).filter((each) => isIn(part, each));
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

  // The picture of a part in so many pixels, [across, down], and the markers in its rows.
  drawn(shown, part, pixels) {
    const found = this.isLong(shown, part)
      ? this.beside.picture(shown, part, pixels)
      : here(shown, part, pixels);
    if (found) this.last = found;
    const { picture, target } = this.last;
    const drawn = found ? picture : moved(picture, part, pixels);
    return { picture: drawn, markers: shown.markers(part, target) };
  }

  // Whether a worker is to draw a part, whose rows have to be worked out as a whole. Paper does not
  // wait for it.
  isLong({ map }, part) {
    return !this.zoom?.onPaper && isMany(map, part);
  }

  // Waits until a map can be drawn.
  async ready(shown) {
    const part = this.part(shown.map);
    if (!this.isLong(shown, wholeOf(shown.map))) return;
    this.beside ??= await this.besides();
    if (!this.isLong(shown, part)) return;
    this.last = await this.beside.first(shown, part, this.pixels);
  }

  async besides() {
    const { chart } = this;
    const { Beside } = await import("./map_beside.js");
    const draw = latest(async () => this.beside && (await chart.repainted()?.runAsync()));
    const ready = (place) => (place === "map" ? draw() : this.zoom?.overview.draw());
    return new Beside(ready, (sentence) => chart.figure.remark("worker", sentence));
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
      if (!this.zoom) this.toZoom = null; // there was no chart meanwhile
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

// What the page itself works out of a part: its picture, and the targets of its rows.
function here({ map, picture }, part, pixels) {
  const { top, rows } = part;
  const target = (i, k) => (i < top || i >= top + rows ? -1 : map.target(i, k));
  return { picture: picture(part, pixels), target };
}
