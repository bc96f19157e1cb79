// Draws a chart from a Vega specification. The library comes once, when the first figure needs it.

const here = new URL(".", import.meta.url);
let library;

export function loadLibrary() {
  library ??= import(new URL("vega.js", here)).catch((error) => {
    library = null; // it may be tried again
    throw error;
  });
  return library;
}

// A running view of `spec` in `box`, with its first data at once: scales of an empty chart would
// have no domain. datasets: {name: rows}.
export async function draw(box, spec, datasets) {
  const { View, parse, expressionInterpreter, Handler } = await loadLibrary();
  const data = spec.data.map((each) => ({ ...each, values: datasets[each.name] ?? each.values }));
  // expressions are interpreted: no eval, so a strict content policy may stand
  const view = new View(parse({ ...spec, data }, {}, { ast: true }), {
    container: box,
    renderer: "canvas",
    expr: expressionInterpreter,
    logLevel: 1, // errors only: Vega warns of the empty layers that wait for a mark
    tooltip: new Handler({ theme: "figure", disableDefaultStyle: true }).call,
  });
  return view.runAsync();
}
