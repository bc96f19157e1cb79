// The picture of a part of a map of many cells, little by little: of a few rows first, spread over the
// part, then of the rows between them, ever closer. Now and then others have their turn, and a
// picture of what is there is shown.

import { RANKS } from "../data/ranking.js";
import { Raster } from "../data/raster.js";

const FIRST = 60_000; // cells of the first picture, about
const TURN = 8; // ms after which others have their turn
const SHOWN = 120; // ms between two later pictures

// task: {look, part, pixels}, see raster.js; isOver: whether nobody waits for it any more
// yields {picture, targets, look, done}, the last one done; targets: RANKS a row of the part, -1 where
// there are no more or none is known yet; look: with the ends of its colours
export async function* inBands(map, { look, part, pixels }, isOver) {
  const raster = new Raster(map, look, part, ...pixels);
  const targets = new Int32Array(part.rows * RANKS).fill(-1);
  let stride = firstStride(map, part);
  const found = () => ({ picture: raster.picture, targets: targets.slice(), look });
  let [turn, shown, first] = [performance.now(), 0, true];
  for (const rows of inFours(part, stride)) {
    if (first && rows.stride < stride) {
      first = false;
      yield { ...found(), done: false };
      [turn, shown] = [performance.now(), performance.now()];
    }
    map.ahead?.(rows.of);
    for (const i of new Set(rows.of)) {
      raster.add(i);
      for (let k = 0; k < RANKS; k++) targets[(i - part.top) * RANKS + k] = map.target(i, k) ?? -1;
    }
    if (performance.now() - turn < TURN) continue;
    await breath();
    if (isOver()) return;
    turn = performance.now();
    if (first || turn - shown < SHOWN) continue;
    yield { ...found(), done: false };
    shown = performance.now();
  }
  yield { ...found(), done: true };
}

// A power of two: of so many rows one is in the first picture.
function firstStride({ first, last }, { top, rows }) {
  let cells = 0;
  for (let i = top; i < top + rows; i++) cells += last[i] - first[i] + 1;
  return 2 ** Math.max(0, Math.round(Math.log2(cells / FIRST)));
}

// The rows of a part, four at a time, each row once, those of the largest stride first.
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

const breath = () =>
  new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(null);
  });
