// The class of a target token in a table, seen from the current token. The twin of
// report/datasets/formats/token_classes.py.

const [FIRST, HEADER, DELIMITER, OWN_CELL, SAME_COLUMN, OTHER_CELLS, OTHER] = [0, 1, 2, 3, 4, 5, 6];

// Returns a place in the list of classes. places: [role, row, column] of each token.
export function targetClass(places, current, target) {
  if (target === 0) return FIRST;
  const [role, row, column] = places[target];
  if (role === "header") return HEADER;
  if (role === "delimiter") return DELIMITER;
  if (role !== "value") return OTHER;
  const [, here, same] = places[current];
  if (column === same && row === here) return OWN_CELL;
  return column === same && row < here ? SAME_COLUMN : OTHER_CELLS;
}
