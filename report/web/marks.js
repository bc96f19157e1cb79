// One token and one head are marked at a time, in the passage and in all figures. Pointing marks,
// a click or the focus pins (it stays when the pointer leaves), Esc clears. A finger does not
// point: its tap pins, and a second tap at the same place or a tap beside everything clears.

const mark = { token: -1, layer: -1, head: -1 }; // -1: none
let pinned = -1;
let tell = () => {};
let before = null; // what was pinned and marked when a finger came down; null: it is no finger

export const isTouch = (event) => event.pointerType === "touch";

addEventListener(
  "pointerdown",
  (event) => (before = isTouch(event) ? { ...mark, token: pinned } : null),
  true,
);
addEventListener("click", (event) => {
  // charts look for themselves; what sets a figure must not unmark what it is set for
  const own = ".token, .live-figure__chart, .live-figure__controls, a, button, input, label";
  if (before && !event.target.closest?.(own)) clearMarks();
});
addEventListener("resize", () => document.querySelectorAll(".passage").forEach(placeTip));

// `listener` gets the marks as values for the params of a chart.
export function onMark(listener) {
  tell = listener;
}

export const markSignals = () => ({
  marked_token: mark.token,
  marked_layer: mark.layer,
  marked_head: mark.head,
});

function setMark(values) {
  if (Object.entries(values).every(([name, value]) => mark[name] === value)) return;
  Object.assign(mark, values);
  tell(markSignals());
  for (const token of document.querySelectorAll(".token[data-token]")) {
    token.classList.toggle("token--marked", Number(token.dataset.token) === mark.token);
  }
  document.querySelectorAll(".passage").forEach(placeTip);
}

function pin(token) {
  pinned = token;
  setMark({ token });
}

function clickToken(token) {
  if (before?.token === token) clearMarks();
  else pin(token);
}

function tapHead(layer, head) {
  if (before.layer === layer && before.head === head) clearMarks();
  else setMark({ layer, head });
}

const unpoint = () => setMark({ token: pinned, layer: -1, head: -1 });
const leave = (event) => isTouch(event) || unpoint();

export function clearMarks() {
  pinned = -1;
  unpoint();
}

// --- The passage -----------------------------------------------------------------------------

export function watchPassage(passage) {
  if (passage.querySelector(".passage__tip")) return; // it is watched already
  if (!passage.querySelector(".token[data-token]")) return; // no figure is about it
  addTip(passage);
  const on = (type, act) =>
    passage.addEventListener(type, (event) => {
      const element = event.target.closest(".token[data-token]");
      if (element) act(Number(element.dataset.token), event);
    });
  on("pointerover", (token, event) => isTouch(event) || setMark({ token }));
  on("focusin", pin);
  on("click", clickToken);
  on("keydown", (token, event) => step(passage, token, event));
  passage.addEventListener("pointerleave", leave);
}

// What a title tells a mouse only, told to keys and fingers too: beside the marked token.
function addTip(passage) {
  for (const token of passage.querySelectorAll(".token[title]")) {
    token.dataset.about = token.title;
    token.removeAttribute("title"); // it would show twice
  }
  const tip = Object.assign(document.createElement("div"), { className: "passage__tip" });
  Object.assign(tip, { id: "token-tip", role: "tooltip", hidden: true });
  passage.append(tip);
}

function placeTip(passage) {
  const tip = passage.querySelector(".passage__tip");
  if (!tip) return;
  const token = passage.querySelector(".token--marked");
  passage.querySelector("[aria-describedby]")?.removeAttribute("aria-describedby");
  tip.hidden = !token;
  if (!token) return;
  token.setAttribute("aria-describedby", tip.id);
  tip.textContent = token.dataset.about;
  const frame = passage.getBoundingClientRect();
  const place = token.getClientRects()[0] ?? token.getBoundingClientRect();
  const left = Math.min(place.left - frame.left, frame.width - tip.offsetWidth);
  // a translation, which to a browser is no shift of the layout
  const top = place.top - frame.top - tip.offsetHeight - 4;
  tip.style.translate = `${Math.max(0, left)}px ${top}px`;
}

// The passage is one stop of the Tab key; arrows move over its tokens.
function step(passage, token, event) {
  const tokens = [...passage.querySelectorAll(".token[data-token]")];
  const next = {
    ArrowLeft: tokens[token - 1],
    ArrowRight: tokens[token + 1],
    Home: tokens[0],
    End: tokens.at(-1),
  }[event.key];
  if (!next) return;
  event.preventDefault();
  tokens.forEach((each) => (each.tabIndex = each === next ? 0 : -1));
  next.focus();
}

// --- A chart ---------------------------------------------------------------------------------

const SHARED = ["line", "area", "trail"]; // one item for many points: it has the first one's data

export function watchFigure({ element, view, report }) {
  const tokenOf = (item) => item?.datum?.token ?? item?.datum?.current_token;
  const single = (item) => (SHARED.includes(item?.mark?.marktype) ? null : item);
  let touched = null; // the item that a finger came down on

  view.addEventListener("pointermove", (event, found) => {
    if (isTouch(event)) return;
    if (report.ramp) return; // on the map the cell under the pointer counts, not its marker
    const item = single(found);
    const token = tokenOf(item);
    const { layer, head } = item?.datum ?? {};
    if (token !== undefined) setMark({ token });
    else if (layer !== undefined && head !== undefined) setMark({ layer, head });
  });
  view.addEventListener("touchstart", (event, found) => (touched = found));
  view.addEventListener("click", (event, found) => {
    const item = single(before ? touched : found);
    const token = tokenOf(item);
    const { layer, head } = item?.datum ?? {};
    if (token !== undefined) clickToken(token);
    else if (before && layer !== undefined && head !== undefined) tapHead(layer, head);
    else if (before && !report.ramp) clearMarks();
    // a finger that is lifted has left the chart, and Vega has taken its tooltip away
    if (before && !report.ramp) view.tooltip().call(view, null, event, item, item?.tooltip);
  });
  element.addEventListener("pointerleave", leave);
}
