// Cards beside words: what a term of the glossary means, and what a figure looks like that the text
// refers to. This listens, as the end of start.js (see report/pages/assets.py); card.js, which draws, is
// fetched when a reader first comes to a word.

const WORDS = "a.term, a.figure-ref";
const word = (event) => event.target.closest?.(WORDS);
const isTouch = (event) => event.pointerType === "touch";

let drawing;
const open = (element, patient) => {
  drawing ??= import(new URL("card.js", import.meta.url));
  drawing.then((card) => card.open(element, patient));
};

addEventListener("pointerover", (event) => {
  if (word(event) && !isTouch(event)) open(word(event), true);
});

addEventListener("focusin", (event) => {
  if (word(event)?.matches(":focus-visible")) open(word(event), false);
});

// A tap on a term tells what it means; a tap on the same term again follows its link.
addEventListener(
  "click",
  (event) => {
    const tapped = event.target.closest?.("a.term");
    if (!tapped || !isTouch(event) || tapped.hasAttribute("aria-describedby")) return;
    event.preventDefault();
    event.stopPropagation(); // instant navigation would follow it all the same
    open(tapped, false);
  },
  true,
);

// On paper a link cannot be followed: those that leave the site have their address printed. And
// pictures that were never near the window are not there yet; browsers wait for them.
addEventListener("beforeprint", () => {
  for (const link of document.querySelectorAll(".md-content a[href]")) {
    if (link.origin !== location.origin) link.dataset.address = link.href;
  }
  fetchPictures();
});

// The key that begins Ctrl-P: a head start.
addEventListener("keydown", (event) => ["Control", "Meta"].includes(event.key) && fetchPictures());

function fetchPictures() {
  for (const image of document.querySelectorAll("img[loading=lazy]:not([src$='#only-dark'])")) {
    image.loading = "eager";
  }
}
