// The page of `explore`: what is typed is sent to the program on this machine, and its answer, a
// passage and figures as in an article, takes the place of the last one.

import { hold, latest } from "../data/loading.js";
import { aim, inText, onMark, onPin, pins } from "../reader/marks.js";
import "./palette.js";

const MODULES = []; // figures.js and all that it imports, listed by the build
window.scriptsOfFigures = MODULES;

const PAUSE = 250; // milliseconds without a key
const PATIENCE = 2000; // milliseconds after which the other figures do not wait for the first one
const LONGEST = 8000; // characters of a text in an address
const KEPT = 12; // texts that were tried before

// As Material's: scripts subscribe to it, and are called for each new page.
const subscribers = [];
window.document$ = { subscribe: (call) => (subscribers.push(call), call()) };

const form = document.querySelector(".explore__form");
const says = form.querySelector(".explore__says");
const answer = document.querySelector(".explore__answer");
const earlier = document.querySelector(".explore__history");
const named = ["model", "text", "other", "measure", "predict"].map((name) => form.elements[name]);
const fields = named.filter(Boolean); // one model is not chosen
const address = new URLSearchParams(location.search);
for (const field of fields) {
  const before = field.value;
  if (address.has(field.name)) field.value = address.get(field.name);
  if (field.selectedIndex < 0) field.value = before; // another program had such a choice
}
const tab = crypto.randomUUID(); // of several, each has its own newest question
let waiting;
let newest = 0; // number of the question that was sent last
let number; // of the answer that stands there
let shown; // the texts of the answer that stands there
let patch = null; // ids of two tokens, of which it is shown what heads carry between the texts
let sending; // what ends the question that was sent last

// Where the first figure stands, and the token that is pinned.
function state() {
  const found = {};
  for (const name of ["layer", "head"]) {
    const input = answer.querySelector(`#fig-1 input[name=${name}]`);
    if (input) found[name] = Number(input.value);
  }
  const token = pinned();
  // another model's tokens are others
  if (token >= 0 && shown.model === form.elements.model?.value) found.token = token;
  return found;
}

// The place of the token that is pinned in the text that stands there; -1 if none is.
const pinned = () => inText(pins(), answer.querySelector("#passage")?.dataset.text).token ?? -1;

// All figures of one head follow the first one when that goes to another, also those that are not
// alive yet: what is kept of them is what they show. A reader may set them apart after that.
let followed;
async function follow({ target }) {
  if (target.id !== "fig-1" || !answer.contains(target)) return;
  const { figures } = await import("../figure/figure.js"); // it is there: a figure has been drawn
  const { layer, head } = state();
  const before = followed;
  followed = [number, layer, head].join();
  if (before === followed || !before?.startsWith(`${number},`)) return; // they open where it does
  for (const figure of figures.values()) {
    if (figure.element === target) continue;
    const next = figure.stateOf({ layer, head, model: figure.model });
    if (next) figure.set(next, false);
  }
}
addEventListener("figureshown", follow, true);

// Patching takes long; what was patched stays while the texts and the model do.
async function ask(all = false) {
  clearTimeout(waiting);
  sending?.abort(); // a browser has few connections
  sending = new AbortController();
  const mine = ++newest;
  const texts = Object.fromEntries(fields.map(({ name, value }) => [name, value]));
  if (["text", "other", "model"].some((name) => shown?.[name] !== texts[name])) patch = null;
  const question = { ...texts, ...state(), tab, patch };
  const isNewest = () => mine === newest;
  form.classList.add("explore__form--busy");
  try {
    // where the address names one of the figures below, a reader waits for that
    const first = !all && (Boolean(shown) || !location.hash.startsWith("#fig-"));
    const found = await send({ ...question, first });
    if (!isNewest() || !say(found)) return;
    remember(texts);
    answer.style.minHeight = first ? `${answer.offsetHeight}px` : ""; // until the others are there
    for (const [path, file] of Object.entries(found.files ?? {})) {
      hold(new URL(`../../${path}`, location).href, file);
    }
    ({ number } = found);
    offer(found.measures);
    show(found.html);
    keeping.inert = first; // an article has all figures
    if (first) {
      await painted();
      if (!isNewest()) return;
      const rest = await send({ ...question, number });
      if (!isNewest() || !say(rest)) return;
      show(rest.html, answer.querySelector("figure") && ".explore__rest");
    }
    propose();
  } catch (error) {
    if (!isNewest()) return;
    says.textContent = noAnswer(error);
  } finally {
    if (isNewest()) {
      form.classList.remove("explore__form--busy");
      answer.style.minHeight = "";
    }
  }
}

const send = (question) => post("ask", question, sending.signal);

async function post(what, question, signal) {
  const response = await fetch(`../../${what}`, { method: "POST", body: JSON.stringify(question), signal });
  if (!response.ok) throw new Error(`it answered ${response.status}`);
  return response.json();
}

const noAnswer = ({ message }) => `No answer came from the program (${message}). Is it still running?`;

// Tells what the program says; whether there is something to show.
function say({ dropped, error, warnings }) {
  if (dropped) later(); // so many tabs have asked that this one was forgotten
  else says.textContent = error ?? warnings.join(" ");
  return !dropped && !error;
}

// Puts an answer there, or of it only what is in `place`.
function show(html, place) {
  const { content } = Object.assign(document.createElement("template"), { innerHTML: html });
  if (place) answer.querySelector(place).replaceWith(content.querySelector(place));
  else answer.replaceChildren(content);
  subscribers.forEach((call) => call());
  document.body.dataset.stays = "";
  look();
}

// Measures of the project may have come, gone or been named anew since the page was opened.
function offer(measures) {
  const { measure } = form.elements;
  const there = [...measure.options].map(({ value, text }) => [value, text]);
  if (JSON.stringify(there) === JSON.stringify(Object.entries(measures))) return;
  const options = Object.entries(measures).map(([name, title]) => new Option(title, name, false, name === measure.value));
  measure.replaceChildren(...options);
}

// The first figure has been painted, or it will not be soon: it may be out of sight.
function painted() {
  const figure = answer.querySelector("figure");
  return new Promise((done) => {
    if (figure) ["figureshown", "figurefailed"].forEach((type) => figure.addEventListener(type, done));
    setTimeout(done, figure ? PATIENCE : 0);
  });
}

// What stands in the address is what is shown, and what was shown before can be had again.
function remember(question) {
  const now = new URL(location);
  for (const [name, value] of Object.entries(question)) {
    if (value && encodeURIComponent(value).length < LONGEST) now.searchParams.set(name, value);
    else now.searchParams.delete(name);
  }
  history.replaceState(history.state, "", now);
  const before = shown;
  shown = question;
  // a text on its way to this one is none of its own
  if (!before || (question.text.startsWith(before.text) && question.other.startsWith(before.other))) return;
  const both = ({ text, other }) => [text, other].filter(Boolean).join(" | ");
  const name = both(before);
  for (const each of earlier.querySelectorAll("button")) {
    if ([name, both(shown)].includes(each.textContent) || name.startsWith(each.textContent)) {
      each.parentElement.remove();
    }
  }
  const again = Object.assign(document.createElement("button"), { type: "button", textContent: name });
  again.addEventListener("click", () => {
    for (const field of fields) field.value = before[field.name];
    ask();
  });
  const item = document.createElement("li");
  item.append(again);
  earlier.prepend(item);
  while (earlier.children.length > KEPT) earlier.lastChild.remove();
  earlier.parentElement.hidden = false;
}

// What is told of the next token of one follows the token that is pinned; sliders count from the last.
onPin(() => {
  const token = pinned();
  for (const slider of token < 0 ? [] : answer.querySelectorAll("input[name=back]")) {
    slider.value = slider.max - token;
    slider.dispatchEvent(new Event("input"));
  }
});

// The heads that look from the pinned token, to the target that is pinned with it, or chosen here.
const HINT = "Click a token of the text to see here which heads look from it most, and where to.";

const look = latest(async () => {
  const place = answer.querySelector(".explore__looking");
  const { token, target } = inText(pins(), answer.querySelector("#passage")?.dataset.text);
  const of = [number, token, target].join();
  if (!place || place.dataset.of === of) return;
  place.dataset.of = of;
  if (!(token >= 0)) return place.replaceChildren(HINT);
  try {
    const { html, error, dropped } = await post("looking", { number, token, target: target < 0 ? null : target });
    if (dropped) return later();
    const focused = place.contains(document.activeElement);
    if (error) place.replaceChildren(error);
    else place.innerHTML = html;
    if (focused) place.querySelector("select")?.focus({ preventScroll: true });
  } catch (error) {
    place.replaceChildren(noAnswer(error));
  }
});
onMark(look);
answer.addEventListener("change", ({ target }) => {
  if (target.matches("[name=target]")) aim(target.value ? Number(target.value) : -1);
});

function later() {
  clearTimeout(waiting);
  waiting = setTimeout(ask, PAUSE);
}

answer.addEventListener("submit", async (event) => {
  if (!event.target.matches(".explore__patch")) return;
  event.preventDefault();
  const { elements } = event.target;
  patch = [elements.answer, elements.against].map(({ value }) => Number(value));
  event.target.querySelector("output").textContent = "Patching. A text that is typed meanwhile ends it.";
  await ask(true);
  const again = answer.querySelector(".explore__patch");
  again?.querySelector("button").focus({ preventScroll: true });
  const done = answer.querySelector("figure[data-figure=patched_heads]");
  // said now: readers of screens hear nothing of what a page is given together with its fields
  if (done) again.querySelector("output").textContent = "Patched: the figure is below.";
});

form.addEventListener("input", ({ target }) => target.matches("textarea") && later());
form.addEventListener("change", ({ target }) => target.matches("select") && ask());
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("popstate", () => {
  const now = new URLSearchParams(location.search);
  const other = fields.filter(({ name, value }) => now.has(name) && now.get(name) !== value);
  for (const field of other) field.value = now.get(field.name);
  if (other.length) ask();
});

// --- Kept as an article --------------------------------------------------------------------------

const keeping = document.querySelector(".explore__keep");
const title = keeping.elements.title;
const kept = keeping.querySelector("output");
const PROPOSED = 40; // characters
let proposed = "";

// The first words of the text, unless another title has been typed.
function propose() {
  keeping.hidden = keeping.inert = false;
  kept.textContent = "";
  if (title.value !== proposed) return;
  const words = shown.text.trim().split(/\s+/);
  while (words.length > 1 && words.join(" ").length > PROPOSED) words.pop();
  title.value = proposed = words.join(" ").slice(0, PROPOSED);
}

// What stands there: the text that was measured, its figures with their controls, the pinned token.
async function standing() {
  const { stateOf } = await import("../figure/controls.js"); // also before figures come to life
  const there = [...answer.querySelectorAll("figure[data-figure]:not(section *)")];
  const states = there.map((each) => [each.dataset.figure, stateOf(each.querySelectorAll("input[name]"))]);
  const token = pinned() < 0 ? null : pinned();
  const { text, model } = shown;
  return { text, model, title: title.value, figures: states, token };
}

async function keep(event) {
  event.preventDefault();
  kept.textContent = "";
  const buttons = keeping.querySelectorAll("button");
  buttons.forEach((each) => (each.disabled = true));
  try {
    const add = event.submitter?.name === "add";
    const { done, error } = await post("keep", { ...(await standing()), add });
    kept.textContent = done ?? error;
  } catch (error) {
    kept.textContent = noAnswer(error);
  } finally {
    buttons.forEach((each) => (each.disabled = false));
  }
}
keeping.addEventListener("submit", keep);

import("./start.js").then(() => ask(), console.warn);
