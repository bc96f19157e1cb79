// Draws a chart from a Vega specification; Vega is fetched once, when a figure first needs it.

import { compiledBy, linesOf } from "./expressions.js";
import { escaped } from "../reader/words.js";

let library;

// A promise of the module of Vega.
export function loadLibrary() {
  library ??= import("../vega.js").catch((error) => {
    library = null; // it may be tried again
    throw error;
  });
  return library;
}

// A promise of a running view of `spec` in the element `box`. It has its data from the beginning:
// scales of an empty chart would have no domain, and the chart would be drawn twice.
// datasets: {name: rows}; values: {signal: value}
export async function draw(box, spec, datasets, values) {
  const { View, parse, expressionInterpreter, Handler } = await loadLibrary();
  const data = spec.data.map((each) => ({ ...each, values: datasets[each.name] ?? each.values }));
  // the tree of each expression: no eval, so a strict content policy may stand
  const signals = spec.signals.map((each) =>
    each.name in values ? { ...each, value: values[each.name] } : each,
  );
  const parsed = parse({ ...spec, data, signals }, {}, { ast: true });
  await breath();
  const { call } = new Handler({ theme: "figure", disableDefaultStyle: true, sanitize: escaped });
  const view = new View(parsed, {
    container: box,
    renderer: "canvas",
    expr: compiledBy(expressionInterpreter),
    logLevel: 1, // errors only: Vega warns of the empty layers that wait for a mark
    tooltip: (handler, event, item, lines) => call(handler, event, item, linesOf(lines)),
  });
  await breath();
  breatheBeforeDrawing(view);
  return view.runAsync();
}

// Vega evaluates and draws a new chart, and does so again once its size is known, all in one task:
// here it is drawn once, in a task of its own. A slider's step is drawn as it comes.
function breatheBeforeDrawing({ _renderer: renderer }) {
  if (!renderer) return; // private to Vega, which may rename it
  let first;
  const drawFirst = async (scene) => {
    await breath();
    delete renderer.renderAsync;
    return renderer.renderAsync(scene);
  };
  renderer.renderAsync = (scene) => (first ??= drawFirst(scene));
}

// Ends the task, so that the page can answer its reader before the next slow step.
const breath = () =>
  new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(null);
  });
