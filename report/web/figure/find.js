// A field that finds heads by what they do: "previous > 90 %, entropy < 1", a measure, or the name of
// a head. What is found stands in a table, each number beside its control, and stays in the figure.

import { nameHeads } from "../reader/names.js";
import { headName } from "../reader/words.js";

const SHOWN = 10; // rows of the table
const COMPARED = /^(.*?)\s*(>=|<=|[<>≥≤])\s*(-?\d*\.?\d+)\s*(%?)$/u;
const NAMED = /^L?(?:ayer)?\s*(\d+)\s*(?:[.H]|,?\s*head)\s*(\d+)$/i;
const PLACED = /^head\s*(\d+)\s*(?:of|in)\s*layer\s*(\d+)$/i; // as articles say it
const SMALL = /^(least|lowest|smallest|without)\s+/i;
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
    this.field.addEventListener("input", () => this.look(this.field.value));
    box.addEventListener("click", ({ target }) => {
      const { found } = target.closest("[data-found]")?.dataset ?? {};
      if (found !== undefined) this.look(found);
    });
  }

  look(text) {
    this.figure.pick({ found: text || undefined });
    this.figure.changed();
  }

  // Finds what a text asks for, once the figure has its numbers.
  show(text = "") {
    if (this.field.value !== text) this.field.value = text;
    const all = this.figure.charts[0].shown?.datasets.rows;
    if (!all) return;
    if (!text.trim()) return this.found([], []);
    const { error, near = [], wanted, measures } = this.understood(text);
    if (error) return this.ask(error, near);
    const rows = all.filter((row) => wanted.every((fits) => fits(row)));
    const [{ measure, low } = {}] = measures;
    if (measure) {
      rows.sort((one, other) => (low ? 1 : -1) * (one[measure.name] - other[measure.name]));
    }
    this.found(rows, measures.map((each) => each.measure), all);
  }

  // What a text asks for: conditions on a head, and the measures that they are about; or why not.
  understood(text) {
    const wanted = [];
    const measures = [];
    for (const part of text.split(/,|;|\band\b|&/i).map((each) => each.trim()).filter(Boolean)) {
      const [, layer, head] = NAMED.exec(part.replace(PLACED, "$2.$1")) ?? [];
      if (layer !== undefined) {
        wanted.push((row) => row.layer === Number(layer) && row.head === Number(head));
        continue;
      }
      const [, words = part, sign, number, percent] = COMPARED.exec(part) ?? [];
      const { measure, error, near } = this.measure(words.replace(SMALL, ""));
      if (error) return { error, near };
      const { name, title } = measure;
      if (percent && !measure.percent) return { error: `“${title}” is not in per cent.` };
      const low = SMALL.test(words) || /[<≤]/.test(sign ?? "");
      measures.push({ measure, low });
      wanted.push((row) => row[name] !== null);
      if (!sign) continue;
      const bound = measure.percent && (percent || Number(number) > 1) ? number / 100 : Number(number);
      const [one, equal] = [sign, /[=≥≤]/.test(sign)];
      wanted.push((row) => {
        const over = /[>≥]/.test(one) ? row[name] - bound : bound - row[name];
        return equal ? over >= 0 : over > 0;
      });
    }
    return { wanted, measures };
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

  // All that is known of a head.
  one(row, all) {
    const head = line(["Measure", headName(row), "Control", `Rank of ${all.length}`], "th");
    return [head, ...this.measures.map((each) => line([each.title, ...numbers(each, row, all)]))];
  }

  // Heads, with a few measures each.
  several(rows, measures, all) {
    const titles = measures.flatMap(({ title }) => [title, "Control", "Rank"]);
    const cells = (row) => measures.flatMap((each) => numbers(each, row, all));
    const listed = rows.slice(0, SHOWN).map((row) => line([headName(row), ...cells(row)]));
    return [line(["Head", ...titles], "th"), ...listed];
  }

  ask(error, near) {
    this.found([], []);
    this.says.textContent = `${error} `;
    for (const { title } of near) {
      const made = Object.assign(document.createElement("button"), { type: "button", textContent: title });
      made.dataset.found = title;
      this.says.append(made, " ");
    }
  }

  // Shows heads in the table, and marks them in the chart. all: the rows of all heads
  found(rows, measures, all = []) {
    const [chart] = this.figure.charts;
    this.table.hidden = !rows.length;
    this.says.textContent = all.length ? `${rows.length || "None"} of ${all.length} heads. ` : "";
    if (rows.length > SHOWN) this.says.textContent += `The first ${SHOWN} are listed.`;
    const lost = this.measures.find(({ name }) => name === "lost");
    const told = [...new Set([...measures, ...(lost ? [lost] : [])])];
    const lines = rows.length === 1 ? this.one(rows[0], all) : this.several(rows, told, all);
    this.table.replaceChildren(...(rows.length ? lines : []));
    nameHeads(this.table, chart.model);
    if (chart.view && chart.signals({ found: rows.map(headName) })) chart.view.runAsync();
  }
}

// A value with its standard error, its control, and its place among all heads.
function numbers({ name, percent, number }, row, all) {
  const { [name]: value, [`error_${name}`]: error, [`control_${name}`]: control } = row;
  if (value === null) return ["does not apply", "", ""];
  const written = (each) =>
    each === null ? "" : (percent ? `${(100 * each).toFixed(1)} %` : each.toFixed(number)).replace("-", "−");
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
