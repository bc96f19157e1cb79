// One figure of a page: its element, its controls and its charts. It has a state, the values of its
// controls; shows it; and says it as an address. All that is particular to a figure is in its
// specification (usermeta.report) and in the decoder that this names.

import { latest, reason } from "../data/loading.js";
import * as address from "../reader/address.js";
import { pinsInAddress } from "../reader/marks.js";
import { Chart, markHead } from "./chart.js";
import {
  isChosen, moved, offers, openOnPhone, opening, param, showValue, stateOf, wasChosen, watchInputs,
  watchPointing, watchSettling, wordsOf,
} from "./controls.js";
import { Finder } from "./find.js";
import { markGroups, tellGroups } from "./groups.js";
import { Reading } from "./texts.js";
import { fitControls, freeSliders } from "./models.js";
import { headName } from "../reader/words.js";
import { showSentence } from "./sentence.js";

export const figures = new Map(); // <figure> element -> Figure, of this page

const PICKS = ["cell", "singled", "part"]; // what can be chosen in charts

export class Figure {
  constructor(element) {
    this.element = element;
    this.page = element.dataset.page ?? location.href;
    this.datasets = new URL(withSlash(element.dataset.datasets), this.page);
    this.inputs = [...element.querySelectorAll("input[name], select[name]")];
    this.link = element.querySelector("input[data-link]");
    this.live = element.querySelector(".live-figure__live");
    this.controls = element.querySelector(".live-figure__controls");
    this.caption = element.querySelector("figcaption strong");
    const dataLinks = element.querySelectorAll("a[data-link-data]");
    this.charts = [...element.querySelectorAll("[data-spec]")].map(
      (box, number) => new Chart(this, box, dataLinks[number]),
    );
    this.update = latest(() => this.show());
    openOnPhone(this.inputs);
    this.remarks = new Map(); // what it is about -> what is told of it
    this.picks = {}; // what is chosen in the chart itself, as its address says it
    watchInputs(this.inputs, (values) => this.set(values));
    watchSettling(element);
    watchPointing(this);
    const finder = element.querySelector(".live-figure__find");
    this.finder = finder && new Finder(this, finder);
    const reading = element.querySelector(".live-figure__text");
    this.reading = reading && new Reading(this, reading);
    this.link?.addEventListener("change", () => linkAll(this));
  }

  get state() {
    return stateOf(this.inputs);
  }

  // The state in which the page came.
  get opening() {
    const chosen = this.inputs.filter(wasChosen);
    return Object.fromEntries(chosen.map((input) => [param(input), opening(input)]));
  }

  // Whether it shows anything else than as the page came.
  get differs() {
    return Object.keys(this.picks).length > 0 || this.link?.checked || this.inputs.some(moved);
  }

  // Switches of a look, {param: its value as the page came}: they change how charts look, and not
  // what there is to see.
  get looks() {
    const names = [...this.element.querySelectorAll("[data-look] :is(input, select)")].map(param);
    return Object.fromEntries(Object.entries(this.opening).filter(([name]) => names.includes(name)));
  }

  // All that the figure's address says. A look that is as it came need not be said.
  get values() {
    const { looks } = this;
    const state = Object.entries(this.state).filter(([name, value]) => value !== looks[name]);
    return { ...Object.fromEntries(state), ...this.picks, ...pinsInAddress(this.addressed, this.text) };
  }

  // The part of the address after the page's own: #fig-1:layer=2,head=5.
  fragment() {
    return address.fragment(this.element.id, this.values);
  }

  // The whole address of what it shows, to share.
  address() {
    return address.shared(this.fragment());
  }

  offers(name, value) {
    return this.inputs.some((input) => param(input) === name && offers(input, value));
  }

  // Values out of reach are clamped, unknown ones dropped.
  set(values, spread = true) {
    this.remark("link", "");
    if (values.model) freeSliders(this);
    const before = this.fragment();
    for (const input of this.inputs) {
      const value = values[param(input)];
      if (value === undefined || !this.offers(param(input), value)) continue;
      if (input.type === "radio") input.checked = input.value === String(value);
      else input.value = value;
      showValue(input);
    }
    const changed = this.fragment() !== before;
    if (this.started && (spread || changed)) this.update();
    // it is not yet near the window, but may be printed
    else if (changed) this.start();
    if (!spread) return;
    if (this.link?.checked) spreadLinked(this);
    address.write(() => this.fragment());
  }

  // Sets what an address says; what the address does not name is not chosen in the chart either.
  restore(values) {
    const picks = Object.fromEntries(PICKS.map((name) => [name, values[name]]));
    this.pick(picks);
    this.set({ ...this.looks, ...values }, false);
    const more = this.element.querySelector(".live-figure__more");
    if (more && this.inputs.some((input) => more.contains(input) && moved(input))) more.open = true;
  }

  // values: {name: text}, or undefined for what is not chosen
  pick(values) {
    const picks = Object.entries({ ...this.picks, ...values });
    this.picks = Object.fromEntries(picks.filter(([, value]) => value !== undefined));
    for (const chart of this.charts.filter((each) => each.shown)) {
      chart.drawPicks();
      if (chart.kind.restore) chart.view?.runAsync();
    }
  }

  // What its controls have to say so that it shows a head, {param: value}; null if it shows no head
  // of this model, or not this one. A slider over some heads has their names.
  stateOf({ layer, head, model }) {
    const here = this.model === model;
    if (!here && !this.offers("model", model)) return null;
    const its = here ? {} : { model };
    if (this.head) return this.reaches({ layer, head }) ? { ...its, layer, head } : null;
    for (const input of this.inputs.filter(({ dataset }) => dataset.labels)) {
      const { labels, labelsOf = "{}" } = input.dataset;
      const known = JSON.parse(labelsOf)[model] ?? JSON.parse(labels);
      const at = known.indexOf(headName({ layer, head }));
      if (at >= 0) return { ...its, [param(input)]: Number(input.min) + at };
    }
    return null;
  }

  // Sets values by something else than its controls, which is a step of its own in the history.
  choose(values) {
    this.set(values);
    address.settle();
  }

  // Another thing has been chosen in the chart itself, which is such a step too.
  changed() {
    address.write(() => this.fragment());
    address.settle();
  }

  // Whether its sliders go so far, for one of its models.
  reaches(values) {
    return this.inputs.every((input) => !(values[param(input)] > (input.dataset.most ?? input.max)));
  }

  get model() {
    return this.charts[0]?.model;
  }

  // The model that its address names, or the one that all of its data are of.
  get addressed() {
    return this.state.model ?? this.datasets.pathname.split("/").at(-2);
  }

  // The text that its tokens are of, undefined where they are of several, or that is not known yet.
  get text() {
    const [text, ...others] = new Set(this.charts.map((chart) => chart.textAt(this.state)));
    return others.length ? undefined : text;
  }

  // The head that it shows, null if it is no figure of one head.
  get head() {
    const { layer, head } = this.state;
    return layer === undefined || head === undefined ? null : { layer, head, model: this.model };
  }

  // The field by which heads are looked for: its own, or the first of the page.
  get anyFinder() {
    return this.finder ?? [...figures.values()].find(({ finder }) => finder)?.finder;
  }

  // What its caption calls it.
  get name() {
    return this.caption?.textContent.replace(/\.$/, "");
  }

  // A title in which {names} of controls are what a reader reads of them.
  filled(title) {
    const input = (name) => this.inputs.find((each) => isChosen(each) && param(each) === name);
    return title.replace(/{(\w+)}/g, (whole, name) => (input(name) ? wordsOf(input(name)) : whole));
  }

  // Called when the figure is needed: draws it, over its still picture. Its sliders can be moved
  // from now on, and are obeyed once there is a chart.
  start() {
    if (this.started) return;
    this.started = true;
    this.enable(true);
    this.update();
  }

  // Draws what the controls say. `figureshown` or `figurefailed` tells how that ended.
  async show() {
    try {
      await fitControls(this, this.charts[0].specAddress);
      this.inputs.forEach(showValue);
      const state = this.state;
      await Promise.all(this.charts.map((chart) => chart.show(state)));
      if (!this.charts.every((chart) => chart.view)) return;
      this.succeed();
      this.shows = state;
      const title = this.caption?.dataset.title;
      if (title) this.caption.textContent = `${this.filled(title)}.`;
      this.tellPin();
      showSentence(this, state);
      this.reading?.show(state);
      tellGroups(this, state);
      this.element.dispatchEvent(new Event("figureshown"));
    } catch (error) {
      this.fail(error);
    }
  }

  // Marks in its charts and at its controls what a reader marks anywhere.
  mark() {
    this.finder?.show();
    markGroups(this);
    this.charts.forEach((chart) => chart.mark());
    if (this.head) markHead(this.controls, "live-figure__controls", this.head);
    this.tellPin();
  }

  tellPin() {
    const lacks = this.charts.some((chart) => chart.lacksPin);
    this.remark("pin", lacks ? "What is pinned is not marked here, where other tokens are read." : "");
  }

  succeed() {
    this.element.classList.add("live-figure--live");
    if (this.element.classList.contains("live-figure--failed")) this.say("");
    this.element.classList.remove("live-figure--failed");
    this.enable(true);
  }

  enable(yes) {
    this.element.querySelectorAll("input, select, fieldset").forEach((each) => (each.disabled = !yes));
  }

  // Before the first success the still picture simply stays; later the outdated chart is dimmed.
  fail(error) {
    console.warn(error);
    this.element.classList.add("live-figure--failed");
    const drawn = this.charts.every((chart) => chart.shown);
    if (!drawn) this.enable(false);
    const still = drawn ? "" : " The still picture stays.";
    this.say(`This figure could not be loaded (${reason(error)}).${still}`);
    this.element.dispatchEvent(new Event("figurefailed"));
  }

  // Tells a reader something that a picture does not say, until another is told about the same;
  // "": nothing.
  remark(about, text) {
    if (text === (this.remarks.get(about) ?? "")) return;
    this.remarks.set(about, text);
    const all = [...this.remarks.values()].filter(Boolean).join(" ");
    this.note ??= Object.assign(document.createElement("p"), { className: "live-figure__note" });
    Object.assign(this.note, { textContent: all, role: "status", hidden: !all });
    this.controls.after(this.note);
  }

  say(text) {
    if (this.live) this.live.textContent = text;
  }
}

const withSlash = (path) => (path.endsWith("/") ? path : `${path}/`);

// --- Linked sliders: figures that show the same layer and head --------------------------------

const linked = () => [...figures.values()].filter((figure) => figure.link);

function linkAll(source) {
  linked().forEach((figure) => (figure.link.checked = source.link.checked));
  if (source.link.checked) spreadLinked(source);
}

// One that has no such model stays where it is, and says so.
function spreadLinked(source) {
  for (const figure of linked()) {
    if (figure === source) continue;
    const state = figure.stateOf(source.head);
    if (state) figure.set(state, false);
    figure.remark("link", state ? "" : `It stays as it is: ${source.name} is of another model.`);
  }
}
