// An attention map as one picture, drawn without Vega: a pixel a cell, enlarged, with the markers
// on top; of cells smaller than a pixel of the screen, one for several. Where markers are tiny, they
// are pixels too, and Vega enlarges the whole. Thousands of markers are too many to be items of a
// chart that has to follow a slider. The specification still has them as items, for the still
// picture of a short passage and for readers who take it away.
//
// The looks of the markers come from the specification, usermeta.report.kinds: {kind: [shape,
// colour on light, colour on dark]}; shapes and sizes are those of Vega.

import { coloured } from "../data/raster.js";

// picture: of the part's shades, as raster.js makes it
// markers: of the whole map
// ramp:    colours of the scores
// kinds:   [kind, shape, colour] of the markers
// place:   {width, height} of the plot in pixels; null as long as nobody knows, then only cells
// square:  edge of every marker in pixels of the picture, where they are not to be shapes
export function mapPicture({ picture, markers, part, square }, ramp, kinds, paper, place) {
  const pixels = coloured(picture, ramp);
  if (!place) return pictureOf(pixels, picture);
  const { width, height } = place;
  const [across, down] = [width / part.columns, height / part.rows]; // of a cell
  // of regions, whose cells are larger, a part of the shorter side; as SPAN in parts/map.py
  const sideOf = ({ span = 1 }) => {
    const length = (span > 1 ? 0.6 * span : 1) * Math.min(across, down);
    return Math.sqrt(Math.min(Math.max(1.5 * length ** 2, 9), 150));
  };
  const seen = markers.filter((each) => isIn(part, each));
  const isSmall = (each) => square || sideOf(each) * devicePixelRatio < FEW_PIXELS;
  const shaped = seen.filter((each) => !isSmall(each));
  const edge = square ?? Math.max(1, Math.round((sideOf({}) * picture.across) / width));
  stamp(new Uint32Array(pixels.buffer), picture, part, seen.filter(isSmall), kinds, edge);
  if (!shaped.length) return pictureOf(pixels, picture);
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  const pen = canvas.getContext("2d");
  pen.imageSmoothingEnabled = false;
  pen.drawImage(pictureOf(pixels, picture), 0, 0, canvas.width, canvas.height);
  pen.scale(canvas.width / width, canvas.height / height);
  // of markers on top of each other nothing but their outlines would be seen
  const least = shaped.reduce((least, { span = 1 }) => Math.min(least, span * across), Infinity);
  pen.strokeStyle = least > 1.5 ? paper : "transparent";
  pen.lineWidth = least > 12 ? 2.2 : least > 3 ? 0.5 : 0.25;
  const spots = spotsOf(shaped, place, part, sideOf);
  for (const [kind, shape, colour] of kinds) {
    pen.fillStyle = colour;
    outline(pen, spots[kind] ?? [], SHAPES[shape]);
  }
  return canvas;
}

// How many pixels a picture may have in a plot, [across, down].
export const pixelsOf = ({ width, height }) =>
  [width, height].map((length) => Math.max(1, Math.round(length * devicePixelRatio)));

export function isIn({ top, left, rows, columns }, { current_token: i, target_token: j }) {
  return i >= top && i < top + rows && j >= left && j < left + columns;
}

function pictureOf(pixels, { across, down }) {
  const canvas = Object.assign(document.createElement("canvas"), { width: across, height: down });
  canvas.getContext("2d").putImageData(new ImageData(pixels, across, down), 0, 0);
  return canvas;
}

const FEW_PIXELS = 4; // no shape or outline of a marker can be told in so few, and thousands take time

// Colours `side` x `side` pixels for every marker, around its own; later kinds above earlier ones.
function stamp(pixels, { across, down }, { top, left, rows, columns }, markers, kinds, side) {
  const at = (cell, cells, all) =>
    Math.min(Math.max(Math.floor((cell * all) / cells) - (side >> 1), 0), Math.max(all - side, 0));
  for (const [kind, , colour] of kinds) {
    const bytes = [1, 3, 5].map((n) => parseInt(colour.slice(n, n + 2), 16));
    const [value] = new Uint32Array(Uint8ClampedArray.of(...bytes, 255).buffer);
    for (const { current_token, target_token, kind: its } of markers) {
      if (its !== kind) continue;
      const y = at(current_token - top, rows, down);
      const x = at(target_token - left, columns, across);
      for (let row = y; row < Math.min(y + side, down); row++) {
        pixels.fill(value, row * across + x, row * across + Math.min(x + side, across));
      }
    }
  }
}

// Where markers are, and half of their side: {kind: [x, y, r, x, y, r, ...]} in pixels of the plot.
function spotsOf(markers, { width, height }, { top, left, rows, columns }, sideOf) {
  const [across, down] = [width / columns, height / rows];
  const spots = {};
  // those of the first and the last token are larger than their cells, and stay within the plot
  const within = (at, r, length) => Math.min(Math.max(at, r), length - r);
  for (const each of markers) {
    const [x, y] = [(each.target_token - left + 0.5) * across, (each.current_token - top + 0.5) * down];
    const r = sideOf(each) / 2;
    (spots[each.kind] ??= []).push(within(x, r, width), within(y, r, height), r);
  }
  return spots;
}

function outline(pen, spots, shape) {
  const path = new Path2D();
  for (let n = 0; n < spots.length; n += 3) shape(path, spots[n], spots[n + 1], spots[n + 2]);
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
