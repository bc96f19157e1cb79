// Draws a chart from a Vega specification. Vega itself is fetched once, when a figure first needs
// it.

import { compiledBy, told } from "./expressions.js";
import { escaped } from "../reader/words.js";

let library;

export function loadLibrary() {
  library ??= import("../vega.js").catch((error) => {
    library = null; // it may be tried again
    throw error;
  });
  return library;
}

// A running view of `spec` in `box`, with its first data at once: scales of an empty chart would
// have no domain, and a chart would be drawn twice.
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
    tooltip: (handler, event, item, lines) => call(handler, event, item, told(lines)),
  });
  await breath();
  breatheBeforeDrawing(view);
  return view.runAsync();
}

// Vega evaluates a new chart, once more as soon as its size is known, and draws it after each, all
// at one go: here it is drawn once, and a breath later. A slider's step is drawn as it comes.
function breatheBeforeDrawing({ _renderer: renderer }) {
  if (!renderer) return; // Vega keeps it to itself, and may call it otherwise one day
  let drawn;
  const draw = async (scene) => {
    await breath();
    delete renderer.renderAsync;
    return renderer.renderAsync(scene);
  };
  renderer.renderAsync = (scene) => (drawn ??= draw(scene));
}

// Lets the page answer to its reader between the steps, each of which takes a while.
const breath = () =>
  new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = done;
    port2.postMessage(null);
  });
