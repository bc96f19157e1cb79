// The picture of a part of a map of many cells: in bands, each of which a worker may work out, and
// little by little. A few rows come first, spread over the band, then the rows between them, ever
// closer. Now and then others have their turn, and what is there is shown.

import { RANKS } from "../data/ranking.js";
import { cellsOf, Raster, rowsOfPixels } from "../data/raster.js";

const FIRST = 60_000; // cells of the first picture, about, in all bands
const TURN = 8; // ms after which others have their turn
const SHOWN = 120; // ms between two later pictures
const FRAME = 18; // ms in which the page paints the first picture: all workers but one leave it a core

// At most so many bands of a part, {top, rows}, with about as many cells each. A row of pixels is in
// one band only.
export function bandsOf(map, part, [, down], count) {
  const ofRow = rowsOfPixels(part, down);
  const share = cellsOf(map, part) / count;
  const tops = [0];
  for (let n = 1, cells = 0; n < part.rows; n++) {
    cells += cellsOf(map, { top: part.top + n - 1, rows: 1 });
    if (ofRow[n] > ofRow[n - 1] && cells >= share * tops.length) tops.push(n);
  }
  return tops.map((n, k) => ({ top: part.top + n, rows: (tops[k + 1] ?? part.rows) - n }));
}

// task: {look, part, pixels}, see raster.js, and the band; isOver: whether nobody waits for it any more
// yields {picture, targets, look, done}, the last one done
//   picture  {across, down, from, shades, part}: the shades of the band, whose first row of pixels is
//            `from` of the `down` that the part has
//   targets  RANKS a row of the band, -1 where there are no more or none is known yet
//   look     with the ends of its colours
export async function* inBand(map, { look, part, pixels, band }, isOver) {
  const raster = new Raster(map, look, part, pixels, band);
  const targets = new Int32Array(band.rows * RANKS).fill(-1);
  const stride = firstStride(map, part);
  const found = (done) => ({ picture: raster.picture, targets, look, done });
  let [turn, shown, first] = [performance.now(), 0, true];
  for (const rows of inFours(band, stride)) {
    if (first && rows.stride < stride) {
      first = false;
      yield found(false);
      if (band.top > part.top) await rest();
      [turn, shown] = [performance.now(), performance.now()];
    }
    map.ahead?.(rows.of);
    for (const i of new Set(rows.of)) {
      raster.add(i);
      for (let k = 0; k < RANKS; k++) targets[(i - band.top) * RANKS + k] = map.target(i, k) ?? -1;
    }
    if (performance.now() - turn < TURN) continue;
    await breath();
    if (isOver()) return;
    turn = performance.now();
    if (first || turn - shown < SHOWN) continue;
    yield found(false);
    shown = performance.now();
  }
  yield found(true);
}

// A power of two: of so many rows one is in the first picture.
const firstStride = (map, part) =>
  2 ** Math.max(0, Math.round(Math.log2(cellsOf(map, part) / FIRST)));

// The rows of a band, four at a time, each row once, those of the largest stride first.
function* inFours({ top, rows }, largest) {
  for (let stride = largest; stride >= 1; stride /= 2) {
    const step = stride === largest ? stride : 2 * stride; // rows between have been there
    const from = stride === largest ? 0 : stride;
    for (let row = from; row < rows; row += 4 * step) {
      const of = [0, 1, 2, 3].map((n) => row + n * step).filter((each) => each < rows);
      while (of.length < 4) of.push(of.at(-1));
      yield { stride, of: of.map((each) => top + each) };
    }
  }
}

const rest = () => new Promise((done) => setTimeout(done, FRAME));
const breath = () =>
  new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(null);
  });
