// Token text may be of any length. What is read at a glance is cut short; files have it whole.

const MOST = 120; // characters

export const shortened = (text) => cut(text, MOST);

export function cut(text, most) {
  if (typeof text !== "string" || text.length <= most) return text;
  return `${[...text.slice(0, 2 * most)].slice(0, most - 1).join("")}…`; // no half of a letter
}

// The usual short name of a head.
export const headName = ({ layer, head }) => `L${layer}H${head}`;

// Which text a list of labels is: of two texts, or of one that is cut otherwise, index 40 is another
// word. CRC-32 in hexadecimal, as `text_id` of report/text.py.
export function textId(labels) {
  let sum = -1;
  for (const byte of new TextEncoder().encode(labels.join("\0"))) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (0xedb88320 & -(sum & 1));
  }
  return (~sum >>> 0).toString(16).padStart(8, "0");
}

// A text as HTML, cut short.
export const escaped = (text) =>
  String(shortened(text)).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
