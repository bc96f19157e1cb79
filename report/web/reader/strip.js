// The passage as a strip at the top of the window, for who wants to see it beside the figures.

import { marked, onMark } from "./marks.js";

let passage;

// Stands where the passage has been, as high, so that no figure moves.
const gap = Object.assign(document.createElement("div"), { className: "passage-gap" });
gap.textContent = "The text is at the top of the window.";

export function watchStrip(of, button) {
  passage = of;
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    keep(passage.parentElement, on);
  });
}

function keep(frame, on) {
  if (on) {
    const { height, margin } = getComputedStyle(frame);
    Object.assign(gap.style, { height, margin });
    frame.before(gap);
    place();
  } else gap.remove();
  frame.classList.toggle("passage-frame--kept", on);
}

// Below the header of the page, as wide as the text.
function place() {
  if (!gap.isConnected) return;
  const { left, width } = gap.getBoundingClientRect();
  const top = document.querySelector(".md-header")?.offsetHeight ?? 0;
  Object.assign(passage.parentElement.style, {
    left: `${left}px`,
    width: `${width}px`,
    top: `${top}px`,
  });
}

addEventListener("resize", place);

// What is marked in a figure is brought into the strip.
onMark(() => {
  if (!passage?.closest(".passage-frame--kept") || passage.matches(":hover")) return;
  const token = passage.querySelector(`.token[data-token="${marked().token}"]`);
  if (!token) return;
  const place = token.getBoundingClientRect();
  const seen = passage.getBoundingClientRect();
  if (place.top < seen.top || place.bottom > seen.bottom) {
    passage.scrollTop += place.top - seen.top - (seen.height - place.height) / 2;
  }
});
