// Works out the picture of a map of many cells beside the page, so that the page goes on answering.
// It is sent the file of a head, and what of it to draw, and answers with pictures (raster.js): of
// some cells first, those near the diagonal, then of more, at last of all.

import { attention } from "../data/shard.js";
import { inBands } from "./map_bands.js";

let kept = {}; // the file that came last: {id, map}
let newest; // number of the task that came last; others are given up

addEventListener("message", async ({ data: { id, shard, ...task } }) => {
  newest = task.number;
  if (kept.id !== id) kept = { id, map: attention(shard) };
  for await (const picture of inBands(kept.map, task, () => task.number !== newest)) {
    postMessage({ number: task.number, ...picture });
  }
});
