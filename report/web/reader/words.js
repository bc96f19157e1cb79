// Token text may be of any length. What is read at a glance is cut short; files have it whole.

const MOST = 120; // characters

export function shortened(text) {
  if (typeof text !== "string" || text.length <= MOST) return text;
  return `${[...text.slice(0, 2 * MOST)].slice(0, MOST - 1).join("")}…`; // no half of a letter
}

// The same as HTML.
export const escaped = (text) =>
  String(shortened(text)).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
