// What others need to see a figure as it is now, and the way to the clipboard.

// HTML that shows the figure on any page, at its present state. The figure fills whatever room the
// frame has; its size here is about that on this page.
export function snippet(figure, title) {
  const { element } = figure;
  const width = element.classList.contains("live-figure--grid") ? 960 : 720;
  return frameOf(aloneAt(figure), title, { width, height: heightOf(element) });
}

// HTML of a frame that shows a page.
export function frameOf(src, title, { width, height }) {
  const frame = document.createElement("iframe");
  for (const [name, value] of Object.entries({
    src, title, width, height, loading: "lazy",
    allow: "fullscreen; clipboard-write", style: "max-width: 100%; border: 0",
  })) {
    frame.setAttribute(name, value);
  }
  return frame.outerHTML;
}

// Address of the page that has the figure alone, at its present state.
export function aloneAt(figure) {
  const page = new URL(figure.element.dataset.embed, figure.page);
  page.hash = new URL(figure.address()).hash;
  return page.href;
}

const AROUND = 100; // pixels that the page of a figure alone has above and below
const TITLE = 40; // and a panel has above its chart

// Pixels that a figure needs: charts as high as their still pictures, the rest as it is here.
function heightOf(element) {
  const charts = element.querySelector(".live-figure__panels") ?? element.querySelector(".live-figure__box");
  const rest = element.offsetHeight - charts.offsetHeight;
  const columns = Number(getComputedStyle(charts).getPropertyValue("--columns")) || 1;
  const heights = [...element.querySelectorAll(".live-figure__box")].map((box) => {
    const picture = box.querySelector(".live-figure__picture");
    return Number(picture.getAttribute("height")) + (columns > 1 ? TITLE : 0);
  });
  const rows = Math.ceil(heights.length / columns);
  const highest = heights.sort((one, other) => other - one).slice(0, rows);
  const all = highest.reduce((sum, each) => sum + each, 0);
  return Math.round(Math.min(rest, 700) + all + AROUND);
}

// Whether the text is in the clipboard now. A page within a frame, or without https, may not be
// allowed to write there in the new way.
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedBySelection(text);
  }
}

function copiedBySelection(text) {
  const area = Object.assign(document.createElement("textarea"), { value: text, readOnly: true });
  Object.assign(area.style, { position: "fixed", top: 0, opacity: 0 });
  const before = document.activeElement;
  (document.fullscreenElement ?? document.body).append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
    before?.focus({ preventScroll: true });
  }
}
