// The controls of a figure: sliders and switches, which are inputs of HTML. Here: what an input
// stands for, what a reader reads of it, and what the controls do besides setting the figure.

import * as address from "../reader/address.js";
import { isTouch, point, unpoint } from "../reader/marks.js";

// The param of the specification that an input sets.
export const param = (input) => input.dataset.param ?? input.name;
const valueOf = (input) => (input.type === "range" ? Number(input.value) : input.value);

// A switch is a row of radio buttons, or a list where it has many choices. Of radio buttons only the
// chosen one says where the switch stands.
export const isChosen = (input) => input.type !== "radio" || input.checked;

// The same as the page came, and the value that an input had then.
export const wasChosen = (input) => input.type !== "radio" || input.defaultChecked;
export function opening(input) {
  if (input.type === "radio") return input.value;
  if (input.type === "range") return Number(input.defaultValue);
  return [...input.options].find((each) => each.defaultSelected).value;
}
export const moved = (input) =>
  input.type === "radio" ? input.checked !== input.defaultChecked : valueOf(input) !== opening(input);

// Whether an input can be set to a value: a slider to any whole number, a switch to those it has.
export function offers(input, value) {
  if (input.type === "range") return /^-?\d+$/.test(value);
  return [...(input.options ?? [input])].some((each) => each.value === String(value));
}

// What a reader reads of the value of a slider, or of the choice of a switch.
export function wordsOf(input) {
  if (input.type === "range") return shownValue(input);
  return (input.selectedOptions?.[0] ?? input.parentElement).textContent.trim();
}

// What inputs say, {param: value}: sliders, and what is chosen of switches.
export function stateOf(inputs) {
  const chosen = [...inputs].filter(isChosen);
  return Object.fromEntries(chosen.map((input) => [param(input), valueOf(input)]));
}

// What a reader reads of a slider's value. It may have a name.
function shownValue({ value, min, dataset }) {
  if (dataset.labels) return JSON.parse(dataset.labels)[value - min];
  return String(value);
}

// Writes a slider's value beside it.
export function showValue(input) {
  if (input.type !== "range") return;
  const output = input.parentElement.querySelector("output");
  if (output) output.textContent = shownValue(input);
  const label = input.parentElement.querySelector("span")?.textContent.trim() ?? input.name;
  input.setAttribute("aria-valuetext", `${label} ${shownValue(input)}`);
}

// A phone has room for one look of all heads, and opens with their map.
export function openOnPhone(inputs) {
  if (!matchMedia("(max-width: 600px)").matches) return;
  for (const input of inputs.filter((each) => param(each) === "view")) {
    input.checked = input.defaultChecked = input.value === "map";
  }
}

// Calls back with {param: value} whenever a reader has set an input.
export function watchInputs(inputs, set) {
  for (const input of inputs) {
    const changed = () => set({ [param(input)]: valueOf(input) });
    input.addEventListener("input", changed);
    if (input.type === "radio") input.addEventListener("change", changed);
    showValue(input);
  }
}

// A slider that was dragged is settled when it is let go. One that is moved by keys is settled
// after a pause: otherwise every step of a held key would be an entry of the history.
export function watchSettling(element) {
  let keyed = false;
  element.addEventListener("keydown", () => (keyed = true));
  element.addEventListener("pointerdown", () => (keyed = false));
  element.addEventListener("change", ({ target }) => {
    if (!keyed || target.type === "radio") address.settle();
  });
}

// The controls of a figure that shows one head stand for that head: who points at them marks it.
export function watchPointing(figure) {
  const { controls } = figure;
  const on = (type, act) => controls.addEventListener(type, act);
  const mark = () => figure.head && point(figure.head);
  on("pointerover", (event) => isTouch(event) || mark());
  on("pointerleave", () => controls.matches(":focus-within") || unpoint());
  on("focusin", mark);
  on("input", mark);
  on("focusout", unpoint);
}
