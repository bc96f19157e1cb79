// The address of what a reader sees: #fig-1:layer=2,head=5. Every settled change is an entry of the
// browser's history. What lies between, as in a drag, replaces the entry that the change began
// with.

const PAUSE = 150; // ms without a change, after which the address follows
const SETTLED = 1000; // ms after which the next change is another step back

let pending = null; // what will give the next fragment
let waiting; // timer until it is written
let settling; // timer until the newest entry is settled
let open = false; // whether the newest entry may still be replaced
let written = () => {};
let own = false; // whether the page has an address of its own, in which figures have no part

// `listener` is called when the address has been written.
export function onWritten(listener) {
  written = listener;
}

export function fragment(id, values) {
  const pairs = Object.entries(values).map((pair) => pair.map(encoded).join("="));
  return pairs.length ? `#${id}:${pairs.join(",")}` : `#${id}`;
}

// {id, values} of a fragment, null if it is none of ours. Whatever has no such form is dropped;
// values are texts, and nothing is known yet about whether they make sense.
export function parsed(hash) {
  const [, id, rest] = /^#([\w-]+)(?::|%3A)(.*)$/is.exec(hash) ?? [];
  if (!id) return null;
  const plain = rest.includes("=") ? rest : decoded(rest); // some programs encode whole links
  const apart = plain.includes(",") ? "," : /%2C(?=\w+=)/i; // any other is a part of a value
  const pairs = plain.split(apart).map((pair) => pair.split("=").map(decoded));
  const known = pairs.filter(([name, value, more]) => name && value && more === undefined);
  return known.length ? { id, values: new Map(known) } : null;
}

// What will be in the address once the reader pauses; `give` returns the fragment then.
export function write(give) {
  if (own) return;
  pending = give;
  clearTimeout(waiting);
  waiting = setTimeout(flush, PAUSE);
}

// From now on the address is the page's.
export const keepAddress = () => (own = true);

// The change is done: the next one is a step of its own.
export function settle() {
  flush();
  open = false;
}

// Nothing is written any more of what has been left.
export function forget() {
  clearTimeout(waiting);
  pending = null;
  open = false;
}

function flush() {
  clearTimeout(waiting);
  const hash = pending?.();
  pending = null;
  if (!hash) return;
  if (hash !== location.hash) {
    // the page's own state (Material keeps scroll offsets there) stays as it is
    if (open) history.replaceState(history.state, "", hash);
    else history.pushState(history.state, "", hash);
    open = true;
  }
  clearTimeout(settling);
  settling = setTimeout(() => (open = false), SETTLED);
  written();
}

// The address that others can open: of a page in one file, that of the published page, if it has
// one. window.bundled: see report/site/bundled/page.py.
export const shared = (hash) =>
  own ? location.href : new URL(hash, window.bundled?.published || location.href).href;

// What a downloaded file says it is from. Of a page in one file that is published nowhere, the name
// alone: nobody else is to know the folders of its reader.
export function source(hash = location.hash) {
  const { name, published } = window.bundled ?? {};
  return name && !published ? `${name}${hash}` : shared(hash);
}

// Which entry of the history is shown; browsers that cannot tell entries apart tell addresses.
export const entry = () => window.navigation?.currentEntry?.key ?? location.href;

const encoded = (text) => encodeURIComponent(text).replaceAll("%2B", "+");

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
