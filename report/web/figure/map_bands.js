// The picture of a map of many cells, band by band: from the diagonal, near which a token looks
// most, to the cells furthest from it. Between two bands others have their turn, and a picture of
// what is there is shown now and then.

import { Raster } from "../data/raster.js";

const BAND = 60_000; // cells, about: a few ms
const SHOWN = 120; // ms between two pictures that are not complete

// task: {look, part, pixels}, see raster.js; isOver: whether nobody waits for it any more
// yields {picture, done}, the last one done
export async function* inBands(map, { look, part, pixels }, isOver) {
  const raster = new Raster(map, look, part, ...pixels);
  const width = Math.max(1, Math.ceil(BAND / part.rows));
  const [last, first] = reach(map, part);
  let shown = performance.now();
  for (let from = Math.max(0, first, -last); from <= Math.max(last, -first); from += width) {
    for (let i = part.top; i < part.top + part.rows; i++) {
      if (from <= last) raster.add(i, i - from - width + 1, i - from);
      if (-from >= first) raster.add(i, i + Math.max(from, 1), i + from + width - 1);
    }
    await breath();
    if (isOver()) return;
    if (performance.now() - shown < SHOWN) continue;
    yield { picture: raster.picture, done: false };
    shown = performance.now();
  }
  yield { picture: raster.picture, done: true };
}

// The largest and the smallest distance, current less target, of the visible cells of a part.
function reach({ first, last }, { top, left, rows, columns }) {
  let [most, least] = [-Infinity, Infinity];
  for (let i = top; i < top + rows; i++) {
    const [from, to] = [Math.max(first[i], left), Math.min(last[i], left + columns - 1)];
    if (from > to) continue;
    most = Math.max(most, i - from);
    least = Math.min(least, i - to);
  }
  return [most, least];
}

const breath = () =>
  new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(null);
  });
