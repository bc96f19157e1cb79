// The shades of an attention map, a number a pixel: 0 where no cell is visible, else 1 to 255 from
// the lowest to the highest. Cells that share a pixel have the shade of the one that gets the
// largest probability, so that none that gets much is lost, however many there are. Pure functions,
// for the page and for the worker that helps it (map_worker.js). The twin of
// report/figures/parts/raster.py.
//
// A part of a map is {top, left, rows, columns}, cells. A look is what the shades tell:
//   of         a name of OF_ROWS
//   low, high  values of the first and the last colour, in nats

export const wholeOf = ({ size }) => ({ top: 0, left: 0, rows: size, columns: size });

// What the shade of a cell tells, in nats: its score less this of its row. Twin of `shaded` in
// report/figures/parts/shading.py, as are the ends of the colours.
const OF_ROWS = {
  probability: ({ shard }) => shard.log_normalizer,
  below: (map) =>
    Array.from({ length: map.size }, (_, i) => map.capped(i, map.target(i, 0))), // the largest
  score: ({ size }) => new Float64Array(size),
};
export const ENDS = { probability: [Math.log(0.001), 0], below: [-8, 0] };

// A picture to be, `across` x `down` pixels of a part; of few cells it has fewer pixels. Cells are
// added to it in any order.
export class Raster {
  constructor(map, { of, low, high }, part, across, down) {
    this.map = map;
    this.part = part;
    this.across = Math.min(across, part.columns);
    this.down = Math.min(down, part.rows);
    this.shades = new Uint8Array(this.across * this.down);
    this.largest = new Float64Array(this.shades.length).fill(-Infinity);
    this.column = places(part.columns, this.across);
    this.row = places(part.rows, this.down);
    this.ofRows = OF_ROWS[of](map);
    this.low = low;
    this.unit = 254 / (high - low);
  }

  // Adds the cells of row i from target `from` to `to` that are visible and in the part, each
  // `stride`-th one. scores: a list of all visible cells; without it, each is worked out.
  add(i, from, to, scores = null, stride = 1) {
    const { map, part, column, shades, largest, unit } = this;
    const start = this.row[i - part.top] * this.across;
    const [place, normalizer] = [map.cell(i, 0), map.shard.log_normalizer[i]];
    const zero = this.ofRows[i] + this.low;
    const last = Math.min(to, map.last[i], part.left + part.columns - 1);
    const first = Math.max(from, map.first[i], part.left);
    for (let j = part.left + stride * Math.ceil((first - part.left) / stride); j <= last; j += stride) {
      const score = scores ? scores[place + j] : map.capped(i, j);
      const pixel = start + column[j - part.left];
      if (score - normalizer <= largest[pixel]) continue;
      largest[pixel] = score - normalizer;
      const shade = (score - zero) * unit + 1.5;
      shades[pixel] = shade < 1 ? 1 : shade > 255 ? 255 : shade;
    }
  }

  get picture() {
    const { across, down, shades } = this;
    return { across, down, shades };
  }
}

// The pixel of each of some cells in a row.
function places(cells, pixels) {
  return Int32Array.from({ length: cells }, (_, n) => Math.floor((n * pixels) / cells));
}

// How many cells of a part are visible.
export function cellsIn({ first, last }, { top, left, rows, columns }) {
  let count = 0;
  for (let i = top; i < top + rows; i++) {
    count += Math.max(0, Math.min(last[i], left + columns - 1) - Math.max(first[i], left) + 1);
  }
  return count;
}

// The picture of a part, {across, down, shades}. Of a stride above 1: of every n-th row and
// column, which is quickly there.
export function drawn(map, look, part, [across, down], scores = null, stride = 1) {
  const few = (pixels, cells) => Math.min(pixels, Math.ceil(cells / stride));
  const raster = new Raster(map, look, part, few(across, part.columns), few(down, part.rows));
  for (let i = part.top; i < part.top + part.rows; i += stride) {
    raster.add(i, 0, map.size, scores, stride);
  }
  return raster.picture;
}

// The colours of a picture's shades, RGBA: four bytes each, written at once.
export function coloured({ shades }, ramp) {
  const list = Array.from({ length: 256 }, (_, n) => (n ? colour(ramp, (n - 1) / 254) : [0, 0, 0, 0]));
  const colours = new Uint32Array(Uint8ClampedArray.from(list.flat()).buffer);
  const pixels = new Uint32Array(shades.length);
  for (let n = 0; n < shades.length; n++) pixels[n] = colours[shades[n]];
  return new Uint8ClampedArray(pixels.buffer);
}

function colour(ramp, part) {
  const at = part * (ramp.length - 1);
  const low = Math.min(Math.floor(at), ramp.length - 2);
  const [from, to] = [ramp[low], ramp[low + 1]].map((text) =>
    [1, 3, 5].map((n) => parseInt(text.slice(n, n + 2), 16)),
  );
  return [...from.map((value, n) => Math.floor(value + (to[n] - value) * (at - low) + 0.5)), 255];
}
