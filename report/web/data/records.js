// Tables of dataset files, columns of equal length, as lists of objects.

// What a whole number of steps stands for; null where nothing is known.
export const known = (steps, step) => (steps === null ? null : steps * step);

// Columns of equal length as a list of objects.
export function rows(columns) {
  const [one] = Object.values(columns);
  const names = Object.keys(columns);
  return one.map((_, n) => Object.fromEntries(names.map((name) => [name, columns[name][n]])));
}

// A table of a table/1 file as a list of objects; what is not known in it is null.
export function records({ rows, columns }) {
  const found = Array.from({ length: rows }, () => ({}));
  for (const [name, { step, values }] of Object.entries(columns)) {
    found.forEach((record, row) => {
      record[name] = step ? known(values[row], step) : values[row];
    });
  }
  return found;
}

const TOKENS = ["token", "largest_target"]; // columns of indices that get their text as a companion

// The same with the texts of the tokens that it names, where the figure has these.
export function labelled(table, tokens) {
  const found = records(table);
  const named = Array.isArray(tokens) ? TOKENS : [];
  for (const name of named.filter((each) => each in table.columns)) {
    for (const record of found) record[`${name}_text`] = tokens[record[name]];
  }
  return found;
}
