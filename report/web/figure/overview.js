// The overview beside a map that is zoomed in: the whole map, small, with a frame around the part
// that the chart shows. The frame can be dragged, and a press beside it brings it there. The chart
// has keys for the same, so the overview is hidden from screen readers.

const SIZE = 150; // pixels of an edge

export class Overview {
  // zoom: the `Zoom` of the chart (zoom.js)
  constructor(zoom) {
    this.zoom = zoom;
    this.element = make("div", "live-figure__overview");
    this.element.setAttribute("aria-hidden", "true");
    this.picture = this.element.appendChild(make("canvas", ""));
    this.frame = this.element.appendChild(make("div", "live-figure__frame"));
    this.title = make("div", "live-figure__shade"); // above the legend, which Vega draws
    this.watch();
  }

  end() {
    this.element.remove();
    this.title.remove();
  }

  // part: the cells that the chart shows, {top, left, rows, columns}; null removes the overview
  // aside: where it is, "right" or "below"
  show(part, aside) {
    const { element, frame, zoom } = this;
    if (!part) return this.end();
    if (!element.isConnected) zoom.chart.element.append(element, this.title);
    const { view } = zoom.chart;
    const { left, top } = view.padding();
    const [x, y] = view.origin();
    element.dataset.aside = aside;
    const [right, bottom] = [left + x + view.width(), top + y + view.height()];
    const place = (which, across, down) =>
      Object.assign(which.style, { left: `${across}px`, top: `${down}px` });
    if (aside === "right") place(element, right + 16, top + y);
    else place(element, 4, bottom + 104);
    // as map_part.py places the legend
    if (aside === "right") place(this.title, right + 16, top + y + 176);
    else place(this.title, left + x + 150, bottom + 104);
    this.title.textContent = zoom.map.backward ? zoom.chart.map.shade : "";
    const { size } = zoom.map;
    const share = (cells) => `${(100 * cells) / size}%`;
    Object.assign(frame.style, {
      left: share(part.left), top: share(part.top),
      width: share(part.columns), height: share(part.rows),
    });
    this.draw();
  }

  // Draws the small map, unless it is finished for this map and these colours.
  draw() {
    const { map } = this.zoom.chart;
    const { shown } = this.zoom.chart;
    const finished = this.drawnFor === shown && this.colours === map?.colours;
    if (!map || !this.element.isConnected || finished) return;
    const drawn = map.small(shown, { width: SIZE, height: SIZE });
    if (!drawn) return; // `draw` is called again once there is
    [this.drawnFor, this.colours] = drawn.done ? [shown, map.colours] : [];
    const side = SIZE * Math.ceil(devicePixelRatio);
    Object.assign(this.picture, { width: side, height: side });
    const pen = this.picture.getContext("2d");
    pen.imageSmoothingEnabled = false;
    pen.drawImage(drawn.image, 0, 0, side, side);
  }

  watch() {
    const { element, zoom } = this;
    let grip = null; // where the frame is held, [rows, columns] from its corner
    const placeOf = (event) => {
      const { left, top, width, height } = this.picture.getBoundingClientRect();
      const { size } = zoom.map;
      return [((event.clientY - top) * size) / height, ((event.clientX - left) * size) / width];
    };
    const move = (event) => {
      const [row, column] = placeOf(event);
      const { rows } = zoom.wanted;
      zoom.to({ top: row - grip[0], left: column - grip[1], rows }, false);
    };
    element.addEventListener("pointerdown", (event) => {
      if (!zoom.wanted) return;
      event.preventDefault();
      element.setPointerCapture(event.pointerId);
      const [row, column] = placeOf(event);
      const { top, left, rows, columns } = zoom.shown;
      const held = [row - top, column - left];
      const inside = held[0] >= 0 && held[0] < rows && held[1] >= 0 && held[1] < columns;
      grip = inside ? held : [rows / 2, columns / 2];
      move(event);
    });
    element.addEventListener("pointermove", (event) => grip && zoom.wanted && move(event));
    for (const type of ["pointerup", "pointercancel"]) {
      element.addEventListener(type, () => (grip = null));
    }
  }
}

const make = (name, className) => Object.assign(document.createElement(name), { className });
