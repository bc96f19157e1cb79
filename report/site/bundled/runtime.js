// What the modules of a page in one file ask instead of a server. PARTS are the modules as
// functions, BESIDE the names of the files that lie beside the page; other files are in it.

const root = new URL(".", location.href).href; // names of files lead from here
const made = new Map(); // name of a module -> what it exports

function use(name) {
  if (!made.has(name)) made.set(name, PARTS[name](use, later, root + name, fetchHere));
  return made.get(name);
}

const later = async (name) => use(name);

const blocks = new Map();
for (const block of document.querySelectorAll("script[data-file]")) blocks.set(block.dataset.file, block);
const beside = new Set(BESIDE);
const has = (name) => blocks.has(name) || beside.has(name);

// The name of a file by its address, null if it does not lie below the page.
function nameOf(address) {
  const href = new URL(address, location.href).href.replace(/[?#].*/, "");
  if (!href.startsWith(root)) return null;
  try {
    return decodeURIComponent(href.slice(root.length));
  } catch {
    return null;
  }
}

async function fetchHere(address) {
  const name = nameOf(address);
  if (!has(name)) return new Response(null, { status: 404 });
  const packed = blocks.get(name)?.textContent ?? (await handed(name));
  if (packed === null) return { ok: false, status: "nothing; unpack the whole .zip first" };
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream);
}

// A file beside the page is a script that hands it over; null if it is not there.
const waiting = new Map(); // name of a file -> what takes its text
window.carried = (name, packed) => waiting.get(name)?.(packed);

function handed(name) {
  return new Promise((done) => {
    const script = document.createElement("script");
    const end = (packed) => {
      waiting.delete(name);
      script.remove();
      done(packed);
    };
    waiting.set(name, end);
    script.onerror = () => end(null);
    script.src = `${root}data/${name.split("/").map(encodeURIComponent).join("/")}.js`;
    document.head.append(script);
  });
}

// A link to a file that is here saves it.
addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[href]");
  const name = link && nameOf(link.href);
  if (!name || !has(name)) return;
  event.preventDefault();
  const answer = await fetchHere(link.href);
  if (!answer.ok) return;
  const blob = new Blob([await answer.arrayBuffer()], { type: "application/json" });
  const saved = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob) });
  saved.download = name.split("/").at(-1);
  saved.click();
  setTimeout(() => URL.revokeObjectURL(saved.href), 60_000);
});
