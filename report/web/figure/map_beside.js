// Pictures of a chart's map that take long, worked out in a worker: a coarse one first. Without a
// worker, which a browser may forbid or lose, the page itself works them out, little by little.

import { RANKS } from "../data/ranking.js";
import { inBands } from "./map_bands.js";

const WITHOUT =
  "The browser started no worker, so the map takes longer.";

export class Beside {
  // ready: called with a place when its picture is new; say: tells the reader a sentence
  constructor(ready, say) {
    this.ready = ready;
    this.say = say;
    this.number = 0; // of the task that was asked for last
    this.places = {}; // by name: {asked, task, map, found, waiting: [{done, fail}]}
    this.ids = new WeakMap(); // file -> what the worker knows it by
    this.files = 0; // how many there were
  }

  // The best picture of a part that there is, {picture, target, done}; null as long as there is none.
  // One that is not asked for yet is begun, in place of the one before.
  // pixels: [across, down]; place: a name
  picture({ map, look }, part, pixels, place = "map") {
    const id = this.idOf(map.shard);
    const asked = JSON.stringify([id, look.of, part, pixels]);
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

  begin({ map, task }) {
    if (!this.lost) this.worker ??= this.started();
    if (this.lost) return this.here(map, task);
    this.worker.postMessage({ ...task, ...this.unsent(map.shard, task.id) });
  }

  // What the worker needs of a file; the keys that it had last, it keeps.
  unsent({ keys, ...shard }, id) {
    const has = this.sent;
    const keyId = keys && this.idOf(keys);
    this.sent = { id, keyId: keyId ?? has?.keyId };
    if (has?.id === id) return {};
    return { shard, keyId, ...(has?.keyId === keyId ? {} : { keys }) };
  }

  started() {
    try {
      const worker = new Worker(new URL("map_worker.js", import.meta.url), { type: "module" });
      worker.onmessage = ({ data }) => this.take(data);
      worker.onerror = (event) => {
        event.preventDefault();
        this.lose(worker);
        for (const { map, task } of Object.values(this.places)) this.here(map, task);
      };
      return worker;
    } catch {
      return this.lose();
    }
  }

  lose(worker) {
    worker?.terminate();
    this.lost = true;
    this.say(WITHOUT);
  }

  async here(map, task) {
    const isOver = () => task.number !== this.places[task.place].task.number;
    try {
      for await (const found of inBands(map, task, isOver)) this.take({ ...task, ...found });
    } catch (failed) {
      this.take({ ...task, failed });
    }
  }

  take({ number, place, picture, targets, look, done, failed }) {
    const here = this.places[place];
    if (number !== here.task.number) return; // of what was shown before
    if (failed) return this.fail(here, failed);
    Object.assign(here.task.look, look); // the page has not worked out the ends of its colours
    const { top, rows } = here.task.part;
    const target = (i, k) => (i < top || i >= top + rows ? -1 : targets[(i - top) * RANKS + k]);
    here.found = { picture, target, done };
    if (done) setTimeout(() => here.map.row(0)); // what a pointer will ask for is then at hand
    const { waiting } = here;
    here.waiting = [];
    if (waiting.length) for (const each of waiting) each.done();
    else this.ready(place);
  }

  // A file is damaged: whoever waits for its picture tells the reader.
  fail(here, error) {
    console.warn(error);
    for (const each of here.waiting.splice(0)) each.fail(error);
    here.asked = null; // it may be tried again
  }

  end() {
    this.worker?.terminate();
    for (const here of Object.values(this.places)) here.task = { number: -1 };
  }
}
