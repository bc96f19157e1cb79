// Tables that are wider than the text. Their box has a scroll bar. While the box is too small it
// can have the focus, so that arrow keys scroll it in every browser. It fades where the table goes
// on.

const BOX = ".md-typeset__scrollwrap"; // that Material for MkDocs lays around a table
const STOP = { tabindex: "0", role: "group", "aria-label": "Wide table" };

const sizes = new ResizeObserver((entries) => {
  for (const box of new Set(entries.map(({ target }) => target.closest(BOX)))) {
    const wide = box.scrollWidth > box.clientWidth;
    for (const [name, value] of Object.entries(STOP)) {
      if (wide) box.setAttribute(name, value);
      else box.removeAttribute(name);
    }
    fade(box);
  }
});

function fade(box) {
  const hidden = box.scrollWidth - box.clientWidth - box.scrollLeft;
  box.classList.toggle("goes-on", hidden > 2);
}

function page() {
  sizes.disconnect();
  for (const box of document.querySelectorAll(BOX)) {
    box.onscroll = () => fade(box);
    sizes.observe(box);
    sizes.observe(box.firstElementChild);
  }
}

// The boxes are laid when a page is announced, before or after this hears of it.
window.document$?.subscribe(() => requestAnimationFrame(page));
