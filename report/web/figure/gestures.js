// What pointers do to look closer at a map: the wheel with a key, two fingers, a double click or
// tap, and a drag by mouse. One finger scrolls the page, as everywhere.

const WHEEL = 0.0022; // of the logarithm of the rows, a pixel of the wheel
const LINE = 16; // pixels of a wheel that counts lines
const TWICE = 350; // ms between two clicks or taps
const NEAR = 24; // pixels between them
const DRAGGED = 4; // pixels

export function watchGestures(zoom, signal) {
  const { canvasBox } = zoom.chart;
  const on = (type, act, options = {}) =>
    canvasBox.addEventListener(type, (event) => zoom.chart.shown && act(event), { ...options, signal });
  watchWheel(zoom, on);
  watchFingers(zoom, on);
  watchTwice(zoom, on);
  watchDrag(zoom, on);
}

function watchWheel(zoom, on) {
  let held = {}; // the place under a pointer that rests, though the plot may move beneath it
  const turn = (event) => {
    if (!event.ctrlKey && !event.altKey && !event.metaKey) return;
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode ? LINE : 1);
    const turned = Math.max(-200, Math.min(pixels, 200));
    const { clientX, clientY } = event;
    if (held.clientX !== clientX || held.clientY !== clientY) {
      held = { clientX, clientY, place: zoom.placeOf(event) };
    }
    zoom.by(Math.exp(turned * WHEEL), held.place, false, zoom.sharesOf(event));
  };
  on("wheel", turn, { passive: false });
  on("pointermove", () => (held = {}));
}

function watchFingers(zoom, on) {
  let before = null; // where two fingers were
  const both = ({ touches }) => {
    const [one, other] = touches;
    const [x, y] = [one.clientX - other.clientX, one.clientY - other.clientY];
    const middle = { clientX: one.clientX - x / 2, clientY: one.clientY - y / 2 };
    return { apart: Math.max(1, Math.hypot(x, y)), middle };
  };
  const begin = (event) => {
    before = event.touches.length === 2 ? both(event) : null;
    if (!before) return;
    event.preventDefault();
    zoom.chart.hideTip(event);
  };
  const move = (event) => {
    if (!before || event.touches.length !== 2) return;
    event.preventDefault(); // the page neither scrolls nor grows
    const now = both(event);
    const [from, to] = [before, now].map(({ middle }) => zoom.placeOf(middle));
    zoom.pan(from[0] - to[0], from[1] - to[1], false);
    zoom.by(before.apart / now.apart, from, false);
    before = now;
  };
  on("touchstart", begin, { passive: false });
  on("touchmove", move, { passive: false });
  on("touchend", () => (before = null));
  on("touchcancel", () => (before = null));
}

function watchTwice(zoom, on) {
  let last = null;
  on("click", (event) => {
    const near = last && Math.hypot(event.clientX - last.clientX, event.clientY - last.clientY) < NEAR;
    const again = near && event.timeStamp - last.timeStamp < TWICE;
    last = again ? null : event;
    if (again) zoom.by(event.shiftKey ? 2 : 0.5, zoom.placeOf(event));
  });
}

function watchDrag(zoom, on) {
  let from = null; // {event, place} where the mouse was pressed
  let dragged = false;
  on("pointerdown", (event) => {
    const pressed = event.pointerType !== "touch" && event.button === 0 && zoom.wanted;
    from = pressed ? { event, place: zoom.placeOf(event) } : null;
    dragged = false;
  });
  const move = (event) => {
    if (!from || !event.buttons) return;
    const { clientX, clientY } = from.event;
    dragged ||= Math.hypot(event.clientX - clientX, event.clientY - clientY) > DRAGGED;
    if (!dragged) return;
    event.stopPropagation(); // no tooltip on the way
    zoom.chart.hideTip(event);
    if (!event.currentTarget.hasPointerCapture?.(event.pointerId)) {
      event.currentTarget.setPointerCapture?.(event.pointerId);
    }
    const [row, column] = zoom.placeOf(event);
    zoom.pan(from.place[0] - row, from.place[1] - column, false);
  };
  on("pointermove", move, { capture: true });
  on("pointerup", () => (from = null));
  // what ends a drag pins nothing
  on("click", (event) => dragged && event.stopImmediatePropagation(), { capture: true });
}
