// Shares in words, rounded neither to nothing nor to all: 0.9998 is no "1.000". In prose
// report/text.py sees to it, in charts report/figures/build/defaults.py.

const LONGEST = 24; // characters of a token in a sentence
const ROUNDING = 5e-7; // float32 may fall short of a sum that is 1 by so much

export const share = (value) => between(value, 3, 1, "");

export const percent = (value, digits = 0) => between(value, digits, 100, "\u202f%");

// What a cell of an attention map tells, as a sentence.
export const gives = (cell) => `${word(cell.current_text)} gives ${part(cell)}`;

// unit: what the cell is of, where not of tokens: "word"
export function part({ target_text, distance, probability, unit = "token" }) {
  const away = Math.abs(distance);
  const tokens = `${away} ${unit}${away === 1 ? "" : "s"} ${distance > 0 ? "back" : "ahead"}`;
  return `${percent(probability, 1)} to ${away ? `${word(target_text)}, ${tokens}` : "itself"}`;
}

// What the cells of a row with the largest targets tell.
export function givesMost(cells) {
  const to = ({ distance, target_text }) => (distance ? word(target_text) : "itself");
  const parts = cells.map((cell) => `${percent(cell.probability, 1)} to ${to(cell)}`);
  return `${word(cells[0].current_text)} gives ${parts.join(", ")}`;
}

const BACKWARD = /[\u0590-\u08ff\ufb1d-\ufefc]|[\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

// A token in a sentence. What runs from right to left is isolated: else it would take a number that
// follows for a part of it.
function word(text) {
  const letters = [...(text.trim() || text)];
  const shown = letters.length > LONGEST ? `${letters.slice(0, LONGEST - 1).join("")}…` : letters.join("");
  return BACKWARD.test(shown) ? `“\u2068${shown}\u2069”` : `“${shown}”`;
}

function between(value, digits, whole, unit) {
  const least = 10 ** -digits;
  const shown = whole * value;
  if (value > 0 && shown < least / 2) return `less than ${least.toFixed(digits)}${unit}`;
  if (value < 1 - ROUNDING && shown >= whole - least / 2) {
    return `more than ${(whole - least).toFixed(digits)}${unit}`;
  }
  return `${shown.toFixed(digits)}${unit}`;
}
