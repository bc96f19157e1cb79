// A field that finds heads by what they do: "previous > 90 %, entropy < 1", a measure, or the name of
// a head. What is found stands in a table, each number beside its control, and stays in the figure.

import { answer, ask, question } from "../reader/marks.js";
import { nameHeads } from "../reader/names.js";
import { headName } from "../reader/words.js";

const SHOWN = 10; // rows of the table
const NUMBER = String.raw`([-−]?\d*\.?\d+)\s*`;
const RANGE = new RegExp(`^(.*?)\\s*${NUMBER}(?:–|\\.{2,3}|\\bto\\b)\\s*${NUMBER}(%?)$`, "u");
const COMPARED = new RegExp(`^(.*?)\\s*(>=|<=|[<>≥≤])\\s*${NUMBER}(%?)$`, "u");
const NAMED = /^L?(?:ayer)?\s*(\d+)\s*(?:[.H]|,?\s*head)\s*(\d+)$/i;
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
  // box: its field and its table; data-measures: {name, title, also, percent, number} of each measure
  constructor(figure, box) {
    Object.assign(this, { figure, box });
    this.measures = JSON.parse(box.dataset.measures);
    [this.field, this.says, this.table] = ["input", "output", "table"].map((each) => box.querySelector(each));
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
    const { error, near = [], wanted, measures } = this.understood(text);
    if (error) return this.askBack(error, near);
    const rows = all.filter((row) => wanted.every((fits) => fits(row)));
    const [{ measure, low } = {}] = measures;
    if (measure) {
      rows.sort((one, other) => (low ? 1 : -1) * (one[measure.name] - other[measure.name]));
    }
    this.found(rows, measures.map((each) => each.measure), all, low ? "least" : "most");
  }

  // What a text asks for: conditions on a head, and the measures that they are about; or why not.
  understood(text) {
    const wanted = [];
    const measures = [];
    const named = []; // one of these
    for (const part of text.split(APART).map((each) => each.trim()).filter(Boolean)) {
      const [, layer, head] = NAMED.exec(part.replace(PLACED, "$2.$1")) ?? [];
      if (layer !== undefined) {
        named.push(headName({ layer: Number(layer), head: Number(head) }));
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
    return { wanted, measures };
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
    const lines = this.measures.map((each) => line([each.title, ...beside((row) => numbers(each, row, all))]));
    return [line(["Measure", ...beside(titles)], "th"), ...lines];
  }

  // Heads, with a few measures each.
  several(rows, measures, all) {
    const titles = measures.flatMap(({ title }) => [title, "Control", "Rank"]);
    const cells = (row) => measures.flatMap((each) => numbers(each, row, all));
    const listed = rows.slice(0, SHOWN).map((row) => line([headName(row), ...cells(row)]));
    return [line(["Head", ...titles], "th"), ...listed];
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

  // Shows heads in the table, and marks them. all: the rows of all heads; first: "most" or "least"
  found(rows, measures, all = [], first = "most") {
    const { model } = this.figure.charts[0];
    const { text, figure = this.figure, dragged } = question();
    const listed = figure === this.figure && !dragged ? rows : [];
    this.table.hidden = !listed.length;
    const sorted = measures.length && rows.length === all.length; // by one; nothing is left out
    const many = sorted ? `All ${all.length} heads, ${first} first.` : `${rows.length || "None"} of ${all.length} heads.`;
    const listing = listed.length > SHOWN ? ` The first ${SHOWN} are listed.` : "";
    const error = listed.length ? " ± is one standard error." : "";
    this.says.textContent = all.length ? `${many}${listing}${error} ` : "";
    if (rows.length && !listed.length) this.offer("List them", text);
    const lost = this.measures.find(({ name }) => name === "lost");
    const told = [...new Set([...measures, ...(lost ? [lost] : [])])];
    const few = listed.length <= (measures.length ? 1 : 2);
    const lines = few ? this.whole(listed, all) : this.several(listed, told, all);
    this.table.replaceChildren(...(listed.length ? lines : []));
    nameHeads(this.table, model);
    answer(model, rows.map(headName));
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
function numbers({ name, percent, number }, row, all) {
  const { [name]: value, [`error_${name}`]: error, [`control_${name}`]: control } = row;
  if (value === null) return ["does not apply", "", ""];
  const written = (each) =>
    each === null ? "" : (percent ? `${(100 * each).toFixed(1)} %` : each.toFixed(number))
      .replace(NO_LESS, "").replace("-", "−");
  const place = 1 + all.filter((each) => each[name] > value).length;
  return [`${written(value)}${error === null ? "" : ` ± ${written(error)}`}`, written(control), String(place)];
}

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
