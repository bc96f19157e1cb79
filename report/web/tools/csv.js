// Tables as CSV (RFC 4180: CRLF, a header, quotes doubled), UTF-8 without a byte order mark.
//
// Numbers are written in full, so that they read back as the same numbers. Spreadsheets run a cell
// that begins with =, +, -, @ and the like as a formula, quoted or not, and token text may be
// anything: such text, and text that begins with an apostrophe, gets an apostrophe in front. Take
// that one away to have the text again, or read the JSON, which has all text as it is.

const FORMULA = /^['=+\-@\t\r\n＇＝＋－＠]/;

// CSV of all tables (see numbers.js) as one: columns "panel" and "table" say which a row is of, if
// these differ; a field is empty where its table lacks the column.
export function csv(tables) {
  const keys = ["panel", "name"].filter((key) => new Set(tables.map((t) => t[key])).size > 1);
  const titles = keys.map((key) => (key === "name" ? "table" : key));
  const columns = [...new Set(tables.flatMap((table) => table.columns))];
  const lines = [[...titles, ...columns].map(text)];
  for (const table of tables) {
    const before = keys.map((key) => text(table[key]));
    for (const row of table.rows) lines.push([...before, ...columns.map((name) => field(row[name]))]);
  }
  return lines.map((fields) => `${fields.join(",")}\r\n`).join("");
}

function field(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? text(value) : String(value);
}

function text(value) {
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /^\w[\w .]*$/.test(safe) ? safe : `"${safe.replaceAll('"', '""')}"`;
}
