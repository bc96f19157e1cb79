// A figure's toolbar: a row of buttons below its charts. The Tab key stops at it once, and arrow
// keys lead from button to button. What a button needs is loaded when it is first pressed.

import { loadStyles, reason } from "../data/loading.js";

// Strokes of icons in a box of 24 by 24.
const ICONS = {
  table: "M4 5h16v14H4z M4 10h16 M10 10v9",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.7-5.7l-1.2 1.2 M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.7 5.7l1.2-1.2",
  full: "M4 9V4h5 M20 9V4h-5 M4 15v5h5 M20 15v5h-5",
  leave: "M9 4v5H4 M15 4v5h5 M9 20v-5H4 M15 20v-5h5",
  in: "M10.5 4a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13z M15.2 15.2 20 20 M10.5 7.5v6 M7.5 10.5h6",
  out: "M10.5 4a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13z M15.2 15.2 20 20 M7.5 10.5h6",
  all: "M4 4h16v16H4z M9 13v2h2 M15 11V9h-2 M9 15l2-2 M15 9l-2 2",
  more: "M12 4v11 M7.5 10.5 12 15l4.5-4.5 M5 20h14",
};

// Its styles come with it and not with the page, so that no reader waits for them.
const STYLES = new URL("toolbar.css", import.meta.url);

// Puts the toolbar into a figure, unless it has one.
export async function equip(figure) {
  await loadStyles(STYLES);
  const place = figure.element.querySelector(".live-figure__tools");
  if (!place || place.firstChild) return;
  const number = figure.element.querySelector(".live-figure__number").textContent.trim();
  const status = make("span", { className: "live-figure__said" });
  status.setAttribute("role", "status");
  const say = (text) => {
    status.textContent = text;
    clearTimeout(say.later);
    say.later = setTimeout(() => (status.textContent = ""), 6000);
  };
  // makes a listener of an act, which tells the reader if the act fails
  const trying = (act) => () => act().catch((error) => {
    console.warn(error);
    say(`That did not work (${reason(error)}).`);
  });

  const sharing = { number, say, copy: (text, done) => copy(text, done, place, say) };
  const link = iconButton("link", "Copy a link to this state");
  link.addEventListener("click", trying(() => sharing.copy(figure.address(), "Link copied")));

  const bar = make("div", { className: "live-figure__toolbar" });
  bar.setAttribute("role", "toolbar");
  bar.setAttribute("aria-label", `${number} Tools`.replace(".", ":"));
  const [table, full] = [tableButton(figure, trying), fullButton(figure, trying)];
  bar.append(...zoomButtons(figure, trying), table, link, full, menuButton(figure, trying, sharing));
  walk(bar);
  place.append(status, bar);
}

// Buttons of a figure that is a map; of others, none.
function zoomButtons({ charts: [chart] }, trying) {
  if (!chart.map?.parts) return [];
  const labels = { in: "Zoom in", out: "Zoom out", all: "Show the whole map" };
  const acts = { in: "zoomIn", out: "zoomOut", all: "all" };
  return Object.entries(labels).map(([name, label]) => {
    const button = iconButton(name, label);
    const act = async () => (await chart.map.zooming())?.[acts[name]]();
    button.addEventListener("click", trying(act));
    return button;
  });
}

function tableButton(figure, trying) {
  let follow;
  const table = iconButton("table", "Show the numbers as a table");
  table.setAttribute("aria-pressed", "false");
  table.addEventListener("click", trying(async () => {
    const { toggleTables, refreshTables } = await import("./table_view.js");
    const before = table.getBoundingClientRect().top;
    const shows = toggleTables(figure);
    // a table may be lower than the charts: the button stays where it was pressed
    scrollBy({ top: table.getBoundingClientRect().top - before, behavior: "instant" });
    table.setAttribute("aria-pressed", String(shows));
    rename(table, shows ? "Show the chart" : "Show the numbers as a table");
    follow ??= () => refreshTables(figure);
    figure.element.addEventListener("figureshown", follow); // once: it is the same listener
  }));
  return table;
}

function fullButton(figure, trying) {
  const full = iconButton("full", "Full screen");
  full.addEventListener("click", trying(() => toggleFull(figure.element)));
  watchFull(figure.element, (on) => {
    full.replaceChildren(icon(on ? "leave" : "full"));
    rename(full, on ? "Leave full screen" : "Full screen");
  });
  return full;
}

function menuButton(figure, trying, sharing) {
  const more = iconButton("more", "Download and embed");
  more.setAttribute("aria-expanded", "false");
  more.addEventListener("click", trying(async () => {
    const { toggleMenu } = await import("./menu.js");
    toggleMenu(figure, more, sharing);
  }));
  return more;
}

// Copies text; where no page may write to the clipboard, shows it to be copied by hand.
async function copy(text, done, place, say) {
  const { copied } = await import("./sharing.js");
  place.querySelector(".live-figure__byhand")?.remove();
  if (await copied(text)) return say(done);
  const field = make("input", { className: "live-figure__byhand", readOnly: true, value: text });
  field.setAttribute("aria-label", "To be copied by hand");
  place.prepend(field);
  field.focus();
  field.select();
  field.addEventListener("blur", () => field.remove());
  say("Press Ctrl+C to copy");
}

// One button can be reached by Tab; arrow keys, Home and End lead to the others.
function walk(bar) {
  const buttons = [...bar.children];
  const choose = (button) => buttons.forEach((each) => (each.tabIndex = each === button ? 0 : -1));
  choose(buttons[0]);
  bar.addEventListener("focusin", ({ target }) => buttons.includes(target) && choose(target));
  bar.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(event.target);
    if (at < 0) return;
    const last = buttons.length - 1;
    const next = {
      ArrowRight: at === last ? 0 : at + 1,
      ArrowLeft: at === 0 ? last : at - 1,
      Home: 0,
      End: last,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    buttons[next].focus();
  });
}

function iconButton(name, label) {
  const button = make("button", { type: "button", className: "live-figure__tool" });
  button.append(icon(name));
  rename(button, label);
  return button;
}

function rename(button, label) {
  button.setAttribute("aria-label", label);
  button.dataset.tip = label;
}

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

const make = (name, properties) => Object.assign(document.createElement(name), properties);

// --- A figure over the whole screen --------------------------------------------------------------

// By the browser's full screen where it has one and allows it, elsewhere (an iPhone, a frame that
// may not) over the whole window.

const OVER = "live-figure--over";

const isFull = (element) =>
  document.fullscreenElement === element || element.classList.contains(OVER);

async function toggleFull(element) {
  if (document.fullscreenElement === element) return document.exitFullscreen();
  if (element.classList.contains(OVER)) return cover(element, false);
  try {
    await element.requestFullscreen();
  } catch {
    cover(element, true);
  }
}

function cover(element, on) {
  element.classList.toggle(OVER, on);
  document.documentElement.classList.toggle("live-figure-over", on);
  changed(element);
}

function changed(element) {
  // the chart's tooltip is drawn over a full screen only from within it
  const tip = document.getElementById("vg-tooltip-element");
  if (tip) (document.fullscreenElement ?? document.body).append(tip);
  dispatchEvent(new Event("resize")); // charts measure their boxes anew
  element.dispatchEvent(new Event("fullchange"));
}

// Calls `listener` with whether the figure covers the screen, whenever that changes.
function watchFull(element, listener) {
  element.addEventListener("fullscreenchange", () => changed(element));
  element.addEventListener("fullchange", () => listener(isFull(element)));
}

// Esc ends both ways; a browser's own full screen mostly ends before the page hears of the key.
document.addEventListener("keydown", (event) => {
  const element = document.fullscreenElement ?? document.querySelector(`.${OVER}`);
  if (event.key === "Escape" && element?.matches(".live-figure")) toggleFull(element);
});
