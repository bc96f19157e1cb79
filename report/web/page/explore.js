// The page of `explore`: sends a typed text to the program on this machine, whose answer, a passage
// and figures as in an article, replaces the last one. It can be kept as an article.

import { hold, latest } from "../data/loading.js";
import { aim, inText, onMark, onPin, pin, pins, unpin } from "../reader/marks.js";
import "./palette.js";

const MODULES = []; // figures.js and all that it imports, listed by the build
window.scriptsOfFigures = MODULES;

const PAUSE = 250; // milliseconds without a key
const PATIENCE = 2000; // milliseconds that the other figures wait for the first one
const LONGEST = 8000; // characters of a text in an address
const MOST_EARLIER = 12; // texts of before that can be had again

// Replaces Material's: scripts subscribe to it, and are called for each new answer.
const subscribers = [];
window.document$ = { subscribe: (call) => (subscribers.push(call), call()) };

const form = document.querySelector(".explore__form");
const message = form.querySelector(".explore__says");
const answer = document.querySelector(".explore__answer");
const earlier = document.querySelector(".explore__history");
const inputs = ["model", "text", "other", "measure", "predict"].map((name) => form.elements[name]);
const fields = inputs.filter(Boolean); // of a single model there is no choice
const address = new URLSearchParams(location.search);
for (const field of fields) {
  const before = field.value;
  if (address.has(field.name)) field.value = address.get(field.name);
  if (field.selectedIndex < 0) field.value = before; // the address is of a program with that choice
}
const tab = crypto.randomUUID(); // of several, each has its own newest question
let timer; // of the next question
let newest = 0; // number of the last question
let number; // the program's number of the answer that is shown
let shown; // values of the fields of that answer
let patch = null; // ids of two tokens, of which it is shown what heads carry between the texts
let sending; // AbortController of the last question

// Layer and head of the first figure, and the pinned token.
function state() {
  const values = {};
  for (const name of ["layer", "head"]) {
    const input = answer.querySelector(`#fig-1 input[name=${name}]`);
    if (input) values[name] = Number(input.value);
  }
  const token = pinned();
  // another model's tokens are others
  if (token >= 0 && shown.model === form.elements.model?.value) values.token = token;
  return values;
}

// Index of the pinned token in the text that is shown; -1 if none is.
const pinned = () => inText(pins(), answer.querySelector("#passage")?.dataset.text).token ?? -1;

// All figures of a head follow the first one to another head, also those that are not drawn yet.
// These open there. A reader may set them otherwise after that.
let followed;
async function follow({ target }) {
  if (target.id !== "fig-1" || !answer.contains(target)) return;
  const { figures } = await import("../figure/figure.js"); // it is there: a figure has been drawn
  const { layer, head } = state();
  const before = followed;
  followed = [number, layer, head].join();
  if (before === followed || !before?.startsWith(`${number},`)) return; // they open where it does
  const at = pins();
  if (at.head >= 0 && (at.layer !== layer || at.head !== head)) unpin(["layer", "head", "model"]); // what comes later goes to a pinned one
  for (const figure of figures.values()) {
    if (figure.element === target) continue;
    const next = figure.stateOf({ layer, head, model: figure.model });
    if (next) figure.set(next, false);
  }
  figures.get(target)?.changed(); // so that all of them stand so when there is another text
}
addEventListener("figureshown", follow, true);

// A function that pins the pinned token and its target in the next text, if the same words stand in
// the same places there; else nothing of another text, or of another model, stays pinned.
function carrying(next) {
  const passage = () => answer.querySelector("#passage");
  const word = (place) => passage()?.querySelector(`.token[data-token="${place}"]`)?.textContent;
  const { token, target } = inText(pins(), passage()?.dataset.text);
  const [current, looked] = [token, target].map(word);
  const changed = (name) => shown && shown[name] !== next[name];
  const [otherModel, others] = [changed("model"), ["text", "other", "model"].some(changed)];
  return () => {
    if (otherModel) unpin(["layer", "head", "model"]);
    const { text } = passage()?.dataset ?? {};
    if (!others || pins().token < 0 || (token >= 0 && pins().text === text)) return;
    if (otherModel || token < 0 || word(token) !== current) return unpin(["token"]);
    pin({ token, text });
    if (target >= 0 && word(target) === looked) aim(target);
  };
}

// Sends the fields and shows the answer, the first figure before the others unless `all`. `patch`
// stays until the texts or the model change, as patching takes long.
async function ask(all = false) {
  clearTimeout(timer);
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
    const reply = await send({ ...question, first });
    if (!isNewest() || !say(reply)) return;
    const carry = carrying(texts);
    remember(texts);
    answer.style.minHeight = first ? `${answer.offsetHeight}px` : ""; // until the others are there
    for (const [path, file] of Object.entries(reply.files ?? {})) {
      hold(new URL(`../../${path}`, location).href, file);
    }
    ({ number } = reply);
    offer(reply.measures);
    show(reply.html, undefined, carry);
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
    message.textContent = noAnswer(error);
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

// Shows a reply's error or warnings. Returns whether it has something else to show.
function say({ dropped, error, warnings }) {
  if (dropped) later(); // so many tabs have asked that this one was forgotten
  else message.textContent = error ?? warnings.join(" ");
  return !dropped && !error;
}

// Replaces the answer, or only what matches the selector `place`.
function show(html, place, after = () => {}) {
  const { content } = Object.assign(document.createElement("template"), { innerHTML: html });
  const list = answer.querySelector(LIST);
  if (place) answer.querySelector(place).replaceWith(content.querySelector(place));
  else answer.replaceChildren(content);
  if (!place && list) answer.querySelector(LIST)?.replaceChildren(...list.childNodes); // until the new one is there
  subscribers.forEach((call) => call());
  document.body.dataset.stays = "";
  after();
  look();
}

// Fills the choice of measures anew: the project's may have changed since the page was opened.
function offer(measures) {
  const { measure } = form.elements;
  const offered = [...measure.options].map(({ value, text }) => [value, text]);
  if (JSON.stringify(offered) === JSON.stringify(Object.entries(measures))) return;
  const options = Object.entries(measures).map(([name, title]) => new Option(title, name, false, name === measure.value));
  measure.replaceChildren(...options);
}

// Waits until the first figure is painted, but no longer than `PATIENCE`: it may be out of sight.
function painted() {
  const figure = answer.querySelector("figure");
  return new Promise((done) => {
    if (figure) ["figureshown", "figurefailed"].forEach((type) => figure.addEventListener(type, done));
    setTimeout(done, figure ? PATIENCE : 0);
  });
}

// Writes what is shown into the address, and what was shown before into the list of earlier texts.
function remember(question) {
  const now = new URL(location);
  for (const [name, value] of Object.entries(question)) {
    if (value && encodeURIComponent(value).length < LONGEST) now.searchParams.set(name, value);
    else now.searchParams.delete(name);
  }
  history.replaceState(history.state, "", now);
  const before = shown;
  shown = question;
  // the beginning of this text was only on the way to it
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
  while (earlier.children.length > MOST_EARLIER) earlier.lastChild.remove();
  earlier.parentElement.hidden = false;
}

// Sliders over tokens whose next is predicted follow the pinned token; they count from the last.
onPin(() => {
  const token = pinned();
  for (const slider of token < 0 ? [] : answer.querySelectorAll("input[name=back]")) {
    slider.value = slider.max - token;
    slider.dispatchEvent(new Event("input"));
  }
});

// Lists the heads that look most from the pinned token: to any target, or to the one that is pinned
// with it or chosen here.
const LIST = ".explore__looking";
const HINT = "Click a token of this text to see here which heads look from it most, and where to.";

const look = latest(async () => {
  const place = answer.querySelector(LIST);
  const { token, target } = inText(pins(), answer.querySelector("#passage")?.dataset.text);
  const of = [number, token, target].join();
  if (!place || place.dataset.of === of) return;
  place.dataset.of = of;
  const focused = place.contains(document.activeElement);
  if (!(token >= 0)) {
    place.replaceChildren(HINT);
    if (focused) answer.querySelector("#passage [tabindex]")?.focus({ preventScroll: true });
    return;
  }
  try {
    const { html, error, dropped } = await post("looking", { number, token, target: target < 0 ? null : target });
    if (dropped) return later();
    if (error) place.replaceChildren(error);
    else place.innerHTML = html;
    if (focused) place.querySelector("select")?.focus({ preventScroll: true });
  } catch (error) {
    place.replaceChildren(noAnswer(error));
  }
});
onMark(look);
// A chosen target is the map's cell, which stands in its address.
answer.addEventListener("change", async ({ target: { name, value } }) => {
  if (name !== "target") return;
  const { figures } = await import("../figure/figure.js");
  const map = figures.get(answer.querySelector("#fig-1"));
  map?.pick({ cell: value ? `${pinned()}+${value}` : undefined });
  aim(value ? Number(value) : -1);
  map?.changed();
});

function later() {
  clearTimeout(timer);
  timer = setTimeout(ask, PAUSE);
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
  // only now: screen readers are silent about a text that comes together with its element
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
const outcome = keeping.querySelector("output");
const LONGEST_TITLE = 40; // characters
let proposal = "";

// Proposes the first words of the text as the title, unless another one has been typed.
function propose() {
  keeping.hidden = keeping.inert = false;
  outcome.textContent = "";
  if (title.value !== proposal) return;
  const words = shown.text.trim().split(/\s+/);
  while (words.length > 1 && words.join(" ").length > LONGEST_TITLE) words.pop();
  title.value = proposal = words.join(" ").slice(0, LONGEST_TITLE);
}

// What the article is made of: the text that was measured, states of its figures, the pinned token.
async function contents() {
  const { stateOf } = await import("../figure/controls.js"); // also before figures come to life
  const figures = [...answer.querySelectorAll("figure[data-figure]:not(section *)")];
  const states = figures.map((each) => [each.dataset.figure, stateOf(each.querySelectorAll("input[name]"))]);
  const token = pinned() < 0 ? null : pinned();
  const { text, model } = shown;
  return { text, model, title: title.value, figures: states, token };
}

async function keep(event) {
  event.preventDefault();
  outcome.textContent = "";
  const buttons = keeping.querySelectorAll("button");
  buttons.forEach((each) => (each.disabled = true));
  try {
    const add = event.submitter?.name === "add";
    const { done, error } = await post("keep", { ...(await contents()), add });
    outcome.textContent = done ?? error;
  } catch (error) {
    outcome.textContent = noAnswer(error);
  } finally {
    buttons.forEach((each) => (each.disabled = false));
  }
}
keeping.addEventListener("submit", keep);

import("./start.js").then(() => ask(), console.warn);
