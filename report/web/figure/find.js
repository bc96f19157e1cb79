// A field that finds heads by what they do: "previous > 90 %, entropy < 1", a measure, the name of a
// head, or those like it. What is found stands in a table, each number beside its control, and stays
// in the figure.

import { atlasOf } from "../reader/atlas.js";
import { answer, ask, question } from "../reader/marks.js";
import { nameHeads } from "../reader/names.js";
import { headName } from "../reader/words.js";

const SHOWN = 10; // rows of the table, and heads that are like another
const NUMBER = String.raw`([-−]?\d*\.?\d+)\s*`;
const RANGE = new RegExp(`^(.*?)\\s*${NUMBER}(?:–|\\.{2,3}|\\bto\\b)\\s*${NUMBER}(%?)$`, "u");
const COMPARED = new RegExp(`^(.*?)\\s*(>=|<=|[<>≥≤])\\s*${NUMBER}(%?)$`, "u");
const NAMED = /^L?(?:ayer)?\s*(\d+)\s*(?:[.H]|,?\s*head)\s*(\d+)$/i;
const LIKE = /^(?:like|near(?:est)?(?:\s+to)?|similar\s+to)\s+/i;
const PLACED = /^head\s*(\d+)\s*(?:of|in)\s*layer\s*(\d+)$/i; // as articles say it
const PLACE = /^(layer|head|group)s?(?:\s*(\d+))?$/i;
const NO_LESS = /^-(?=[0.]*( %)?$)/; // the sign of what is rounded to zero
const SMALL = /^(least|lowest|smallest|without)\s+/i;
const CONTROL = /^control(?:\s+of)?\s+/i;
const APART = /,|;|\band\b|&/i;
const IDLE = new Set( // words that say nothing of what a head does
  "a all and at attend attending attention by do does find for from give gives head heads highest in is it look looking looks mean most much of on pay pays show that the their to token tokens what where which who with"
    .split(" "),
);

export class Finder {
  // box: its field and its table; data-measures: {name, title, also, percent, number, control: [short,
  // in full]} of each measure
  constructor(figure, box) {
    Object.assign(this, { figure, box });
    this.measures = JSON.parse(box.dataset.measures);
    [this.field, this.says, this.table] = ["input", "output", "table"].map((each) => box.querySelector(each));
    new ResizeObserver(() => this.fit()).observe(box.querySelector(".live-figure__found"));
    this.field.addEventListener("input", () => ask(this.field.value, figure));
    box.addEventListener("click", ({ target }) => {
      const { found } = target.closest("[data-found]")?.dataset ?? {};
      if (found !== undefined) ask(found, figure);
    });
  }

  // Finds what is asked for, once the figure has its numbers. All figures of a page mark it; the
  // table stands where it was asked.
  show() {
    const { text, figure = this.figure, dragged } = question();
    if (this.field.value !== text) this.field.value = text;
    const all = this.figure.charts[0].shown?.datasets.rows;
    const now = [text, figure, dragged, all];
    if (!all || now.every((each, n) => each === this.last?.[n])) return;
    this.last = now;
    if (!text.trim()) return this.found([], []);
    const { error, near = [], wanted, measures, like } = this.understood(text);
    if (error) return this.askBack(error, near);
    let rows = all.filter((row) => wanted.every((fits) => fits(row)));
    const [{ measure, low } = {}] = measures;
    if (measure) {
      rows.sort((one, other) => (low ? 1 : -1) * (one[measure.name] - other[measure.name]));
    }
    let apart = null;
    if (like) {
      apart = this.apart(like, all);
      if (!apart) return this.askBack(`There is no head ${like} here.`, []);
      const other = (row) => headName(row) !== like;
      rows = rows.filter(other).sort((one, two) => apart.of.get(one) - apart.of.get(two)).slice(0, SHOWN);
    }
    this.found(rows, measures.map((each) => each.measure), all, { first: low ? "least" : "most", like, apart });
  }

  // How far each head's places among all are from those of one, mean over the measures that apply to
  // every head: {of: Map of row to that, 0 to 1, number of measures}; null if that head is not there.
  apart(name, all) {
    const here = all.findIndex((row) => headName(row) === name);
    if (here < 0) return null;
    const sums = all.map(() => 0);
    let number = 0;
    for (const { name: column } of this.measures) {
      const values = all.map((row) => row[column]);
      if (values.includes(null) || new Set(values).size < 2) continue;
      number += 1;
      const places = placesOf(values);
      places.forEach((place, n) => (sums[n] += Math.abs(place - places[here]) / all.length));
    }
    const mean = (sum) => Number((sum / number).toFixed(9)); // so that equal ones are equal
    return number ? { number, of: new Map(all.map((row, n) => [row, mean(sums[n])])) } : null;
  }

  // What a text asks for: conditions on a head, and the measures that they are about; or why not.
  understood(text) {
    const wanted = [];
    const measures = [];
    const named = []; // one of these
    let like; // the head that others are to be like
    for (const part of text.split(APART).map((each) => each.trim()).filter(Boolean)) {
      const [, layer, head] = NAMED.exec(part.replace(LIKE, "").replace(PLACED, "$2.$1")) ?? [];
      if (layer !== undefined) {
        const name = headName({ layer: Number(layer), head: Number(head) });
        if (LIKE.test(part)) like = name;
        else named.push(name);
        continue;
      }
      const { words, percent, ...bounds } = bounded(part);
      const [, place, at] = PLACE.exec(words) ?? [];
      if (place && (at || "low" in bounds || "high" in bounds)) {
        const fits = within(at ? { low: Number(at), high: Number(at) } : bounds);
        const column = place.toLowerCase();
        wanted.push((row) => row[column] !== null && fits(row[column]));
        continue;
      }
      const { measure, error, near } = this.measure(words.replace(CONTROL, "").replace(SMALL, ""));
      if (error) return { error, near };
      const { name, title } = measure;
      if (percent && !measure.percent) return { error: `“${title}” is not in per cent.` };
      const small = SMALL.test(words) || (bounds.high !== undefined && bounds.low === undefined);
      measures.push({ measure, low: small });
      const column = CONTROL.test(words) ? `control_${name}` : name;
      const share = measure.percent && (percent || Math.max(bounds.low ?? 0, bounds.high ?? 0) > 1);
      const fits = within(bounds, share ? 100 : 1);
      wanted.push((row) => row[column] !== null && fits(row[column]));
    }
    if (named.length) wanted.push((row) => named.includes(headName(row)));
    return { wanted, measures, like };
  }

  // The question of heads whose numbers are within bounds, {column: {low, high}}.
  wordsFor(columns) {
    const parts = Object.entries(columns).map(([column, { low, high }]) => {
      const measure = this.measures.find(({ name }) => name === column.replace(/^control_/, ""));
      const { name, title, percent, number = 0 } = measure ?? { title: column };
      const words = [column === name || !measure ? "" : "control of ", APART.test(title) ? name : title];
      const written = (each) => (percent ? (100 * each).toFixed(1) : each.toFixed(number + (measure ? 1 : 0)));
      const sides = low === undefined ? `≤ ${written(high)}` : high === undefined ? `≥ ${written(low)}` : "";
      const range = low === high ? written(low) : `${written(low ?? 0)}–${written(high ?? 0)}`;
      return `${words.join("")} ${sides || range}${percent ? " %" : ""}`;
    });
    return parts.join(", ");
  }

  // The measure that some words mean; or a question, and the measures that they may mean.
  measure(text) {
    const words = wordsOf(text);
    const fits = (measure) => {
      const said = [...wordsOf(`${measure.title} ${measure.name.replaceAll("_", " ")} ${measure.also}`, false)];
      return words.filter((word) => said.some((each) => alike(each, word))).length;
    };
    const named = this.measures.find(({ name, title }) => [name, title.toLowerCase()].includes(text.toLowerCase()));
    if (named) return { measure: named };
    const scores = this.measures.map(fits);
    const best = Math.max(0, ...scores);
    if (words.length && best === words.length) return { measure: this.measures[scores.indexOf(best)] };
    const near = this.measures.filter((_, n) => best > 0 && scores[n] === best);
    return { error: `No measure is called “${text}”. Which do you mean?`, near: near.length ? near : this.measures };
  }

  // All that is known of a head, or of two beside each other.
  whole(rows, all) {
    const beside = (cells) => [0, 1, 2].flatMap((n) => rows.map((row) => cells(row)[n]));
    const of = (row) => (rows.length > 1 ? `, ${headName(row)}` : "");
    const titles = (row) => [headName(row), `Control${of(row)}`, `Rank of ${all.length}${of(row)}`];
    const lines = this.measures.map((each) => {
      const made = line([each.title, ...beside((row) => numbers(each, row, all))]);
      for (const cell of [...made.cells].slice(1 + rows.length, 1 + 2 * rows.length)) tellControl(cell, each);
      return made;
    });
    return [line(["Measure", ...beside(titles)], "th"), ...lines];
  }

  // Heads, with a few measures each, below each number its control and rank: a table beside a chart
  // is narrow.
  several(rows, measures, all, apart) {
    const titles = measures.map(({ title }) => title);
    const cells = (row) => measures.map((each) => numbers(each, row, all)[0]);
    const far = (row) => (apart ? [(apart.of.get(row) * all.length).toFixed(1)] : []);
    const listed = rows.slice(0, SHOWN).map((row) => line([headName(row), ...far(row), ...cells(row)]));
    const head = line(["Head", ...(apart ? ["Places apart"] : []), ...titles], "th");
    measures.forEach((each, n) => {
      const at = (apart ? 2 : 1) + n;
      tellControl(head.cells[at], { control: [`below: ${each.control[0]}, rank`, each.control[1]] });
      listed.forEach(({ cells }, row) => {
        const [, control, place] = numbers(each, rows[row], all);
        if (place) cells[at].append(" ", small(`${control}${control && ", "}rank ${place}`));
      });
    });
    return [head, ...listed];
  }

  // The ways to the pages of heads that are listed; of two whose numbers stand beside each other, to
  // the page of both.
  async leadOn(rows, model, few) {
    const known = await Promise.all(rows.map((row) => atlasOf({ ...row, model })));
    const names = [...this.table.querySelectorAll("th")];
    rows.forEach((row, n) => {
      const name = names.find(({ textContent }) => textContent === headName(row));
      if (!known[n] || !name || name.querySelector("a")) return;
      const way = Object.assign(document.createElement("a"), { href: known[n].address, className: "live-figure__way" });
      way.setAttribute("aria-label", `Page of ${headName(row)}`);
      way.title = "Its own page";
      name.append(way);
    });
    if (!few || rows.length !== 2 || !known[0] || this.says.querySelector("a")) return;
    const both = `${known[0].address}&beside=${headName(rows[1])}`;
    this.says.append(Object.assign(document.createElement("a"), { href: both, textContent: "Side by side" }));
  }

  askBack(error, near) {
    this.found([], []);
    this.says.textContent = `${error} `;
    for (const { title } of near) this.offer(title);
  }

  offer(textContent, found = textContent) {
    const made = Object.assign(document.createElement("button"), { type: "button", textContent });
    made.dataset.found = found;
    this.says.append(made, " ");
  }

  // Shows heads in the table, and marks them, unless all are there. all: the rows of all heads;
  // first: "most" or "least"; like: the head that they are to be like; apart: see `apart`
  found(rows, measures, all = [], { first = "most", like, apart } = {}) {
    const { model } = this.figure.charts[0];
    const { text, figure = this.figure, dragged } = question();
    const listed = figure === this.figure && !dragged ? rows : [];
    this.table.hidden = !listed.length;
    const whole = rows.length === all.length; // nothing is left out
    let many = measures.length && whole ? `All ${all.length} heads, ${first} first.` : `${rows.length || "None"} of ${all.length} heads.`;
    if (apart && rows.length) {
      many = `The ${rows.length} heads most like ${like}: their places among all ${all.length} heads are nearest to its own, mean of ${apart.number} measures.`;
    }
    const listing = listed.length > SHOWN ? ` The first ${SHOWN} are listed.` : "";
    const error = listed.length ? " ± is one standard error." : "";
    this.says.textContent = all.length ? `${many}${listing}${error} ` : "";
    if (rows.length && !listed.length) this.offer("List them", text);
    const lost = this.measures.find(({ name }) => name === "lost");
    const told = [...new Set([...measures, ...(lost ? [lost] : [])])];
    const few = !apart && listed.length <= (measures.length ? 1 : 2);
    const lines = few ? this.whole(listed, all) : this.several(listed, told, all, apart);
    this.table.replaceChildren(...(listed.length ? lines : []));
    if (few && listed.length === 1) this.tellOne({ ...listed[0], model });
    this.fit();
    nameHeads(this.table, model);
    this.leadOn(listed.slice(0, SHOWN), model, few).catch(console.warn);
    answer(model, whole ? [] : rows.map(headName));
  }

  // Sideways, the table stops where a column begins, also at its end: the names of heads, which stay,
  // cover no part of a number.
  fit() {
    const { table } = this;
    const sideways = table.closest(".md-typeset__scrollwrap") ?? table.parentElement; // or the theme's
    table.style.marginInlineEnd = "";
    const [name, ...columns] = table.rows[0]?.cells ?? [];
    const hidden = sideways.scrollWidth - sideways.clientWidth;
    if (!name || hidden <= 0) return;
    sideways.style.scrollPaddingInlineStart = `${name.offsetWidth}px`;
    const stops = columns.map((each) => each.offsetLeft - columns[0].offsetLeft);
    const last = stops.find((each) => each >= hidden) ?? hidden;
    table.style.marginInlineEnd = `${last - hidden}px`;
  }

  // What a head does, a sentence, and a way to those like it.
  tellOne({ layer, head, model }) {
    this.offer(`like ${headName({ layer, head })}`);
    const { last } = this;
    atlasOf({ layer, head, model }).then((known) => {
      if (!known || last !== this.last) return;
      const said = Object.assign(document.createElement("span"), { textContent: `${known.does} ` });
      this.says.prepend(said);
    });
  }
}

// A part of a question: the words, and the bounds that follow them.
function bounded(part) {
  const number = (text) => Number(text.replace("−", "-"));
  const [, words, low, high, percent] = RANGE.exec(part) ?? [];
  if (words !== undefined) return { words, low: number(low), high: number(high), percent };
  const [, before, sign, bound, unit] = COMPARED.exec(part) ?? [];
  if (before === undefined) return { words: part };
  const open = !/[=≥≤]/.test(sign);
  return { words: before, [/[>≥]/.test(sign) ? "low" : "high"]: number(bound), open, percent: unit };
}

// Whether a number is within bounds, which are of it times `scale`; open: and at none of them.
const within = ({ low = -Infinity, high = Infinity, open }, scale = 1) => (value) =>
  open ? low / scale < value && value < high / scale : low / scale <= value && value <= high / scale;

// A value with its standard error, its control, and its place among all heads.
export function numbers({ name, percent, number }, row, all) {
  const { [name]: value, [`error_${name}`]: error, [`control_${name}`]: control } = row;
  if (value === null) return ["does not apply", "", ""];
  const written = (each) =>
    each === null ? "" : (percent ? `${(100 * each).toFixed(1)} %` : each.toFixed(number))
      .replace(NO_LESS, "").replace("-", "−");
  const place = 1 + all.filter((each) => each[name] > value).length;
  return [`${written(value)}${error === null ? "" : ` ± ${written(error)}`}`, written(control), String(place)];
}

// The place of each value among all, 1 for the lowest; ties have their mean place.
function placesOf(values) {
  const sorted = [...values].sort((one, other) => one - other);
  const places = new Map(); // value -> its first place and its last
  sorted.forEach((value, n) => places.set(value, [places.get(value)?.[0] ?? n + 1, n + 1]));
  return values.map((value) => (places.get(value)[0] + places.get(value)[1]) / 2);
}

// Says in a cell what the control of a measure is, in few words, and in full to who points at it.
function tellControl(cell, { control: [short, whole] }) {
  if (!cell.textContent) return;
  cell.append(" ", small(short));
  cell.title = `Control: ${whole}`;
}

const small = (textContent) => Object.assign(document.createElement("small"), { textContent });

function line(texts, cell = "td") {
  const made = document.createElement("tr");
  texts.forEach((text, n) => {
    const each = document.createElement(n ? cell : "th");
    each.textContent = text;
    if (each.tagName === "TH") each.scope = n || cell === "th" ? "col" : "row";
    made.append(each);
  });
  return made;
}

const wordsOf = (text, only = true) =>
  text.toLowerCase().split(/[^\p{L}\d]+/u).filter((word) => word && !(only && IDLE.has(word)));

// Whether two words are one, but for their ends: "ends" and "end", "previous" and "previously".
function alike(one, other) {
  const short = Math.min(one.length, other.length);
  return one === other || (short > 2 && one.slice(0, short) === other.slice(0, short) && Math.abs(one.length - other.length) < 4);
}
