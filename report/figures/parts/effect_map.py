"""The two maps of effect_by_target as they are drawn: panel 0 the attention of a head, panel 1 its
effects."""

from typing import Any

import altair

from report.figures.parts import cells, map_part, marking, shading, signed_map, theme
from report.figures.parts.layers import layered

EFFECT_RAMP = {
    "light": ["#8f2c06", "#e9926a", "#f4f2ee", "#8a93d6", "#1d2675"],
    "dark": ["#f2a278", "#9a4a24", "#22252f", "#4a58a5", "#a9b8fb"],
}
"""Of effects, from against the answer to for it: paper in the middle."""


def looks(panel: int) -> dict[str, Any]:
    """What the page's script paints with: entries of the specification's usermeta."""
    kinds = signed_map.SIGNS if panel else theme.KINDS
    ramp = EFFECT_RAMP if panel else theme.SCORE_RAMP
    return {
        "ramp": ramp,
        "kinds": {kind: list(look) for kind, look in kinds.items()},
        "paper": theme.PAPER,
    }


def layers(panel: int) -> altair.LayerChart:
    """A map without its frame; params: size, shade_low, shade_high, legend_width, and marks."""
    kinds = signed_map.SIGNS if panel else theme.KINDS
    marks = "most of the effect" if panel else "top targets"
    return layered(
        cells.picture(),
        _legend(panel),
        theme.written(
            f"'{'direct effect (logits)' if panel else 'probability'}'",
            map_part.LEGEND_WITHIN,
            0,
            align="left",
            baseline="top",
            fontWeight=500,
            aria=False,
        ),
        cells.guides("size", True),
        *_column(),
        cells.markers("size", True, kinds, title=marks),
        cells.cursor(),
    ).resolve_scale(color="independent", shape="independent")


def _column():
    """Lines through the column of the target that is pointed at or pinned in any map."""

    def column(token):
        return theme.at(x=f"{token} + 0.5", y=token, y2="size")

    return marking.guides("marked_target", column=column)


def _legend(panel):
    colour = altair.Color("shade:Q").scale(
        domain=[altair.ExprRef("shade_low"), altair.ExprRef("shade_high")],
        **theme.ramp(EFFECT_RAMP if panel else theme.SCORE_RAMP),
        clamp=True,
    )
    labels = {"format": "+.2~f", "tickCount": 3}
    if not panel:
        labels = {"values": shading.PROBABILITIES, "labelExpr": "format(exp(datum.value), '~%')"}
    legend = altair.Legend(
        **cells.legend_place(True, 0),
        direction="horizontal",
        title=" ",
        gradientLength=altair.ExprRef("legend_width"),
        gradientThickness=10,
        gradientOpacity=1,
        labelOverlap="greedy",
        **labels,
    )
    nothing = altair.Chart(altair.NamedData("no_shade"))  # an empty layer, for its legend
    return nothing.mark_point(aria=False).encode(color=colour.legend(legend))
