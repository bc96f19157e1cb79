// What an atlas of the site says of a head, wherever that head is met: fetched once it is needed.

import { loadJson } from "../data/loading.js";

const ROOT = new URL("../../", import.meta.url); // of the site
let known;

// head: {layer, head, model}; returns {does, matters, address} of the atlas of its model, null if there
// is none: what it does most, whether it matters ("" if that is not known), and the address of its page
export async function atlasOf({ layer, head, model }) {
  const [, article] = /(?:articles|embed)\/([^/]+)\//.exec(location.pathname) ?? [];
  if (!article || head < 0) return null;
  known ??= loadJson(new URL("models/heads.json", ROOT).href).catch(() => ({ articles: {} }));
  const { articles, atlases } = await known;
  const atlas = atlases?.[articles?.[article]?.[model]];
  const line = atlas?.lines[layer]?.[head];
  if (!line) return null;
  const [does, matters = ""] = line.split("\n");
  const address = new URL(atlas.at.replaceAll("{layer}", layer).replaceAll("{head}", head), ROOT).href;
  return { does, matters, address };
}
