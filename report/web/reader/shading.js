// The passage, shaded by attention: by how much of it the token that is pointed at, or pinned,
// gives to each token; turned round, by how much of their attention the other tokens give to it. The
// head is that of the figure that the passage goes with, and can be chosen here as well as there.

import { latest, loadStyles, reason } from "../data/loading.js";
import { ofRegions } from "../data/regions.js";
import { attention } from "../data/shard.js";
import { percent } from "../data/shares.js";
import { inText, marked, onMark, pins } from "./marks.js";
import { bringIn, sayOf, textOf } from "./passage.js";
import { cut, textId } from "./words.js";

const FAINTEST = 0.002; // of attention; a shade for less could not be seen
const NUMBERED = 9; // at most, the strongest first
const LEAST = 0.02; // of a token that has a number
const NAMED = 3; // in words
const MUCH = 0.9; // of attention on the first token: little else can be seen

const decoded = new WeakMap(); // file of a head -> its attention by tokens, words and the like, so that
// a token is shaded at once

let passage; // of this page, undefined where no figure shades it
let tokens, bar, says, hint;
let figures; // element -> figure, of this page
let figure; // the one whose head the shades are of
let held = false; // whether Alt is

const button = (act) => bar.querySelector(`[data-act=${act}]`);
const isOn = (act) => button(act).getAttribute("aria-pressed") === "true";
const press = (act, on) => button(act).setAttribute("aria-pressed", String(on));

// all: a map of element to figure, in the order of the page
export function watchShading(of, all) {
  const found = of.parentElement.querySelector(".passage__bar");
  if (!found || passage === of) return;
  [passage, figures, bar, figure] = [of, all, found, undefined];
  tokens = [...passage.querySelectorAll(".token[data-token]")];
  says = bar.querySelector(".passage__says");
  hint = says.textContent;
  button("gets").title = "The Alt key does it too, for as long as it is held";
  bar.addEventListener("click", ({ target }) => act(target.closest("[data-act]")?.dataset.act));
  for (const select of selects()) {
    select.addEventListener("change", () => {
      // no figure has shaded anything before a token is pointed at
      (figure ?? candidates()[0])?.choose({ [select.name]: Number(select.value) });
    });
  }
  loadStyles(STYLES).catch(console.warn); // for the strip
  offer(candidates()[0]);
  shade();
}

const STYLES = new URL("shading.css", import.meta.url);

function act(name) {
  if (["gives", "gets"].includes(name)) for (const each of ["gives", "gets"]) press(each, each === name);
  else if (name) press(name, !isOn(name));
  if (name === "keep") keep(passage.parentElement, isOn("keep"));
  shade();
}

onMark(() => shade());

// A figure has drawn another head.
addEventListener("figureshown", ({ target }) => figures?.has(target) && shade(), true);
addEventListener("input", ({ target }) => {
  if (figure?.element.contains(target)) offer(figure);
});

// Alt turns the shades round for as long as it is held, for who is at the passage.
const isAt = () => passage?.matches(":hover, :focus-within");

addEventListener("keydown", (event) => {
  if (event.key !== "Alt" || !isAt()) return;
  event.preventDefault(); // it would lead to the browser's menu
  hold(true);
});
addEventListener("keyup", ({ key }) => key === "Alt" && hold(false));
addEventListener("blur", () => hold(false));

function hold(on) {
  if (held === on) return;
  held = on;
  shade();
}

const isTurned = () => isOn("gets") !== held;

// The token that is looked from: the one that is pointed at, else the pinned one, else the article's.
const looker = () => [inPassage(marked()).token, inPassage(pins()).token, first()].find((token) => tokens[token]);
const inPassage = (marks) => inText(marks, passage.dataset.text);

// The one that the article shows until a reader points at another.
const first = () => (passage.dataset.opens ? Number(passage.dataset.opens) : -1);

const shade = latest(async () => {
  if (!passage?.isConnected) return;
  try {
    await loadStyles(STYLES);
    if (looker() === undefined) return clear();
    const of = await headInUse();
    const token = looker(); // of now: the reader has not waited for the files
    if (token === undefined) return clear();
    if (!of) return tell("No figure of this page shows a head that reads this text.");
    figure = of.figure;
    offer(figure);
    if (of.text !== passage.dataset.text) {
      return tell(`${of.head}: this model cuts the text into other tokens, so it has no shades here.`);
    }
    paint(token, sharesOf(of.map, token), of);
  } catch (error) {
    console.warn(error);
    tell(`The text could not be shaded (${reason(error)}).`);
  }
});

// --- The head, and the figure that has it -------------------------------------------------------

const selects = () => bar.querySelectorAll("select");

// The figures of one head, first the one that the passage goes with: that beside it, else the first
// of the page; while it is kept in view, the one of which most is in the window.
function candidates() {
  const all = [...figures.values()].filter(({ head, element }) => head && element.isConnected);
  const near = passage.closest(".opening");
  const rank = isOn("keep")
    ? (each) => (each === figure ? 0.5 : 0) + heightInView(each.element)
    : ({ element }) => Number(near?.contains(element) ?? false);
  return all.sort((one, other) => rank(other) - rank(one)); // others as on the page
}

function heightInView(element) {
  const { top, bottom } = element.getBoundingClientRect();
  const strip = passage.parentElement.getBoundingClientRect();
  return Math.max(0, Math.min(bottom, innerHeight) - Math.max(top, strip.bottom));
}

// The attention of the head that a figure shows, of the first of the candidates that shows one.
async function headInUse() {
  for (const each of candidates()) {
    const { state: now, shows: state = now, charts: [chart] } = each;
    const { report } = (await chart.specification(state)).usermeta;
    const { file, tokens: labels } = await chart.fetched(state, report.data);
    if (file.schema !== "attention/4") continue; // what it shows of a head is no passage's attention
    if (!decoded.has(file)) decoded.set(file, { tokens: attention(file) });
    const [maps, regions] = [decoded.get(file), report.regions?.[state.by]];
    if (regions) maps[state.by] ??= Object.assign(ofRegions(maps.tokens, regions.firsts), {
      texts: regions.texts,
      unit: state.by.slice(0, -1),
    });
    const map = maps[regions ? state.by : "tokens"];
    return { map, figure: each, head: nameOf(each, state), text: textId(labels) };
  }
  return null;
}

// "L18H6 of smollm2-135m (Figure 3)"; the number where the figure is not the one beside the text.
function nameOf({ element }, { layer, head, model: value }) {
  const label = element.querySelector(`input[name*=model][value="${value}"]`)?.parentElement;
  const model = label?.textContent.trim() || bar.dataset.model;
  const number = element.querySelector(".live-figure__number")?.textContent.replace(/\.$/, "");
  const beside = !isOn("keep") && passage.closest(".opening")?.contains(element);
  return `L${layer}H${head}${model ? ` of ${model}` : ""}${beside || !number ? "" : ` (${number})`}`;
}

// The lists offer the layers and heads that the sliders of a figure reach, and stand where they do.
function offer(of) {
  for (const select of selects()) {
    const slider = of?.element.querySelector(`input[type=range][name=${select.name}]`);
    select.disabled = !slider;
    if (!slider) continue;
    const [least, most] = [Number(slider.min), Number(slider.max)];
    if (select.options[0]?.value !== slider.min || select.length !== most - least + 1) {
      const values = Array.from({ length: most - least + 1 }, (_, n) => least + n);
      select.replaceChildren(...values.map((value) => new Option(value)));
    }
    select.value = slider.value;
    select.parentElement.hidden = least === most;
  }
}

// --- Shares -------------------------------------------------------------------------------------

const rests = new WeakMap(); // attention -> what each token gives to others than the first, once asked

// The token that stands for those whose share is the same: the first one of its word, or itself.
const standsFor = (map, each) => (map.span ? map.span(each)[0] : each);

// What token i gives to tokens other than the first. A difference from 1 would have few digits.
function restOf(map, i) {
  if (!rests.has(map)) rests.set(map, new Float64Array(map.size).fill(-1));
  const kept = rests.get(map);
  const once = (share, j) => (j && standsFor(map, j) === j ? share : 0);
  if (kept[i] < 0) kept[i] = rowOf(map, i).reduce((sum, share, j) => sum + once(share, j), 0);
  return kept[i];
}

const given = (map, i, j) => (map.sees(i, j) ? map.probability(i, j) : 0);
const rowOf = (map, i) => tokens.map((_, j) => given(map, i, j));

// The shares that the shades say, of each token. `from`: the token itself, in what it gives; the
// others, in what they give to it.
function sharesOf(map, token) {
  const turned = isTurned();
  const without = isOn("out") && !(turned && standsFor(map, token) === 0); // who looks at the first is asked of it
  const share = (i, j) => {
    if (!without) return given(map, i, j);
    const rest = restOf(map, i);
    return standsFor(map, j) && rest ? given(map, i, j) / rest : 0;
  };
  const shares = tokens.map((_, each) => (turned ? share(each, token) : share(token, each)));
  const unit = map.unit ?? "token";
  return { shares, turned, without, toFirst: given(map, token, 0), map, unit };
}

function strongestOf(shares, map) {
  const each = [...shares.keys()].filter((token) => standsFor(map, token) === token);
  const order = each.sort((a, b) => shares[b] - shares[a] || a - b);
  return order.slice(0, NUMBERED);
}

function paint(token, of, { head }) {
  const { shares } = of;
  const strongest = strongestOf(shares, of.map);
  const ranked = strongest.filter((each) => shares[each] >= LEAST);
  const rank = new Map(ranked.map((each, n) => [each, n + 1]));
  passage.classList.add("passage--shaded");
  tokens[first()]?.classList.toggle("token--first", token === first());
  tokens.forEach((element, each) => {
    // a share of a quarter is half as dark: small shares are to be seen
    look(element, shares[each] < FAINTEST ? "" : Math.sqrt(shares[each]).toFixed(3));
    if (rank.has(each)) element.dataset.rank = rank.get(each);
    else if (element.dataset.rank) delete element.dataset.rank;
  });
  placeNumbers();
  const sentence = sentenceOf(token, of, strongest);
  says.textContent = `${head}: ${sentence}${elsewhere()}`;
  sayOf(token, shares[strongest[0]] ? shortOf(of, strongest[0]) : "");
  if (isOn("keep")) bringIn(token);
}

// Touches only what changes: of a long passage most stays as it is.
const looks = new WeakMap(); // token -> what its shade is
function look(element, shade) {
  if ((looks.get(element) ?? "") === shade) return;
  looks.set(element, shade);
  if (shade) element.style.setProperty("--looked", shade);
  else element.style.removeProperty("--looked");
}

// The numbers stand above the text and are no part of it: to place them lays out nothing anew.
function placeNumbers() {
  let numbers = passage?.querySelector(".passage__ranks");
  if (!numbers && !passage?.matches(".passage--shaded")) return; // nor are their styles here yet
  if (!numbers) {
    numbers = document.createElement("div");
    Object.assign(numbers, { className: "passage__ranks", ariaHidden: "true" });
    for (let n = 1; n <= NUMBERED; n++) {
      numbers.append(Object.assign(document.createElement("span"), { textContent: n }));
    }
    passage.append(numbers);
  }
  const frame = passage.getBoundingClientRect();
  const ranked = new Map();
  for (const token of passage.querySelectorAll(".token[data-rank]")) {
    if (!token.closest(".characters")) ranked.set(Number(token.dataset.rank), token);
  }
  const places = [...numbers.children].map((_, n) => ranked.get(n + 1)?.getClientRects()[0]);
  [...numbers.children].forEach((number, n) => {
    const place = places[n];
    number.style.visibility = place ? "visible" : "hidden";
    if (!place) return;
    const down = place.top - frame.top + passage.scrollTop;
    number.style.translate = `${place.left - frame.left}px ${down}px`;
  });
}

addEventListener("resize", () => passage?.isConnected && placeNumbers());

// --- Words --------------------------------------------------------------------------------------

const READ = 24; // characters of a token in a sentence, which has room for three lines

// Without the space before it, which is no part of a word in a sentence; in an isolate.
function read(each, map) {
  const text = map.span ? map.texts[map.region(each)] : textOf(each);
  return `“\u2068${cut(text.trim() || text, READ)}\u2069”`;
}

function shortOf({ shares, turned, without, map }, top) {
  const share = percent(shares[top]);
  if (turned) return `gets most from ${read(top, map)}: ${share}`;
  return `gives ${share}${without ? " of the rest" : ""} to ${read(top, map)}`;
}

// What a token gives, or gets: the largest share in any case, others of LEAST or more.
function sentenceOf(token, { shares, turned, without, toFirst, map, unit }, strongest) {
  const text = read(token, map);
  const [top, ...others] = strongest;
  const word = turned ? "from" : "to";
  const more = others.filter((each) => shares[each] >= LEAST).slice(0, NAMED - 1);
  const list = more.map((each) => `, ${percent(shares[each])} ${word} ${read(each, map)}`).join("");
  const most = shares[top] >= LEAST ? "" : "at most ";
  const told = `${most}${percent(shares[top])} ${word} ${read(top, map)}, ${farOf(map, token, top, unit)}${list}`;
  if (turned) {
    if (!shares[top]) return `no ${unit} looks at ${text}.`;
    return `${text} gets ${most && "little, "}${told}${without ? `; first ${unit} left out` : ""}.`;
  }
  if (!without) {
    const offer = toFirst > MUCH && token ? ` Leave out the first ${unit} to see the rest.` : "";
    return `${text} gives ${told}.${offer}`;
  }
  const out = `${text} gives ${percent(toFirst)} to the first ${unit}, left out`;
  return shares[top] ? `${out}; of the rest, ${told}.` : `${out}; nothing else gets any.`;
}

function farOf(map, token, top, unit) {
  const [from, to] = map.span ? [map.region(token), map.region(top)] : [token, top];
  const away = Math.abs(from - to);
  const where = to < from ? "back" : "on";
  return away ? `${away} ${unit}${away > 1 ? "s" : ""} ${where}` : "itself";
}

function clear() {
  passage.classList.remove("passage--shaded");
  tokens[first()]?.classList.remove("token--first");
  tokens.forEach((element) => {
    look(element, "");
    if (element.dataset.rank) delete element.dataset.rank;
  });
  placeNumbers();
  says.textContent = hint + elsewhere();
  sayOf(-1, "");
}

// A pin that this text has not is not its word of that index.
const elsewhere = () =>
  pins().token >= 0 && inPassage(pins()).token < 0 ? " What is pinned is no token of this text." : "";

function tell(text) {
  clear();
  says.textContent = text;
}

// --- Kept in view -------------------------------------------------------------------------------

// A strip at the top of the window, for who wants to see the text beside the figures. This stands
// where the text has been, as high, so that no figure moves.
const gap = Object.assign(document.createElement("div"), { className: "passage-gap" });
gap.textContent = "The text is at the top of the window.";

function keep(frame, on) {
  if (on) {
    const { height, margin } = getComputedStyle(frame);
    Object.assign(gap.style, { height, margin });
    frame.before(gap);
    placeStrip();
  } else gap.remove();
  frame.classList.toggle("passage-frame--kept", on);
}

// Below the header of the page, as wide as the figures.
function placeStrip() {
  if (!gap.isConnected) return;
  const { left, width } = (gap.closest(".opening") ?? gap).getBoundingClientRect();
  const top = document.querySelector(".md-header")?.offsetHeight ?? 0;
  Object.assign(passage.parentElement.style, {
    left: `${left}px`,
    width: `${width}px`,
    top: `${top}px`,
  });
}

addEventListener("resize", placeStrip);

// It goes with the figure in view.
const follow = () => {
  if (passage?.isConnected && isOn("keep") && candidates()[0] !== figure) shade();
};
addEventListener("scroll", () => requestAnimationFrame(follow), { passive: true });
