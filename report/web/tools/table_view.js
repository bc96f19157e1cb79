// The numbers that a figure draws now as tables to read, in the place of its charts: for those who
// do not see them, and for those who want to know exactly.

import { columnTitle, tablesOf } from "./numbers.js";
import { shortened } from "../reader/words.js";

const PAGE = 200; // rows shown at once
const DIGITS = 5; // significant ones of a number; files have all of them

// Shows or hides the tables of a figure. Returns whether they show now.
export function toggleTables(figure) {
  const { element } = figure;
  const room = roomOf(element);
  let view = room.querySelector(":scope > .live-figure__tables");
  if (view) {
    view.remove();
    element.classList.remove("live-figure--tables");
    return false;
  }
  view = make("div", { className: "live-figure__tables", tabIndex: 0 });
  view.setAttribute("role", "region");
  view.setAttribute("aria-label", `${element.querySelector(".live-figure__number").textContent} Numbers`);
  room.append(view);
  element.classList.add("live-figure--tables");
  fill(view, figure);
  return true;
}

// Follows the figure's controls, where its tables show.
export function refreshTables(figure) {
  const view = roomOf(figure.element).querySelector(":scope > .live-figure__tables");
  if (view) fill(view, figure);
}

const roomOf = (element) =>
  element.querySelector(".live-figure__panels") ?? element.querySelector(".live-figure__panel");

function fill(view, figure) {
  const tables = tablesOf(figure);
  const several = tables.length > 1;
  const names = Object.assign({}, ...figure.charts.map(({ report }) => report.terms));
  const { scrollTop } = view;
  view.orders ??= tables.map(() => ({})); // a table that is drawn anew stays sorted
  view.replaceChildren(
    ...tables.map((table, n) => {
      const caption = [table.panel, tables.filter((t) => t.panel === table.panel).length > 1 && table.name];
      const named = several ? caption.filter(Boolean).join(", ") : "";
      return tableOf(table, named, names, (view.orders[n] ??= {}));
    }),
  );
  view.scrollTop = scrollTop;
}

// order: {column, sign} by which the rows are sorted; empty: as they come
function tableOf({ columns, rows: all }, named, names, order) {
  let rows = sorted(all, order);
  const part = make("div", { className: "live-figure__numbers" });
  const table = make("table");
  const caption = make("caption");
  const body = make("tbody");
  const head = make("tr");
  const numeric = new Set(columns.filter((name) => all.some((row) => typeof row[name] === "number")));
  for (const name of columns) {
    const cell = make("th", { scope: "col" });
    const button = make("button", { type: "button", textContent: columnTitle(name, names) });
    button.title = "Sort by this column";
    button.addEventListener("click", () => {
      turnOrder(order, name, numeric.has(name));
      rows = sorted(all, order);
      turn(0);
    });
    cell.append(button);
    if (numeric.has(name)) cell.className = "number";
    head.append(cell);
  }
  table.append(caption, make("thead"), body);
  table.tHead.append(head);

  const turn = (first) => {
    const last = Math.min(first + PAGE, rows.length);
    const line = make("div");
    line.append(make("span", { textContent: said(named, first, last, rows.length) }));
    caption.replaceChildren(line);
    if (rows.length > PAGE) {
      line.append(
        turner("Previous rows", first > 0 && (() => turn(first - PAGE)), caption),
        turner("Next rows", last < rows.length && (() => turn(first + PAGE)), caption),
      );
    }
    body.replaceChildren(...rows.slice(first, last).map((row) => rowOf(row, columns, numeric)));
    [...head.cells].forEach((cell, n) => {
      const is = columns[n] === order.column;
      if (is) cell.setAttribute("aria-sort", order.sign < 0 ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
  };
  turn(0);
  part.append(table);
  return part;
}

// Numbers the highest first, texts from A on; then the other way round; then as they came.
function turnOrder(order, column, isNumber) {
  const first = isNumber ? -1 : 1;
  if (order.column !== column) Object.assign(order, { column, sign: first });
  else if (order.sign === first) order.sign = -first;
  else delete order.column;
}

function sorted(rows, { column, sign }) {
  if (column === undefined) return rows;
  const isKnown = (row) => row[column] !== null && row[column] !== undefined;
  const compare = ({ [column]: one }, { [column]: other }) => (one > other) - (one < other);
  const known = rows.filter(isKnown).sort((a, b) => sign * compare(a, b));
  return [...known, ...rows.filter((row) => !isKnown(row))];
}

function said(named, first, last, all) {
  const count = (number) => number.toLocaleString("en");
  const what = named ? `${named}. ` : "";
  if (!all) return `${what}Nothing is drawn at this setting.`;
  if (all <= PAGE) return `${what}${count(all)} ${all === 1 ? "row" : "rows"}; numbers are rounded.`;
  const which = `Rows ${count(first + 1)} to ${count(last)} of ${count(all)}; numbers are rounded.`;
  return `${what}${which} The CSV file has all of them, in full.`;
}

// A button that shows other rows; act: how, or false where there are none.
function turner(label, act, caption) {
  const button = make("button", { type: "button", textContent: label, disabled: !act });
  button.addEventListener("click", () => {
    act();
    const again = [...caption.querySelectorAll("button")]; // the caption has been written anew
    const same = again.find((each) => each.textContent === label);
    (same.disabled ? again.find((each) => !each.disabled) : same).focus();
  });
  return button;
}

function rowOf(row, columns, numeric) {
  const line = make("tr");
  columns.forEach((name, n) => {
    const cell = make(n ? "td" : "th", { textContent: shown(row[name]) });
    if (!n) cell.scope = "row";
    if (numeric.has(name)) cell.className = "number";
    line.append(cell);
  });
  return line;
}

function shown(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return shortened(String(value));
  const rounded = Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS));
  return String(rounded).replaceAll("-", "−");
}

const make = (name, properties = {}) => Object.assign(document.createElement(name), properties);
