// A figure with a switch between models: each model has a specification, with scales, sliders and
// addresses of its own. A specification names those of the other models in report.models.

import { loadJson } from "../data/loading.js";

// The specification of the model that a figure's switch is at; `address`: of any of them.
export async function loadSpec(address, state) {
  const spec = await loadJson(address);
  const file = spec.usermeta.report.models?.[state.model];
  return file ? loadJson(new URL(file.replace(/json$/, "vega.json"), address).href) : spec;
}

// Sliders reach what the chosen model has; a value beyond is the nearest one.
export async function fitSliders(figure, address) {
  if (!("model" in figure.state)) return;
  const { controls } = (await loadSpec(address, figure.state)).usermeta.report;
  for (const { param, minimum, maximum } of controls) {
    const slider = figure.element.querySelector(`input[type=range][name="${param}"]`);
    if (!slider || maximum === undefined) continue;
    slider.dataset.most ??= slider.max;
    Object.assign(slider, { min: minimum, max: maximum });
    slider.closest("label").hidden = minimum === maximum;
  }
}

// Lets sliders reach what any model has, before another is chosen together with their values.
export function freeSliders(figure) {
  for (const slider of figure.element.querySelectorAll("input[data-most]")) {
    slider.max = slider.dataset.most;
  }
}
