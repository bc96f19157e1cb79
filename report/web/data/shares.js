// Shares in words, rounded neither to nothing nor to all: 0.9998 is no "1.000". In prose
// report/text.py sees to it, in charts report/figures/build/defaults.py.

const ROUNDING = 5e-7; // float32 may fall short of a sum that is 1 by so much

export const share = (value) => between(value, 3, 1, "");

export const percent = (value) => between(value, 0, 100, "\u202f%");

function between(value, digits, whole, unit) {
  const least = 10 ** -digits;
  const shown = whole * value;
  if (value > 0 && shown < least / 2) return `less than ${least.toFixed(digits)}${unit}`;
  if (value < 1 - ROUNDING && shown >= whole - least / 2) {
    return `more than ${(whole - least).toFixed(digits)}${unit}`;
  }
  return `${shown.toFixed(digits)}${unit}`;
}
