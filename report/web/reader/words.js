// Token text may be of any length. What is read at a glance is cut short; files have it whole.

const MOST = 120; // characters

export const shortened = (text) => cut(text, MOST);

export function cut(text, most) {
  if (typeof text !== "string" || text.length <= most) return text;
  return `${[...text.slice(0, 2 * most)].slice(0, most - 1).join("")}…`; // no half of a letter
}

// The usual short name of a head.
export const headName = ({ layer, head }) => `L${layer}H${head}`;

// The same as HTML.
export const escaped = (text) =>
  String(shortened(text)).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
