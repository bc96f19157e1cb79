// Works out a picture of a map of many cells, or a band of it, beside the page, so that the page goes
// on answering. It is sent the file of a head, and what of it to draw, and answers with shades and the
// largest targets (map_bands.js): of some rows first, then of more, at last of all. There may be a
// picture of a part and one of the whole map at once: each has its place, in which a later task ends
// the one before.

import { attention } from "../data/shard.js";
import { ofRegions } from "../data/regions.js";
import { inBand } from "./map_bands.js";

let kept = {}; // the file that came last: {id, map}
let keys; // of the heads of a group, as long as no others come
const newest = {}; // number of the last task, by place

addEventListener("message", async ({ data: { id, shard, keyId, keys: sent, ...task } }) => {
  newest[task.place] = task.number;
  if (sent) keys = sent;
  if (kept.id !== id) kept = { id, map: attention(keyId ? { ...shard, keys } : shard) };
  const isOver = () => task.number !== newest[task.place];
  const { number, place, band } = task;
  const tell = (found) => postMessage({ number, place, band, ...found });
  try {
    const { firsts } = task.look;
    const map = firsts ? ofRegions(kept.map, firsts) : kept.map;
    for await (const found of inBand(map, task, isOver)) {
      if (isOver()) return;
      tell(found);
    }
  } catch (failed) {
    tell({ failed }); // of a damaged file, which the page has not looked into
  }
});
