// An attention map as one picture, drawn without Vega: a pixel a cell, enlarged, with the markers
// on top. Where markers are tiny, they are pixels too, and Vega enlarges the whole. Thousands of
// markers are too many to be items of a chart that has to follow a slider. The specification still
// has them as items, for the still picture and for readers who take it away.
//
// The looks of the markers come from the specification, usermeta.report.kinds: {kind: [shape,
// colour on light, colour on dark]}; shapes and sizes are those of Vega.

// shown: what a decoder of maps returns
// ramp:  colours of the scores
// kinds: [kind, shape, colour] of the markers
// place: {width, height} of the plot in pixels; null as long as nobody knows, then only cells
export function mapPicture({ map, picture, datasets }, ramp, kinds, paper, place) {
  const { size } = map;
  const pixels = picture(ramp);
  if (!place) return pictureOf(pixels, size);
  const { width, height } = place;
  const side = Math.sqrt(Math.min(Math.max(1.5 * (width / size) ** 2, 9), 150));
  if (side * devicePixelRatio < FEW_PIXELS) {
    const cells = Math.max(1, Math.round((side * size) / width));
    stamp(new Uint32Array(pixels.buffer), size, datasets.markers, kinds, cells);
    return pictureOf(pixels, size);
  }
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  const pen = canvas.getContext("2d");
  pen.imageSmoothingEnabled = false;
  pen.drawImage(pictureOf(pixels, size), 0, 0, canvas.width, canvas.height);
  pen.scale(canvas.width / width, canvas.height / height);
  // of markers on top of each other nothing but their outlines would be seen
  pen.strokeStyle = width / size > 1.5 ? paper : "transparent";
  pen.lineWidth = width / size > 3 ? 0.5 : 0.25;
  const spots = spotsOf(datasets.markers, place, size, side);
  for (const [kind, shape, colour] of kinds) {
    pen.fillStyle = colour;
    outline(pen, spots[kind] ?? [], side / 2, SHAPES[shape]);
  }
  return canvas;
}

function pictureOf(pixels, size) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  canvas.getContext("2d").putImageData(new ImageData(pixels, size, size), 0, 0);
  return canvas;
}

const FEW_PIXELS = 4; // no shape or outline of a marker can be told in so few, and thousands take time

// Colours `cells` x `cells` cells for every marker, around its own; later kinds above earlier ones.
function stamp(pixels, size, markers, kinds, cells) {
  const within = (at) => Math.min(Math.max(at - (cells >> 1), 0), size - cells);
  for (const [kind, , colour] of kinds) {
    const bytes = [1, 3, 5].map((n) => parseInt(colour.slice(n, n + 2), 16));
    const [value] = new Uint32Array(Uint8Array.of(...bytes, 255).buffer);
    for (const { current_token, target_token, kind: its } of markers) {
      if (its !== kind) continue;
      const [top, left] = [within(current_token), within(target_token)];
      for (let row = top; row < top + cells; row++) {
        pixels.fill(value, row * size + left, row * size + left + cells);
      }
    }
  }
}

// Where markers are: {kind: [x, y, x, y, ...]} in pixels of the plot.
function spotsOf(markers, { width, height }, size, side) {
  const [across, down] = [width / size, height / size];
  const spots = {};
  // those of the first and the last token are larger than their cells, and stay within the plot
  const within = (at, length) => Math.min(Math.max(at, side / 2), length - side / 2);
  for (const { current_token, target_token, kind } of markers) {
    spots[kind] ??= [];
    spots[kind].push(within((target_token + 0.5) * across, width));
    spots[kind].push(within((current_token + 0.5) * down, height));
  }
  return spots;
}

function outline(pen, spots, r, shape) {
  const path = new Path2D();
  for (let n = 0; n < spots.length; n += 2) shape(path, spots[n], spots[n + 1], r);
  pen.fill(path);
  pen.stroke(path);
}

const polygon = (corners) => (path, x, y, r) => {
  path.moveTo(x + corners[0][0] * r, y + corners[0][1] * r);
  for (let n = 1; n < corners.length; n++) path.lineTo(x + corners[n][0] * r, y + corners[n][1] * r);
  path.closePath();
};
const HIGH = Math.sqrt(3) / 2; // of a triangle with equal sides, and of its half side
const ARM = 0.4; // half the width of the arms of a cross

// Adds a shape to a path, around (x, y), within r of it. Names as in Vega.
const SHAPES = {
  circle: (path, x, y, r) => {
    path.moveTo(x + r, y);
    path.arc(x, y, r, 0, 2 * Math.PI);
  },
  square: (path, x, y, r) => path.rect(x - r, y - r, 2 * r, 2 * r),
  "triangle-up": polygon([[0, -HIGH], [-1, HIGH], [1, HIGH]]),
  "triangle-down": polygon([[0, HIGH], [-1, -HIGH], [1, -HIGH]]),
  diamond: polygon([[-1, 0], [0, -1], [1, 0], [0, 1]]),
  cross: polygon([
    [-1, -ARM], [-1, ARM], [-ARM, ARM], [-ARM, 1], [ARM, 1], [ARM, ARM], [1, ARM], [1, -ARM],
    [ARM, -ARM], [ARM, -1], [-ARM, -1], [-ARM, -ARM],
  ]),
};
