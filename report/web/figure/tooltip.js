// Keeps Vega's tooltip inside the window. Vega places it beside the pointer; where no side has
// room, a narrow window would cut off the beginnings of its lines.

const MARGIN = 4; // pixels

export function keepTooltipInside(view) {
  const show = view.tooltip();
  view.tooltip((...told) => {
    show.call(view, ...told);
    const tip = document.getElementById("vg-tooltip-element");
    if (!tip?.classList.contains("visible")) return;
    const { width, height } = tip.getBoundingClientRect();
    place(tip, "left", innerWidth - width);
    place(tip, "top", innerHeight - height);
  });
}

function place(tip, side, room) {
  const at = parseFloat(tip.style[side]);
  const inside = Math.max(MARGIN, Math.min(at, room - MARGIN));
  if (inside !== at) tip.style[side] = `${inside}px`;
}
