// The page of one head. Its address says which: #head=L16H0&model=…, of the models of this atlas. A
// second head stands beside it: &beside=L17H4, of another model (&beside-model=…), of another atlas
// of the site (&beside-atlas=…). What an address says is looked up, and never shown as it is.
//
// Figures are those of the article, set to the head; of a second one, copies of them, or those of the
// page of its own atlas. So another head is shown at once, and another atlas by loading the page again.

import "./palette.js";
import { loadJson, reason } from "../data/loading.js";
import { records } from "../data/records.js";
import { param } from "../figure/controls.js";
import { figures } from "../figure/figure.js";
import { numbers } from "../figure/find.js";
import { keepAddress } from "../reader/address.js";
import { clearMarks, onPin, pins } from "../reader/marks.js";
import { headName } from "../reader/words.js";

const ROOT = new URL("../../", import.meta.url); // of the site
const NAME = /^L?(\d{1,3})\s*[.H]\s*(\d{1,3})$/i;
const TWO_COLUMNS = matchMedia("(min-width: 1000px)");

const at = (selector) => document.querySelector(selector);
const [title, says, steps, form] = ["h1", ".head__says", ".head__steps", ".head__choose"].map(at);
const [table, measures, named, area] = ["numbers", "measures", "named", "figures"].map((name) => at(`.head__${name}`));
const article = document.title.replace(/^.*? – /, "");

// On another site's page, links lead out of the frame.
const leaves = parent === window ? {} : { target: "_blank", rel: "noopener" };

const make = (tag, textContent = "", properties = {}) =>
  Object.assign(document.createElement(tag), { textContent, ...properties });

// --- Atlases: this one, and others of the site ---------------------------------------------------

// The page of the heads of an atlas: its models, and its figures of one head.
function atlas(page, url) {
  const models = [...page.querySelectorAll("option[data-called]")].map(({ value, textContent, dataset }) => ({
    name: value,
    label: textContent,
    called: dataset.called,
    layers: Number(dataset.layers),
    heads: Number(dataset.heads),
    measures: JSON.parse(dataset.measures),
    table: new URL([...page.querySelectorAll("a[data-table]")].find((link) => link.dataset.table === value).getAttribute("href"), url).href,
  }));
  return { url, article: url.split("/").at(-2), models, figures: [...page.querySelectorAll(".live-figure")] };
}

const here = atlas(document, location.href.split("#")[0]);

// What the site says of all atlases: {atlases, titles}; nothing where this page lies alone, or a browser
// has kept a file of an earlier build that says less.
const site = loadJson(new URL("models/heads.json", ROOT).href).then(
  ({ atlases = [], titles = {} }) => ({ atlases, titles }),
  () => ({ atlases: [], titles: {} }),
);

// The page of another atlas, by the name of its article.
async function other(name) {
  const { atlases } = await site;
  const known = atlases.find(({ article: its }) => its === name);
  if (!known) return null;
  const url = new URL(known.at.split("#")[0], ROOT).href;
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`the page of that atlas answered ${answer.status}`);
  return atlas(new DOMParser().parseFromString(await answer.text(), "text/html"), url);
}

// --- The address ---------------------------------------------------------------------------------

// The head that some words name, of a model: {atlas, model, layer, head}; a text that says why there
// is none.
function headOf(words, of, modelName) {
  const model = modelName ? of.models.find(({ name }) => name === modelName) : of.models[0];
  if (!model) return `This atlas has ${of.models.map(({ label }) => label).join(", ")}, and no other model.`;
  const [, layer, head] = NAME.exec(words.trim()) ?? [];
  if (layer === undefined) return "Which head? Write its name, as in L0H0.";
  if (layer >= model.layers || head >= model.heads) {
    return `${model.label} has layers 0 to ${model.layers - 1}, with heads 0 to ${model.heads - 1}.`;
  }
  return { atlas: of, model, layer: Number(layer), head: Number(head) };
}

const said = () => new URLSearchParams(location.hash.slice(1));

async function asked() {
  const words = said();
  const first = headOf(words.get("head") ?? "", here, words.get("model"));
  if (typeof first === "string" || !words.has("beside")) return [first];
  const elsewhere = words.get("beside-atlas");
  const of = elsewhere ? await other(elsewhere) : here;
  if (!of) return [first, "This site has no such atlas."];
  return [first, headOf(words.get("beside"), of, words.get("beside-model") ?? (elsewhere ? null : first.model.name))];
}

function addressOf(first, second) {
  const words = new URLSearchParams({ head: headName(first), model: first.model.name });
  if (second) {
    words.set("beside", headName(second));
    words.set("beside-model", second.model.name);
    if (second.atlas.article !== first.atlas.article) words.set("beside-atlas", second.atlas.article);
  }
  return `${first.atlas === here ? "" : first.atlas.url}#${words}`;
}

// --- Figures -------------------------------------------------------------------------------------

let columns = [[]]; // of each head, its figures

// One row a figure, with a column a head.
function place(sides) {
  const lists = sides.map(({ atlas: of }, n) => (n ? of.figures.map(copy(of)) : of.figures));
  const names = new Set(lists.flat().map(({ dataset }) => dataset.figure));
  const rows = [...names].map((name) => {
    const cells = lists.map((list, n) => {
      const cell = make("div");
      if (sides.length > 1) cell.append(make("p", "", { className: "head__of" }));
      cell.append(list.find(({ dataset }) => dataset.figure === name) ?? lacking(lists, name, sides[n]));
      return cell;
    });
    const row = make("div", "", { className: "head__row" });
    row.append(...cells);
    return row;
  });
  area.replaceChildren(...rows);
  columns = lists;
}

function lacking(lists, name, { model }) {
  const { textContent } = lists.flat().find(({ dataset }) => dataset.figure === name).querySelector("figcaption strong");
  return make("p", `${textContent} The atlas of ${model.label} does not have it.`, { className: "head__lacks" });
}

// A copy that a page may have beside the first: with an id and names of its own.
const copy = (of) => (figure) => {
  const made = document.importNode(figure, true);
  made.id = `${figure.id}-beside`;
  made.dataset.page = of.url;
  for (const input of made.querySelectorAll("input[type=radio]")) input.name = `${param(input)}-${made.id}`;
  return made;
};

function set(figure, { model, layer, head }) {
  const values = { model: model.called, layer, head };
  const live = figures.get(figure);
  if (live) live.set(values, false);
  else {
    for (const input of figure.querySelectorAll("input[name], select[name]")) {
      const value = values[param(input)];
      if (value === undefined) continue;
      if (input.type === "radio") input.checked = input.value === value;
      else input.value = value;
    }
  }
  const number = figure.querySelector(".live-figure__number");
  number.textContent = `${headName({ layer, head })}.`;
  number.removeAttribute("href"); // its address is that of the page
}

// --- Numbers -------------------------------------------------------------------------------------

// As they are kept, of which the sentences above are made too: what is rounded reads alike.
async function rowsOf({ model }) {
  const file = await loadJson(model.table);
  return records(file.tables.heads);
}

let tabled; // what draws the table again when there is room for other columns

async function fillTable(sides) {
  const all = await Promise.all(sides.map(rowsOf));
  const own = sides.map(({ layer, head }, n) => all[n].find((row) => row.layer === layer && row.head === head));
  const known = new Map(sides.flatMap(({ model }) => model.measures).map((each) => [each.name, each]));
  const cells = (measure, n) =>
    sides[n].model.measures.some(({ name }) => name === measure.name)
      ? numbers(measure, own[n], all[n]) : ["not measured", "", ""];
  if (sides !== shown) return; // there are newer ones, whose files came sooner
  tabled = () => table.replaceChildren(drawn(sides, [...known.values()], cells, all));
  tabled();
  measures.querySelector("dl").replaceChildren(...[...known.values()].flatMap(explained));
}

TWO_COLUMNS.addEventListener("change", () => tabled?.());

// cells: a function from a measure and the number of a head to value, control and rank
function drawn(sides, known, cells, all) {
  const made = make("table");
  const ranked = (n) => `Rank of ${all[n].length}`;
  const line = (...texts) => {
    const row = make("tr");
    row.append(...texts);
    return row;
  };
  const column = (text) => make("th", text, { scope: "col" });
  const head = make("thead");
  const body = make("tbody");
  const values = (measure, n) => cells(measure, n).map((text) => make("td", text));
  const wide = sides.length === 1 || TWO_COLUMNS.matches;
  made.append(make("caption", "A value has its standard error; the highest value has rank 1."), head, body);
  if (wide) {
    const titles = sides.flatMap((side, n) => [sides.length > 1 ? nameOf(side, sides) : "Value", "Control", ranked(n)]);
    head.append(line(column("Measure"), ...titles.map(column)));
  } else {
    head.append(line(...["Measure", "Head", "Value", "Control", "Rank"].map(column)));
  }
  for (const measure of known) {
    const name = make("th", measure.title, { scope: wide ? "row" : "rowgroup" });
    if (!/\d/.test(measure.unit)) name.append(make("small", ` ${measure.unit}`));
    if (wide) body.append(line(name, ...sides.flatMap((_, n) => values(measure, n))));
    else {
      name.rowSpan = sides.length;
      sides.forEach((side, n) => body.append(line(...(n ? [] : [name]), make("td", headName(side)), ...values(measure, n))));
    }
  }
  made.dataset.heads = sides.length;
  return made;
}

function explained({ title: name, shows, unit, control }) {
  return [make("dt", name), make("dd", `${shows.replace(/\.?$/, "")} (${unit}). Control: ${control}.`)];
}

// With its model, where the other one is of another.
const nameOf = (side, sides) =>
  sides.every(({ model }) => model.label === sides[0].model.label) ? headName(side) : fullName(side);
const fullName = (side) => `${headName(side)} of ${side.model.label}`;
const allNames = (sides) =>
  sides.length > 1 && nameOf(sides[0], sides) === headName(sides[0])
    ? `${headName(sides[0])} and ${fullName(sides[1])}` : sides.map(fullName).join(", beside ");

// --- Words around ----------------------------------------------------------------------------------

// What the head does most, beside all others, whether it matters, and which articles of the site name it.
async function tell(sides) {
  const { atlases, titles } = await site;
  if (sides !== shown) return;
  says.replaceChildren();
  named.replaceChildren();
  for (const side of sides) {
    const known = atlases.find((each) => each.article === side.atlas.article && each.model === side.model.name);
    if (!known) continue;
    const of = nameOf(side, sides) === headName(side) ? "" : `${side.model.label}: `; // the lines name the head
    says.append(...known.lines[side.layer][side.head].split("\n").map((line) => make("p", of + line)));
    const links = (known.named?.[headName(side)] ?? []).map((name) =>
      make("a", titles[name] ?? name, { href: new URL(`articles/${name}/`, ROOT).href, ...leaves }));
    if (!links.length) continue;
    const articles = make("p", `Articles that speak of ${fullName(side)}: `);
    links.forEach((link, n) => articles.append(n ? ", " : "", link));
    named.append(articles);
  }
}

// The heads before and after, and those of the layers beside; key -> head.
function around({ model, layer, head, atlas: of }) {
  const to = (place) => ({ atlas: of, model, layer: Math.floor(place / model.heads), head: place % model.heads });
  const now = layer * model.heads + head;
  const next = { ArrowLeft: now - 1, ArrowRight: now + 1, ArrowUp: now - model.heads, ArrowDown: now + model.heads };
  const there = Object.entries(next).filter(([, place]) => place >= 0 && place < model.layers * model.heads);
  return Object.fromEntries(there.map(([key, place]) => [key, to(place)]));
}

const SIGNS = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };
const WORDS = { ArrowLeft: "head before", ArrowRight: "head after", ArrowUp: "layer before", ArrowDown: "layer after" };

function offerSteps([first, second]) {
  const focused = steps.contains(document.activeElement) && document.activeElement.dataset.key;
  const ways = around(first);
  const links = Object.keys(SIGNS).filter((key) => ways[key]).map((key) => {
    const link = make("a", `${SIGNS[key]} ${headName(ways[key])}`, { href: addressOf(ways[key], second) });
    link.setAttribute("aria-label", `${headName(ways[key])}, ${WORDS[key]}`);
    link.dataset.key = key;
    return link;
  });
  if (second) {
    const alone = (text, href) => links.push(make("a", text, { href }));
    alone(`Without ${nameOf(second, [first, second])}`, addressOf(first));
    alone("Change sides", addressOf(second, first));
  }
  steps.replaceChildren(...links);
  if (focused) (steps.querySelector(`[data-key=${focused}]`) ?? links[0]).focus();
}

addEventListener("keydown", (event) => {
  const { key, target, ctrlKey, metaKey, altKey, shiftKey } = event;
  const inSteps = steps.contains(target);
  // elsewhere, arrows up and down scroll
  if (!(inSteps ? SIGNS[key] : target === document.body && /^Arrow(Left|Right)$/.test(key))) return;
  const link = steps.querySelector(`[data-key=${key}]`);
  if (ctrlKey || metaKey || altKey || shiftKey || !link) return;
  event.preventDefault();
  link.click();
});

// --- Which head ------------------------------------------------------------------------------------

async function offerModels() {
  const { atlases, titles } = await site;
  const list = form.elements.model;
  for (const { article: name, model, label } of atlases) {
    if (name === here.article) continue;
    list.append(make("option", `${label}, in “${titles[name] ?? name}”`, { value: `${name}/${model}` }));
  }
  list.parentElement.hidden = list.options.length < 2;
  form.hidden = false;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { model, head } = form.elements;
  const answer = form.querySelector("output");
  const beside = event.submitter?.name === "beside";
  try {
    const [elsewhere, name] = model.value.includes("/") ? model.value.split("/") : [null, model.value];
    const found = headOf(head.value, elsewhere ? await other(elsewhere) : here, name);
    answer.textContent = typeof found === "string" ? found : "";
    if (typeof found === "string") return;
    const [first, second] = shown;
    location.href = beside && first ? addressOf(first, found) : addressOf(found, elsewhere ? undefined : second);
  } catch (error) {
    answer.textContent = `That did not work (${reason(error)}).`;
  }
});

// A head that is chosen in a figure is what the page is about.
onPin(() => {
  const { layer, head, model } = pins();
  if (head < 0) return;
  clearMarks();
  const of = shown.find((side) => side.model.called === model);
  if (!of) return;
  const chosen = { ...of, layer, head };
  const [first, second] = shown;
  location.href = of === first ? addressOf(chosen, second) : addressOf(first, chosen);
});

// --- All of it -------------------------------------------------------------------------------------

let shown = []; // the heads
let layout; // whose figures are placed: the articles
let live; // whether they may have come alive, and stay as they are

async function show() {
  const now = location.hash;
  const sides = await asked();
  if (location.hash !== now) return; // there is a newer one
  const wrong = sides.find((side) => typeof side === "string");
  for (const part of [table, measures, named, area, at(".head__share")]) part.hidden = Boolean(wrong);
  steps.hidden = Boolean(wrong);
  if (wrong) {
    says.replaceChildren(make("p", wrong));
    title.textContent = "No head of this name";
    shown = [];
    return;
  }
  const wanted = sides.map(({ atlas: of }) => of.article).join();
  if (live && layout !== wanted) return location.reload();
  if (layout !== wanted) place(sides);
  layout = wanted;
  shown = sides;
  title.textContent = allNames(sides);
  document.title = `${title.textContent} – ${article}`;
  columns.forEach((list, n) => list.forEach((figure) => set(figure, sides[n])));
  for (const row of area.children) {
    [...row.children].forEach((cell, n) => {
      if (sides.length > 1) cell.firstChild.textContent = fullName(sides[n]);
    });
  }
  offerSteps(sides);
  form.elements.model.value = sides[0].model.name;
  leadBack(sides[0]);
  await Promise.all([fillTable(sides), tell(sides)]);
  if (sides !== shown) return;
  live = true;
  import("./start.js").catch(console.warn); // figures stand at the head now
}

// On paper no still picture stands in for a chart that was never near the window. A browser does not
// wait for it to be drawn: the key that begins Ctrl-P is a head start, and who prints once more has all.
const drawAll = () => figures.forEach((figure) => figure.start());
addEventListener("beforeprint", drawAll);
addEventListener("keydown", ({ key }) => ["Control", "Meta"].includes(key) && drawAll());

// The atlas, with the head marked in it.
function leadBack({ model, layer, head }) {
  const link = at(".head__back");
  const { finder } = link.dataset;
  if (finder) link.hash = `${finder}:model=${model.called},pinned_layer=${layer},pinned_head=${head}`;
  steps.append(make("a", "All heads", { href: link.href, ...leaves }));
}

const showOrSay = () =>
  show().catch((error) => {
    console.warn(error);
    says.replaceChildren(make("p", `This head could not be shown (${reason(error)}).`));
  });

at(".head__share").addEventListener("click", async ({ target }) => {
  const what = target.dataset.copy;
  if (!what) return;
  const { copied, frameOf } = await import("../tools/sharing.js");
  const size = { width: 960, height: 900 };
  const text = what === "link" ? location.href : frameOf(location.href, title.textContent, size);
  at(".head__share span").textContent = (await copied(text)) ? "Copied" : "The browser does not let pages copy";
});

Object.assign(at(".head__back"), leaves);
keepAddress();
// after what figures do then, which bring back what they showed at this entry of the history
addEventListener("hashchange", () => setTimeout(showOrSay));
offerModels().catch(console.warn);
showOrSay();
