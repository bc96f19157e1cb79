// Where the tooltip of a chart is. Vega places it beside the pointer; where no side has room, a narrow
// window would cut off the beginnings of its lines. On a map it would hide the cells around the one
// that it tells of: there it is below the picture, or above, where the names of tokens stand that it
// says itself; and away from the row and the column that are pointed at where neither has room.

const MARGIN = 4; // pixels between a tooltip and the edge of the window
const AWAY = 14; // pixels from the cell that it tells of

// mapBox: gives the box of the chart if it is a map
export function placeTooltip(view, mapBox) {
  const show = view.tooltip();
  view.tooltip((...told) => {
    show.call(view, ...told);
    const tip = document.getElementById("vg-tooltip-element");
    if (!tip?.classList.contains("visible")) return;
    const { width, height } = tip.getBoundingClientRect();
    const box = mapBox();
    if (box) besideMap(tip, view, box.getBoundingClientRect(), told[1], { width, height });
    keep(tip, "left", innerWidth - width);
    keep(tip, "top", innerHeight - height);
  });
}

function besideMap(tip, view, box, { clientX, clientY }, { width, height }) {
  const [, y] = view.origin();
  const top = box.top + view.padding().top + y;
  const bottom = top + view.height();
  let left = Math.max(box.left, Math.min(clientX - width / 2, box.right - width));
  let above = bottom + MARGIN;
  if (above + height > innerHeight) above = top - MARGIN - height;
  if (above < 0) {
    [left, above] = [clientX + AWAY, clientY - AWAY - height];
    if (above < 0) above = clientY + AWAY;
  }
  Object.assign(tip.style, { left: `${left}px`, top: `${above}px` });
}

function keep(tip, side, room) {
  const at = parseFloat(tip.style[side]);
  const inside = Math.max(MARGIN, Math.min(at, room - MARGIN));
  if (inside !== at) tip.style[side] = `${inside}px`;
}
