// One token and one head are marked at a time, in the passage and in all figures. Pointing marks,
// a click or the focus pins (it stays when the pointer leaves), Esc clears.

const mark = { token: -1, layer: -1, head: -1 }; // -1: none
let pinned = -1;
let tell = () => {};

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
}

function pin(token) {
  pinned = token;
  setMark({ token });
}

const unpoint = () => setMark({ token: pinned, layer: -1, head: -1 });

export function clearMarks() {
  pinned = -1;
  unpoint();
}

export function watchPassage(passage) {
  const on = (type, act) =>
    passage.addEventListener(type, (event) => {
      const element = event.target.closest(".token[data-token]");
      if (element) act(Number(element.dataset.token), event);
    });
  on("pointerover", (token) => setMark({ token }));
  on("focusin", pin);
  on("click", pin);
  on("keydown", (token, event) => step(passage, token, event));
  passage.addEventListener("pointerleave", unpoint);
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

export function watchFigure({ element, view, report }) {
  const tokenOf = (item) => item?.datum?.token ?? item?.datum?.current_token;
  view.addEventListener("pointermove", (event, item) => {
    if (report.ramp) return; // on the map the cell under the pointer counts, not its marker
    const token = tokenOf(item);
    const { layer, head } = item?.datum ?? {};
    if (token !== undefined) setMark({ token });
    else if (layer !== undefined && head !== undefined) setMark({ layer, head });
  });
  view.addEventListener("click", (event, item) => {
    if (tokenOf(item) !== undefined) pin(tokenOf(item));
  });
  element.addEventListener("pointerleave", unpoint);
}
