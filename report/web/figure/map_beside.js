// Pictures of a chart's map that take long, worked out in a worker. The chart draws a coarse one
// meanwhile, and is told when a finer one is there. Without a worker, which a browser may forbid or
// lose, the page itself works them out, little by little.

import { inBands } from "./map_bands.js";

const WITHOUT =
  "The browser started no worker, so the map takes longer.";

export class Beside {
  // ready: called when `picture` has something new; say: tells the reader a sentence
  constructor(ready, say) {
    this.ready = ready;
    this.say = say;
    this.number = 0; // of the task that was asked for last
    this.asked = null; // what that was of, as a text
    this.found = null;
    this.ids = new WeakMap(); // file -> what the worker knows it by
    this.files = 0; // how many there were
  }

  // The best picture of a part that there is, null if there is none; one that is not asked for yet is
  // begun. pixels: [across, down]
  picture({ map, look }, part, pixels) {
    const { shard } = map;
    if (!this.ids.has(shard)) this.ids.set(shard, (this.files += 1));
    const id = this.ids.get(shard);
    const asked = JSON.stringify([id, look, part, pixels]);
    if (asked !== this.asked) {
      Object.assign(this, { asked, found: null, done: false, number: this.number + 1 });
      this.begin(map, { id, number: this.number, look, part, pixels });
    }
    return this.found;
  }

  begin(map, task) {
    this.task = { map, task };
    if (!this.lost) this.worker ??= this.started();
    if (this.lost) return this.here(map, task);
    const known = this.sent === task.id;
    this.sent = task.id;
    this.worker.postMessage({ ...task, ...(known ? {} : { shard: map.shard }) });
  }

  started() {
    try {
      const worker = new Worker(new URL("map_worker.js", import.meta.url), { type: "module" });
      worker.onmessage = ({ data }) => this.take(data);
      worker.onerror = (event) => {
        event.preventDefault();
        this.lose(worker);
        this.here(this.task.map, this.task.task);
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
    const isOver = () => task.number !== this.number;
    for await (const picture of inBands(map, task, isOver)) this.take({ ...task, ...picture });
  }

  take({ number, picture, done }) {
    if (number !== this.number) return; // of what was shown before
    this.found = picture;
    this.done = done;
    this.ready();
  }

  end() {
    this.worker?.terminate();
    this.number++;
  }
}
