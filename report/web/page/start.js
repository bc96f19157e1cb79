// The first script of a page, and a small one. It brings the others when a reader needs them, so
// that opening an article costs its text and the pictures in the window, no more.
//
// A figure is needed once a good part of it is in the window; after the reader's first act, while
// it is still some way off; at once if the address names it. A passage is needed when somebody
// points at it. Events that came before the other scripts are sent again once these have loaded: a
// token that is pointed at, a button that was pressed.

// Fetched side by side; early.js or embed.js lists them.
const MODULES = window.scriptsOfFigures ?? [];
const USED = ".live-figure, .passage, .passage__bar, .passage__long, .figure-ref, .head-name";
const BUTTONS = "button, summary, .token";
// Of a figure, or of a window that it fills; below that, the still picture will do until an act.
const PART = 0.5;
const STEPS = Array.from({ length: 21 }, (_, step) => step / 20); // fine, for a figure higher than the window
const AHEAD = "400px";

const root = new URL("..", import.meta.url); // the folder that all assets are in
const waiting = new Map(); // element -> what to do when it is needed
const needed = new Set(); // figures that waited for the other scripts
const missed = new Map(); // type of event -> the last one before the other scripts
let others; // a promise of the other scripts

const observer = (isNeeded, options) =>
  new IntersectionObserver(
    (entries) => entries.filter(isNeeded).forEach(({ target }) => meet(target)),
    options,
  );
const isSeen = ({ intersectionRatio, intersectionRect }) =>
  intersectionRatio >= PART || intersectionRect.height >= PART * innerHeight;
const seen = observer(isSeen, { threshold: STEPS });
const near = observer((each) => each.isIntersecting, { rootMargin: AHEAD });
let observers = [seen];

// Runs `act` once when `element`, a figure, is needed.
function whenNear(element, act) {
  const before = waiting.get(element);
  waiting.set(element, () => [before?.(), act()]);
  observers.forEach((each) => each.observe(element));
}

function forget(element) {
  waiting.delete(element);
  [seen, near].forEach((each) => each.unobserve(element));
}

function meet(element) {
  const act = waiting.get(element);
  forget(element);
  act?.();
}

function preload(name) {
  if (window.bundled) return; // all scripts are in the page
  const { href } = new URL(name, root);
  if (document.head.querySelector(`link[href="${href}"]`)) return;
  document.head.append(Object.assign(document.createElement("link"), { rel: "modulepreload", href }));
}

function load() {
  if (others) return;
  MODULES.forEach(preload);
  others = import("../figure/figures.js").then((figures) => {
    figures.begin({ whenNear, forget, equip });
    repeat();
  }, fail);
}

// Without the scripts, still pictures stay. The scripts are fetched again with the next act of the
// reader, and once there is a network.
function fail(error) {
  console.warn(error);
  others = null;
  for (const figure of needed) {
    figure.classList.add("live-figure--failed");
    figure.querySelector(".live-figure__live").textContent =
      "This figure could not be loaded (its scripts could not be fetched). The still picture stays.";
  }
  addEventListener("online", begin, { once: true });
}

// Gives a figure that has been drawn its toolbar.
const equip = (figure) => import("../tools/toolbar.js").then((toolbar) => toolbar.equip(figure));

function loadWithCharts(figure) {
  needed.add(figure);
  preload("vega.js");
  load();
}

// Keeps an event for `repeat`, and loads the other scripts.
function miss(event) {
  if (!event.isTrusted || !event.target.closest?.(USED)) return;
  const pressed = ["click", "keydown"].includes(event.type);
  if (!pressed || event.target.closest(BUTTONS)) missed.set(event.type, event);
  lookAhead();
  load();
}

// Called at the first act of the reader: figures are needed before they are in the window.
function lookAhead() {
  observers = [seen, near];
  for (const element of waiting.keys()) near.observe(element);
}

const MISSED = ["pointerover", "focusin", "click", "keydown"];

function repeat() {
  MISSED.forEach((type) => removeEventListener(type, miss, true));
  for (const event of missed.values()) {
    if (event.target.isConnected) event.target.dispatchEvent(new event.constructor(event.type, event));
  }
}

// Runs on every page that comes into the window.
function begin() {
  window.watchPictures?.();
  nameButtons();
  for (const element of waiting.keys()) if (!element.isConnected) forget(element);
  // its addresses lead from here; instant navigation changes the location before the page
  const all = document.querySelectorAll(".live-figure[data-datasets]");
  for (const element of all) element.dataset.page ??= location.href;
  if (others) return; // figures.js looks for itself
  const figures = [...all];
  const [, named] = /^#(fig-\d+)/.exec(location.hash) ?? [];
  const first = figures.find(({ id }) => id === named);
  if (first) loadWithCharts(first);
  else if (location.hash.includes("=") && figures.length) load();
  for (const figure of figures) whenNear(figure, () => loadWithCharts(figure));
  if (scrollY > 0) lookAhead(); // the reader scrolled before this script came
  if (!figures.length) loadWide();
}

// Names of heads in the prose are buttons where a figure shows one head; else, and without scripts,
// they are text.
function nameButtons() {
  if (!document.querySelector(".live-figure input[name=head]")) return;
  for (const name of document.querySelectorAll("span.head-name")) {
    const button = Object.assign(document.createElement("button"), { className: "head-name", type: "button" });
    button.textContent = name.textContent;
    button.dataset.model = name.dataset.model;
    button.setAttribute("aria-pressed", "false");
    name.replaceWith(button);
  }
}

// Tables, which in an article are further down than its beginning.
const loadWide = () => import("./wide_tables.js").catch(console.warn);

addEventListener("keydown", loadWide, { once: true, capture: true });
addEventListener(
  "scroll",
  () => {
    loadWide();
    lookAhead();
  },
  { once: true, capture: true, passive: true },
);
MISSED.forEach((type) => addEventListener(type, miss, true));

// Material for MkDocs announces every page, the first one included; elsewhere there is only one.
if (window.document$) window.document$.subscribe(begin);
else begin();
