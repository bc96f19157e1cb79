// The shades of an attention map, a number a pixel: 0 where no cell is visible, else 1 to 255 from
// the lowest to the highest. Cells that share a pixel have the shade of the one that gets the
// largest probability, so that none that gets much is lost, however many there are. Pure functions,
// for the page and for the worker that helps it (map_worker.js). The twin of
// report/figures/parts/raster.py.
//
// A part of a map is {top, left, rows, columns}, cells. A look is what the shades tell:
//   of         a name of OF_ROWS
//   low, high  values of the first and the last colour, in nats; where it has none, a picture adds them

// Whether a part of a map has too many cells for a picture at once, by the page itself: workers then
// make it. They are worth their messages sooner where cells are products of queries and keys.
export const isMany = (map, part) => cellsOf(map, part) > (map.ahead ? 100_000 : 200_000);

export const wholeOf = ({ size }) => ({ top: 0, left: 0, rows: size, columns: size });

// How many cells of some rows are visible.
export function cellsOf({ first, last }, { top, rows }) {
  let cells = 0;
  for (let i = top; i < top + rows; i++) cells += last[i] - first[i] + 1;
  return cells;
}

// What the shade of a cell tells, in nats: its score less this of its row. Twin of `shaded` in
// report/figures/parts/shading.py, as are the ends of the colours.
const OF_ROWS = {
  probability: (map, i) => map.normalizer(i),
  below: (map, i) => map.capped(i, map.target(i, 0)), // the largest
  score: () => 0,
};
export const ENDS = { probability: [Math.log(0.001), 0], below: [-8, 0] };

// A look, with the ends of its colours.
export function withEnds(map, look) {
  if (look.low === undefined) [look.low, look.high] = ENDS[look.of] ?? scoreRange(map);
  return look;
}

// The scores of the first and the last colour: two quantiles of at most 2048 cells, for speed; of many
// cells nearly, as else all of them had to be worked out first.
function scoreRange(map) {
  const count = cellsOf(map, wholeOf(map));
  const stride = Math.ceil(count / 2048);
  const sample = new Float64Array(Math.ceil(count / stride));
  const score = isMany(map, wholeOf(map)) ? map.nearly : map.capped;
  for (let n = 0, i = 0; n < sample.length; n++) {
    while (map.cell(i, map.last[i]) < n * stride) i++;
    sample[n] = score(i, n * stride - map.cell(i, 0));
  }
  sample.sort();
  const [low, high] = [0.02, 0.98].map((part) => sample[Math.trunc(part * (sample.length - 1))]);
  return [low, Math.max(high, low + 1e-6)];
}

// A picture to be, in pixels, [across, down], of a part, or a band of it; of few cells it has fewer
// pixels. Cells are added to it in any order.
export class Raster {
  constructor(map, look, part, [across, down], band = part) {
    const { of, low, high } = withEnds(map, look);
    Object.assign(this, { map, part });
    this.across = Math.min(across, part.columns);
    this.row = rowsOfPixels(part, down);
    this.down = this.row.at(-1) + 1; // of the whole part
    this.from = this.row[band.top - part.top]; // the first row of pixels of the band
    const rows = this.row[band.top - part.top + band.rows - 1] + 1 - this.from;
    this.shades = new Uint8Array(this.across * rows);
    this.largest = new Float64Array(this.shades.length).fill(-Infinity);
    this.filled = new Uint8Array(rows); // rows of pixels that have cells
    this.column = places(part.columns, this.across);
    this.end = ends(this.column, this.across);
    this.zeroOf = (i) => OF_ROWS[of](map, i) + low;
    this.unit = 254 / (high - low);
  }

  // Adds the cells of row i that are visible and in the part.
  add(i) {
    const { map, part, column, end, shades, largest, unit } = this;
    const pixels = this.row[i - part.top] - this.from;
    const last = Math.min(map.last[i], part.left + part.columns - 1);
    const first = Math.max(map.first[i], part.left);
    this.filled[pixels] = 1;
    if (first > last) return;
    const [scores, normalizer, zero] = [map.row(i), map.normalizer(i), this.zeroOf(i)];
    const before = map.first[i] - part.left; // columns of the part before the first score
    const start = pixels * this.across;
    for (let x = column[first - part.left], n = first - map.first[i]; n <= last - map.first[i]; x++) {
      const stop = Math.min(end[x] - before, last - map.first[i] + 1);
      let score = scores[n++];
      for (; n < stop; n++) if (scores[n] > score) score = scores[n];
      if (score - normalizer <= largest[start + x]) continue;
      largest[start + x] = score - normalizer;
      const shade = (score - zero) * unit + 1.5;
      shades[start + x] = shade < 1 ? 1 : shade > 255 ? 255 : shade;
    }
  }

  // Of the part, or of its band. Rows of pixels that have no cells yet are as the one above.
  get picture() {
    const { across, down, from, filled, part } = this;
    const shades = this.shades.slice();
    for (let y = 1; y < filled.length; y++) {
      if (!filled[y]) shades.copyWithin(y * across, (y - 1) * across, y * across);
    }
    return { across, down, from, shades, part };
  }
}

// The row of pixels of each row of a part.
export const rowsOfPixels = ({ rows }, down) => places(rows, Math.min(down, rows));

// The pixel of each of some cells in a row.
function places(cells, pixels) {
  const found = new Int32Array(cells);
  for (let n = 0; n < cells; n++) found[n] = Math.floor((n * pixels) / cells);
  return found;
}

// Where the cells of each pixel end.
function ends(places, pixels) {
  const found = new Int32Array(pixels);
  places.forEach((pixel, n) => (found[pixel] = n + 1));
  return found;
}

// The picture of a part, {across, down, shades, part}.
export function drawn(map, look, part, pixels) {
  const raster = new Raster(map, look, part, pixels);
  for (let i = part.top; i < part.top + part.rows; i++) raster.add(i);
  return raster.picture;
}

// What a picture of one part shows of another, as long as there is none of that: where the first
// does not reach, nothing.
export function moved({ across, down, shades, part: from }, part, [width, height]) {
  const [columns, rows] = [Math.min(width, part.columns), Math.min(height, part.rows)];
  const places = (count, first, cells, fromFirst, fromCells, pixels) =>
    Int32Array.from({ length: count }, (_, n) => {
      const cell = first + Math.ceil((n * cells) / count) - fromFirst; // the first of its pixel
      return cell < 0 || cell >= fromCells ? -1 : Math.floor((cell * pixels) / fromCells);
    });
  const column = places(columns, part.left, part.columns, from.left, from.columns, across);
  const row = places(rows, part.top, part.rows, from.top, from.rows, down);
  const found = new Uint8Array(columns * rows);
  for (let y = 0, n = 0; y < rows; y++) {
    for (let x = 0; x < columns; x++, n++) {
      if (row[y] >= 0 && column[x] >= 0) found[n] = shades[row[y] * across + column[x]];
    }
  }
  return { across: columns, down: rows, shades: found, part };
}

// The colours of a picture's shades, RGBA: four bytes each, written at once.
export function coloured({ shades }, ramp) {
  if (last.ramp !== ramp) last = { ramp, colours: coloursOf(ramp) };
  const { colours } = last;
  const pixels = new Uint32Array(shades.length);
  for (let n = 0; n < shades.length; n++) pixels[n] = colours[shades[n]];
  return new Uint8ClampedArray(pixels.buffer);
}

let last = {}; // colours of a ramp that were needed last

function coloursOf(ramp) {
  const list = Array.from({ length: 256 }, (_, n) => (n ? colour(ramp, (n - 1) / 254) : [0, 0, 0, 0]));
  return new Uint32Array(Uint8ClampedArray.from(list.flat()).buffer);
}

function colour(ramp, part) {
  const at = part * (ramp.length - 1);
  const low = Math.min(Math.floor(at), ramp.length - 2);
  const [from, to] = [ramp[low], ramp[low + 1]].map((text) =>
    [1, 3, 5].map((n) => parseInt(text.slice(n, n + 2), 16)),
  );
  return [...from.map((value, n) => Math.floor(value + (to[n] - value) * (at - low) + 0.5)), 255];
}
