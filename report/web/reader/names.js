// Names of heads in the text, L18H6, are buttons: pointing marks the head in all figures, a press
// pins it. A name is one of the model that its figure shows; in prose of the page's first model,
// where no other one is spoken of. Where that is not clear, or no figure shows the head, it stays
// text.

import { isTouch, onMark, pin, pins, point, sameHead, unpoint } from "./marks.js";

const NAME = /\bL(\d{1,3})H(\d{1,3})\b/g;
const BLOCK = "p, li, td, th, dd, blockquote, summary";
const NO_TEXT =
  "button, a:not([href$='#head-name']), code, pre, label, h1, h2, h3, h4, script, style, .passage, " +
  ".passage__bar, .live-figure__panels, .live-figure__panel, .live-figure__controls, .live-figure__live";

let figures = new Map(); // element -> Figure, of this page

// all: that map
export function watchNames(all) {
  figures = all;
  const article = document.querySelector("article") ?? document.body;
  if (figures.size) nameHeads(article);
}

// Makes buttons of the names in an element.
export function nameHeads(root) {
  const models = labels();
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const { currentNode: text } = walker;
    for (const match of text.data.matchAll(NAME)) found.push([text, match]);
  }
  // from the last, so that places in a text stay
  for (const [text, { 0: name, 1: layer, 2: head, index }] of found.reverse()) {
    if (text.parentElement.closest(NO_TEXT)) continue;
    const model = modelOf(text, index, name, models);
    const at = { layer: Number(layer), head: Number(head), model };
    if (!model || ![...figures.values()].some((figure) => figure.stateOf(at))) continue;
    const rest = text.splitText(index);
    rest.splitText(name.length);
    const term = rest.parentElement.closest("a"); // what the name means, the button says
    (term ?? rest).replaceWith(button(name, at));
  }
}

function button(name, at) {
  const made = Object.assign(document.createElement("button"), { className: "head-name" });
  Object.assign(made, { type: "button", textContent: name });
  Object.assign(made.dataset, at);
  made.setAttribute("aria-pressed", String(sameHead(at, pins())));
  return made;
}

// The model of the page's first figure of one head.
function first() {
  const all = [...figures.values()];
  return (all.find((figure) => figure.head) ?? all[0]).addressed;
}

// What readers call the models of the page: [[label, model, null where no switch has it]].
function labels() {
  const said = ({ textContent }) => textContent.trim();
  const switches = [...document.querySelectorAll(".live-figure input[data-param=model]")];
  const found = Object.fromEntries(switches.map((each) => [said(each.parentElement), each.value]));
  const [about, ...links] = document.querySelectorAll("article a[href*='/models/#']");
  if (about) found[said(about)] ??= first();
  for (const link of links) found[said(link)] ??= null;
  return Object.entries(found);
}

function modelOf(text, index, name, models) {
  const figure = figures.get(text.parentElement.closest(".live-figure"));
  const within = figure && text.parentElement.closest("figcaption");
  const block = within ?? text.parentElement.closest(BLOCK) ?? text.parentElement;
  const range = document.createRange();
  range.setStart(block, 0);
  range.setEnd(text, index);
  const before = String(range);
  const after = block.textContent.slice(before.length + name.length);
  const [sentence] = /^.*?(?:[.?!:](?=\s)|$)/s.exec(after);
  const own = models.find(([label]) => after.trimStart().startsWith(`of ${label}`));
  if (own) return own[1];
  if (figure) return last(before, models) ?? figure.addressed;
  const others = models.filter(([, model]) => model !== first());
  const names = (words) => others.some(([label]) => words.includes(label));
  if (names(before) || names(sentence)) return null;
  const [heading, shown] = section(block);
  return heading && names(heading.textContent) ? shown?.addressed : first();
}

// The model that a text names last.
function last(words, models) {
  const named = models.map(([label, model]) => [words.lastIndexOf(label), model]);
  const [at, model] = named.sort(([one], [other]) => other - one)[0] ?? [-1];
  return at < 0 ? undefined : model;
}

// The heading above an element, and the first figure below that heading.
function section(element) {
  const all = [...document.querySelectorAll("article :is(h2, h3), .live-figure")];
  const is = (each) => element.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_PRECEDING;
  const at = all.findLastIndex((each) => !figures.has(each) && is(each));
  const next = all.slice(at + 1);
  const end = next.findIndex((each) => !figures.has(each));
  return [all[at], figures.get(next.slice(0, end < 0 ? undefined : end)[0])];
}

const nameAt = ({ target }) => target.closest?.(".head-name");
const headOf = ({ dataset: { layer, head, model } }) => ({ layer: Number(layer), head: Number(head), model });

addEventListener("pointerover", (event) => !isTouch(event) && nameAt(event) && point(headOf(nameAt(event))));
addEventListener("pointerout", (event) => !isTouch(event) && nameAt(event) && unpoint());
addEventListener("focusin", (event) => nameAt(event)?.matches(":focus-visible") && point(headOf(nameAt(event))));
addEventListener("focusout", (event) => nameAt(event) && unpoint());
addEventListener("click", (event) => nameAt(event) && pin(headOf(nameAt(event))));

onMark(() => {
  for (const each of document.querySelectorAll(".head-name")) {
    each.setAttribute("aria-pressed", String(sameHead(headOf(each), pins())));
  }
});
