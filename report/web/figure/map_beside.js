// Pictures of a chart's map that take long, worked out in workers, each of which has a band of them: a
// coarse one first. Without workers, which a browser may forbid or lose, the page itself works them
// out, little by little.

import { RANKS } from "../data/ranking.js";
import { cellsOf } from "../data/raster.js";
import { bandsOf, inBand } from "./map_bands.js";

const WORTH = 500_000; // cells that are worth a worker: each has to read the whole file
const WORKERS = navigator.hardwareConcurrency > 1 ? 2 : 1; // at most
const PAINTED = 100; // ms after which a picture is seen, and what a pointer will ask for is prepared
const WITHOUT =
  "The browser started no worker, so the map takes longer.";

export class Beside {
  // ready: called with a place when its picture is new; say: tells the reader a sentence
  constructor(ready, say) {
    this.ready = ready;
    this.say = say;
    this.number = 0; // of the task that was asked for last
    // by name of the place, what is drawn there
    //   asked, task, map              what it is of
    //   bands, done, shades, targets  what has come of it: whether each band is done, by its first row
    //   found                         a picture, once something of each band came
    //   waiting                       {done, fail} of those who wait for it
    this.places = {};
    this.helpers = []; // workers, and what each was sent
    this.ids = new WeakMap(); // file -> what the workers know it by
    this.files = 0; // how many there were
  }

  // The best picture of a part that there is, {picture, target, done}; null as long as there is none.
  // One that is not asked for yet is begun, in place of the one before.
  // pixels: [across, down]; place: a name
  picture({ map, look }, part, pixels, place = "map") {
    const id = this.idOf(map.shard);
    const asked = JSON.stringify([id, look.of, look.firsts, part, pixels]);
    const here = (this.places[place] ??= { waiting: [] });
    if (asked !== here.asked) {
      const task = { id, number: (this.number += 1), place, look, part, pixels };
      Object.assign(here, { asked, task, map, found: null });
      this.begin(here);
    }
    return here.found;
  }

  idOf(file) {
    if (!this.ids.has(file)) this.ids.set(file, (this.files += 1));
    return this.ids.get(file);
  }

  // The same, once there is one.
  async first(...asked) {
    for (;;) {
      const found = this.picture(...asked);
      if (found) return found;
      // or what another asked for
      await new Promise((done, fail) => this.places.map.waiting.push({ done, fail }));
    }
  }

  begin(here) {
    const { map, task } = here;
    const { part, pixels, id } = task;
    const count = Math.min(Math.max(1, Math.round(cellsOf(map, part) / WORTH)), WORKERS);
    const helpers = this.helpersOf(count);
    if (!helpers) return this.alone(here);
    this.divide(here, bandsOf(map, part, pixels, count));
    here.bands.forEach((band, n) => {
      const { worker } = helpers[n];
      worker.postMessage({ ...task, band, ...this.unsent(map.shard, id, helpers[n]) });
    });
  }

  divide(here, bands) {
    const { rows } = here.task.part;
    Object.assign(here, { bands, done: new Map(), shades: null });
    here.targets = new Int32Array(rows * RANKS).fill(-1);
  }

  // What a worker needs of a file; the keys that it had last, it keeps.
  unsent({ keys, ...shard }, id, helper) {
    const has = helper.sent;
    const keyId = keys && this.idOf(keys);
    helper.sent = { id, keyId: keyId ?? has?.keyId };
    if (has?.id === id) return {};
    return { shard, keyId, ...(has?.keyId === keyId ? {} : { keys }) };
  }

  // So many workers, {worker, sent}; null if there are none.
  helpersOf(count) {
    try {
      while (!this.lost && this.helpers.length < count) this.helpers.push({ worker: this.started() });
    } catch {
      this.lose();
    }
    return this.lost ? null : this.helpers;
  }

  started() {
    const worker = new Worker(new URL("map_worker.js", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }) => this.take(data);
    worker.onerror = (event) => {
      event.preventDefault();
      if (this.lost) return;
      this.lose();
      for (const here of Object.values(this.places)) this.alone(here);
    };
    return worker;
  }

  lose() {
    this.stop();
    this.lost = true;
    this.say(WITHOUT);
  }

  stop() {
    for (const { worker } of this.helpers) worker.terminate();
  }

  async alone(here) {
    const { map, task } = here;
    const band = task.part;
    const isOver = () => task.number !== here.task.number;
    this.divide(here, [band]);
    try {
      for await (const found of inBand(map, { ...task, band }, isOver)) {
        this.take({ ...task, band, ...found });
      }
    } catch (failed) {
      this.take({ ...task, failed });
    }
  }

  take({ number, place, failed, ...found }) {
    const here = this.places[place];
    if (number !== here.task.number || !here.asked) return; // of what was shown before, or failed
    if (failed) return this.fail(here, failed);
    Object.assign(here.task.look, found.look); // the page has not worked out the ends of its colours
    this.join(here, found);
    if (!here.found) return;
    if (here.found.done) setTimeout(() => here.map.row(0), PAINTED);
    const { waiting } = here;
    here.waiting = [];
    if (waiting.length) for (const each of waiting) each.done();
    else this.ready(place);
  }

  // Adds what came of a band. There is a picture once something has come of each.
  join(here, { band, picture: { across, down, from, shades, part }, targets, done }) {
    const { top, rows } = part;
    here.shades ??= new Uint8Array(across * down);
    here.shades.set(shades, from * across);
    here.targets.set(targets, (band.top - top) * RANKS);
    here.done.set(band.top, done);
    if (here.done.size < here.bands.length) return;
    const all = here.targets;
    const target = (i, k) => (i < top || i >= top + rows ? -1 : all[(i - top) * RANKS + k]);
    const picture = { across, down, shades: here.shades, part };
    here.found = { picture, target, done: [...here.done.values()].every(Boolean) };
  }

  // A file is damaged: whoever waits for its picture tells the reader.
  fail(here, error) {
    console.warn(error);
    for (const each of here.waiting.splice(0)) each.fail(error);
    here.asked = null; // it may be tried again
  }

  end() {
    this.stop();
    for (const here of Object.values(this.places)) here.task = { number: -1 };
  }
}
