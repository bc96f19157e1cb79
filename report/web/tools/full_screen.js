// A figure over the whole screen: by the browser's full screen where it has one and allows it,
// elsewhere (an iPhone, a frame that may not) over the whole window.

const OVER = "live-figure--over";

const isFull = (element) =>
  document.fullscreenElement === element || element.classList.contains(OVER);

export async function toggleFull(element) {
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

// Calls back whenever the figure begins or ends to cover the screen.
export function watchFull(element, told) {
  element.addEventListener("fullscreenchange", () => changed(element));
  element.addEventListener("fullchange", () => told(isFull(element)));
}

// Esc ends both ways; a browser's own full screen mostly ends before the page hears of the key.
document.addEventListener("keydown", (event) => {
  const element = document.fullscreenElement ?? document.querySelector(`.${OVER}`);
  if (event.key === "Escape" && element?.matches(".live-figure")) toggleFull(element);
});
