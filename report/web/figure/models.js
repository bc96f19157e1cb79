// A figure with a switch between models: each model has a specification, with scales, sliders and
// addresses of its own. A specification names those of the other models in report.models.

import { loadJson } from "../data/loading.js";
import { isChosen, param as paramOf, wordsOf } from "./controls.js";

// The specification of the model that a figure's switch is at; `address`: of any of them.
export async function loadSpec(address, state) {
  const spec = await loadJson(address);
  const file = spec.usermeta.report.models?.[state.model];
  return file ? loadJson(new URL(file.replace(/json$/, "vega.json"), address).href) : spec;
}

const asked = new WeakMap(); // figure -> {model, beyond: [slider, the value it was set to], lacking}

// Controls reach what the chosen model has, and those that it has not are hidden; a value beyond becomes
// the nearest one, a choice that it has not the first one, and that is said.
export async function fitControls(figure, address) {
  const { model } = figure.state;
  if (model === undefined) return;
  const { controls } = (await loadSpec(address, figure.state)).usermeta.report;
  const beyond = [];
  const lacking = fitSwitches(figure, controls);
  for (const { param, minimum, maximum, labels } of controls) {
    const slider = figure.element.querySelector(`input[type=range][name="${param}"]`);
    if (!slider || maximum === undefined) continue;
    slider.dataset.most ??= slider.max;
    if (Number(slider.value) > maximum) beyond.push([slider, slider.value]);
    Object.assign(slider, { min: minimum, max: maximum });
    if (labels) slider.dataset.labels = JSON.stringify(labels);
    slider.closest("label").hidden = minimum === maximum;
  }
  if (beyond.length || lacking.length) asked.set(figure, { model, beyond, lacking });
  tellBeyond(figure, model);
}

// Returns what was chosen and is not there: [param, its words, the value that is chosen instead].
function fitSwitches(figure, controls) {
  const lacking = [];
  for (const set of new Set(figure.inputs.filter(({ type }) => type !== "range").map(paramOf))) {
    const inputs = figure.inputs.filter((input) => paramOf(input) === set);
    const { options, value } = controls.find(({ param }) => param === set) ?? {};
    inputs[0].closest("fieldset, label:has(select)").hidden = !options;
    if (!options) continue;
    for (const each of inputs[0].options ?? inputs) {
      (each.matches("input") ? each.parentElement : each).hidden = !Object.hasOwn(options, each.value);
    }
    const chosen = inputs.find(isChosen);
    if (Object.hasOwn(options, chosen.value)) continue;
    lacking.push([set, wordsOf(chosen), value]);
    if (chosen.type === "radio") inputs.find((input) => input.value === value).checked = true;
    else chosen.value = value;
  }
  return lacking;
}

// For as long as these stand where the model made them stand.
function tellBeyond(figure, model) {
  const { model: of, beyond = [], lacking = [] } = asked.get(figure) ?? {};
  const { state } = figure;
  const still = of === model && beyond.every(([slider]) => slider.value === slider.max);
  if (!still || lacking.some(([name, , value]) => state[name] !== value)) return figure.remark("beyond", "");
  const chosen = (name) => wordsOf(figure.inputs.find((input) => paramOf(input) === name && isChosen(input)));
  const name = chosen("model");
  const told = beyond.map(([slider, value]) => {
    const what = slider.closest("label").querySelector("span").textContent.trim().toLowerCase();
    return `${name} has no ${what} ${value}: ${what} ${slider.max}, its last, is shown.`;
  });
  for (const [set, words] of lacking) {
    told.push(`${name} does not have “${words}”: “${chosen(set)}” is shown.`);
  }
  figure.remark("beyond", told.join(" "));
}

// Lets sliders reach what any model has, before another is chosen together with their values.
export function freeSliders(figure) {
  for (const slider of figure.element.querySelectorAll("input[data-most]")) {
    slider.max = slider.dataset.most;
  }
}
