// Vega places a tooltip beside the pointer, and where no side has room, off the window: a narrow
// window would cut off what its lines begin with.

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
