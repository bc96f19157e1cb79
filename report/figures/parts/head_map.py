"""The heads of a model as a map: a column a layer, a row a head, the colour a value.

It is the second panel of the figures of `head_sorted`, on the same scale as their lines. It stands
beside them where a page has room; elsewhere a switch says which of the two is seen.
"""

import altair

from report.figures.parts import choices, grid, marking, rank_lines, theme
from report.figures.parts.choices import Switch
from report.figures.parts.layers import layered

PARAM = "view"
VIEWS = {"lines": "sorted lines", "map": "map of heads"}

TITLES = ["Heads sorted at each layer", "Map of heads"]
"""Of both panels."""

COLUMNS = 5
"""Of the grid: the lines take three, the map two."""

WIDTHS = 550, 362
HEIGHT = 350
"""Of both panels, in pixels."""

NARROW = 34
"""Pixels of a cell in which no value has room."""


def control() -> Switch:
    """The switch between the lines and the map, which are two looks of the same values."""
    return Switch(PARAM, "Drawn as", VIEWS, "lines", look=True)


def boxes() -> list[grid.Box]:
    """The room of the lines and of the map."""
    return [
        grid.Box(width / HEIGHT, 1.05, width, span, view)
        for width, span, view in zip(WIDTHS, (3, 2), VIEWS, strict=True)
    ]


def layers(
    data: choices.Heads,
    table: altair.Chart,
    value: str,
    most: float,
    number: str,
    tooltip: list[altair.Tooltip],
) -> altair.LayerChart:
    """The map.

    table: of rows with layer, head and the field `value`; most: end of the colours; number: format
    of a value; tooltip: may use the field "named"
    """
    shown = table.transform_calculate(
        named="'head ' + datum.head",
        left="datum.layer - 0.48",
        right="datum.layer + 0.48",
        top="datum.head - 0.46",
        bottom="datum.head + 0.46",
    )
    edges = {
        "x": rank_lines.layer_axis(data, "left", 0.5),
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
    return layered(cell, around.encode(**edges), *_extremes(data, shown, value, number))


def _heads(data):
    """The channel of heads, from the top."""
    every = max(1, data.heads // 16)
    axis = altair.Axis(values=list(range(0, data.heads, every)), format="d", grid=False)
    scale = altair.Scale(domain=[data.heads - 0.5, -0.5], nice=False, zero=False)
    return altair.Y("top:Q", title="head (index from 0)", scale=scale, axis=axis)


def _extremes(data, shown, value, number):
    """The highest and the lowest value, written into their cells.

    Where these are narrow, only the highest is, as both may be neighbours.
    """
    narrow = f"width / {data.layers} < {NARROW}"
    drawn = []
    for order in ("descending", "ascending"):
        first = shown.transform_window(
            order="row_number()", sort=[altair.SortField(value, order=order)]
        ).transform_filter("datum.order === 1")
        style = {"fontSize": theme.TICK, "baseline": "middle"}
        if order == "ascending":
            style["opacity"] = altair.ExprRef(f"{narrow} ? 0 : 1")
        drawn += [
            mark.encode(
                x=altair.X("layer:Q"),
                y=altair.Y("head:Q"),
                text=altair.Text(f"{value}:Q", format=".0%" if "%" in number else ".2f"),
            )
            for mark in theme.halo(first.mark_text, **style, align=_within(data, narrow))
        ]
    return drawn


def _within(data, narrow):
    """The side of a number's cell from which it is written, so that it does not leave the map."""
    left, right = data.layers / 10, 0.9 * data.layers
    side = f"datum.layer < {left} ? 'left' : datum.layer > {right} ? 'right' : 'center'"
    return altair.ExprRef(f"{narrow} ? ({side}) : 'center'")
