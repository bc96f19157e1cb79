// Opens a hover card when a reader comes to a word that has one: a term of the glossary, a work that
// is cited, or a figure that the text refers to. It is sent as a part of start.js (see TOGETHER in
// report/pages/assets.py), and fetches hover_card.js, which draws the card, when it is first needed.

const EXPLAINED = "a.term, a.cite";
const WORDS = `${EXPLAINED}, a.figure-ref`;
const word = (event) => event.target.closest?.(WORDS);
const isTouch = (event) => event.pointerType === "touch";

let drawing;
const open = (element, patient) => {
  drawing ??= import("./hover_card.js");
  drawing.then(
    (card) => card.open(element, patient),
    (error) => {
      drawing = null; // it may be tried again
      console.warn(error);
    },
  );
};

addEventListener("pointerover", (event) => {
  if (word(event) && !isTouch(event)) open(word(event), true);
});

addEventListener("focusin", (event) => {
  if (word(event)?.matches(":focus-visible")) open(word(event), false);
});

// A tap on a term or a citation tells what it means; a tap on it again follows its link.
addEventListener(
  "click",
  (event) => {
    const tapped = event.target.closest?.(EXPLAINED);
    if (!tapped || !isTouch(event) || tapped.hasAttribute("aria-describedby")) return;
    event.preventDefault();
    event.stopPropagation(); // instant navigation would follow it all the same
    open(tapped, false);
  },
  true,
);
