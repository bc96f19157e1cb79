"""The heads of a model as a map: a column a layer, a row a head, the colour a value.

It lies in the same chart as the sorted lines of `head_sorted`, on the same scale; a switch says
which of the two is drawn.
"""

import altair

from report.figures.parts import choices, marking, theme
from report.figures.parts.choices import Switch

PARAM = "view"
VIEWS = {"lines": "sorted lines", "map": "map of heads"}
SHOWN = f"{PARAM} === 'map'"


def control() -> Switch:
    """The switch between the lines and the map, which are two looks of the same values."""
    return Switch(PARAM, "Drawn as", VIEWS, "lines", look=True)


def layers(
    data: choices.Heads,
    table: altair.Chart,
    value: str,
    most: float,
    number: str,
    tooltip: list[altair.Tooltip],
) -> altair.LayerChart:
    """The map, drawn while the switch is at it.

    table: of rows with layer, head and the field `value`; most: end of the colours; number: format
    of a value; tooltip: may use the field "named"
    """
    shown = table.transform_filter(SHOWN).transform_calculate(
        named="'head ' + datum.head",
        left="datum.layer - 0.48",
        right="datum.layer + 0.48",
        top="datum.head - 0.46",
        bottom="datum.head + 0.46",
    )
    edges = {
        "x": altair.X("left:Q", title=None),
        "x2": "right:Q",
        "y": _heads(data),
        "y2": "bottom:Q",
    }
    colour = altair.Color(f"{value}:Q", legend=None).scale(
        domain=[0, most], **theme.ramp(theme.SCORE_RAMP)
    )
    cell = shown.mark_rect(aria=False).encode(**edges, color=colour, tooltip=tooltip)
    here = "datum.layer === marked_layer && datum.head === marked_head"
    around = shown.transform_filter(marking.either(here)).mark_rect(
        fill=None,
        stroke=altair.ExprRef("ink"),
        strokeWidth=2.4,
        strokeDash=altair.ExprRef(f"{marking.pinned(here)} ? [1, 0] : [3, 2]"),
        aria=False,
    )
    return altair.layer(cell, around.encode(**edges), *_extremes(shown, value, number))


def _heads(data):
    """The channel of heads from the top, with an axis that is there while the map is."""
    every = max(1, data.heads // 16)
    axis = altair.Axis(
        orient="left",
        values=list(range(0, data.heads, every)),
        format="d",
        grid=False,
        labelExpr=f"{SHOWN} ? datum.label : ''",
    )
    scale = altair.Scale(domain=[data.heads - 0.5, -0.5], nice=False, zero=False)
    return altair.Y("top:Q", title=None, scale=scale, axis=axis)


def _extremes(shown, value, number):
    """The highest and the lowest value, written into their cells where these are large enough."""
    ranked = shown.transform_window(
        highest="row_number()", sort=[altair.SortField(value, order="descending")]
    ).transform_window(lowest="row_number()", sort=[altair.SortField(value, order="ascending")])
    ends = ranked.transform_filter("datum.highest === 1 || datum.lowest === 1")
    return [
        mark.encode(
            x=altair.X("layer:Q"),
            y=altair.Y("head:Q"),
            text=altair.Text(f"{value}:Q", format=".0%" if "%" in number else ".2f"),
        )
        for mark in theme.halo(ends.mark_text, fontSize=theme.TICK, baseline="middle")
    ]


def hidden_axis() -> dict[str, altair.ExprRef | str]:
    """Options of an axis that is not there while the map is."""
    labels = f"{SHOWN} ? '' : datum.label"
    return {"labelExpr": labels, "gridOpacity": altair.ExprRef(f"{SHOWN} ? 0 : 1")}


def axis_title(of_lines: str) -> altair.Chart:
    """The title of the vertical axis, which follows the switch; of_lines: that of the lines."""
    titles = {"lines": of_lines, "map": "head (index from 0)"}
    return theme.y_title(choices.chosen(PARAM, titles))


def room(x: altair.X, data: choices.Heads) -> altair.X:
    """The channel of layers, with room for the cells of the first and the last while they show."""
    ends = (-0.5, data.layers - 0.5)
    domain = [
        altair.ExprRef(f"{SHOWN} ? {end} : {at}")
        for end, at in zip(ends, x.to_dict()["scale"]["domain"], strict=True)
    ]
    return x.scale(domain=domain, nice=False)
