// A figure with a switch between models: each model has a specification, with scales, sliders and
// addresses of its own. A specification names those of the other models in report.models.

import { loadJson } from "../data/loading.js";

// The specification of the model that a figure's switch is at; `address`: of any of them.
export async function loadSpec(address, state) {
  const spec = await loadJson(address);
  const file = spec.usermeta.report.models?.[state.model];
  return file ? loadJson(new URL(file.replace(/json$/, "vega.json"), address).href) : spec;
}

const asked = new WeakMap(); // figure -> {model, beyond: [slider, the value it was set to]}

// Sliders reach what the chosen model has; a value beyond becomes the nearest one, and that is said.
export async function fitSliders(figure, address) {
  const { model } = figure.state;
  if (model === undefined) return;
  const { controls } = (await loadSpec(address, figure.state)).usermeta.report;
  const beyond = [];
  for (const { param, minimum, maximum, labels } of controls) {
    const slider = figure.element.querySelector(`input[type=range][name="${param}"]`);
    if (!slider || maximum === undefined) continue;
    slider.dataset.most ??= slider.max;
    if (Number(slider.value) > maximum) beyond.push([slider, slider.value]);
    Object.assign(slider, { min: minimum, max: maximum });
    if (labels) slider.dataset.labels = JSON.stringify(labels);
    slider.closest("label").hidden = minimum === maximum;
  }
  if (beyond.length) asked.set(figure, { model, beyond });
  tellBeyond(figure, model);
}

// For as long as these stand where the model made them stand.
function tellBeyond(figure, model) {
  const { model: of, beyond = [] } = asked.get(figure) ?? {};
  const still = of === model && beyond.every(([slider]) => slider.value === slider.max);
  if (!still) return figure.remark("beyond", "");
  const name = figure.element.querySelector("input[data-param=model]:checked").parentElement.textContent;
  const told = beyond.map(([slider, value]) => {
    const what = slider.closest("label").querySelector("span").textContent.trim().toLowerCase();
    return `${name.trim()} has no ${what} ${value}: ${what} ${slider.max}, its last, is shown.`;
  });
  figure.remark("beyond", told.join(" "));
}

// Lets sliders reach what any model has, before another is chosen together with their values.
export function freeSliders(figure) {
  for (const slider of figure.element.querySelectorAll("input[data-most]")) {
    slider.max = slider.dataset.most;
  }
}
