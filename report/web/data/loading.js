// Files that figures need: fetched once, kept as parsed JSON, and no more of them than can be
// shown.

const cache = new Map(); // url -> promise of parsed JSON, the one used last at the end
const KEPT = 64;

// Keeps a file that has come in another way, so that it need not be fetched.
export const hold = (url, file) => cache.set(url, withKeys(file, url));

export function loadJson(url) {
  let answer = cache.get(url);
  cache.delete(url);
  if (!answer) {
    answer = fetched(url);
    answer.catch(() => cache.delete(url)); // a failure may be tried again
  }
  cache.set(url, answer);
  if (cache.size > KEPT) cache.delete(cache.keys().next().value);
  return answer;
}

async function fetched(url) {
  const fail = (what) => () => {
    throw new Error(`${shortName(url)} ${what}`);
  };
  const response = await fetch(url).catch(fail("could not be fetched"));
  if (!response.ok) fail(`answered ${response.status}`)();
  return response
    .json()
    .catch(fail("is cut off, or is another file"))
    .then((file) => withKeys(file, url));
}

// An attention/4 file may name the file of its keys, which heads share: it stands in place of its name.
async function withKeys(file, url) {
  if (file.schema !== "attention/4" || !file.keys) return file;
  return { ...file, keys: await loadJson(new URL(`../../${file.keys}`, url).href) };
}

const sheets = new Map(); // url -> promise of a style sheet that the page has

// Gives the page a style sheet that it came without. A failure may be tried again.
export function loadStyles({ href }) {
  if (!sheets.has(href)) sheets.set(href, addStyles(href));
  sheets.get(href).catch(() => sheets.delete(href));
  return sheets.get(href);
}

async function addStyles(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${shortName(url)} answered ${response.status}`);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(await response.text());
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

// What a reader is told of an error. Those of ours say what it is; those of browsers all differ.
export function reason(error) {
  if (error.name === "Error") return error.message;
  const refused = error instanceof DOMException;
  return refused ? "the browser refused it" : "a file of this page is missing or damaged";
}

const shortName = (url) => new URL(url).pathname.split("/").slice(-4).join("/");

// What to show for each token of a file that has a text; any other file that says what tokens are
// read comes as it is.
export const loadTokens = (url) =>
  loadJson(url.href).then((file) =>
    TEXTS.includes(file.schema) ? file.tokens.map((token) => token.label ?? token.text) : file,
  );

const TEXTS = ["passage/1", "prediction/1"]; // schemas of such files

// One run at a time, at most one waiting: a drag over many values loads only what it can show.
export function latest(run) {
  let busy = false;
  let again = false;
  return async () => {
    again = true;
    if (busy) return;
    busy = true;
    await null; // several sliders that are set at once are one change
    while (again) {
      again = false;
      await run();
    }
    busy = false;
  };
}
