"""The triangle of a ternary plot: grid, ticks, labels and titles of three axes.

Corners: top, lower left, lower right; a point's three shares add up to 1. Each axis is read on
one side, anticlockwise: the top's share on the right side, the left's on the left side, the
right's on the base. The sides have length 1 in both directions, whatever the box's shape.
"""

import math
from collections.abc import Iterable

import altair

from report.figures.parts.theme import TYPE, of_term, themed
from report.text import rounded

HEIGHT = math.sqrt(3) / 2
TICKS = (0.2, 0.4, 0.6, 0.8)
GRID = {"light": 0.38, "dark": 0.65}
"""Opacity of the grid: enough to tell the hues of its three sets of lines apart."""
TICK = 0.016
"""Length of a tick, in sides."""


def params() -> list[altair.Parameter]:
    """`side`: pixels of one side, so that the triangle and its labels fit into the box."""
    return [altair.param(name="side", expr=f"min(width - 76, (height - 72) / {HEIGHT:.6f})")]


def place(axes: Iterable[str]) -> dict[str, str]:
    """Expressions for the fields x and y of a point: its shares as a place in the triangle.

    axes: the terms at the top, at the lower left and at the lower right
    """
    top, _, right = (f"datum.share_{term}" for term in axes)
    return {"x": f"{right} + {top} / 2", "y": f"{top} * {HEIGHT}"}


def position(x: str, y: str) -> dict[str, altair.X | altair.Y]:
    """Channels for two fields in units of sides, the triangle in the middle of the box."""
    half = "width / side / 2"
    across = altair.Scale(
        domain=[altair.ExprRef(f"0.5 - {half}"), altair.ExprRef(f"0.5 + {half}")], nice=False
    )
    spare = f"(height / side - {HEIGHT:.6f})"
    upward = altair.Scale(
        domain=[
            altair.ExprRef(f"-0.66 * {spare}"),
            altair.ExprRef(f"{HEIGHT:.6f} + 0.34 * {spare}"),
        ],
        nice=False,
    )
    return {
        "x": altair.X(f"{x}:Q", scale=across, axis=None),
        "y": altair.Y(f"{y}:Q", scale=upward, axis=None),
    }


def layers(names: dict[str, str]) -> list[altair.Chart]:
    """Grid, outline, ticks, labels and titles.

    names: dict of the terms at the top, at the lower left and at the lower right to their names
    """
    corners = list(names)
    axes = list(zip(corners, _AXES, strict=True))
    lines = [_line(term, axis, value) for term, axis in axes for value in TICKS]
    labels = [_label(term, axis, value) for term, axis in axes for value in TICKS]
    return [
        _outline(),
        _rules(lines),
        *(_texts([row for row in labels if row["term"] == term], term, 0) for term in corners),
        *(_title(term, axis, names[term]) for term, axis in axes),
        *(_corner(term, place, names[term]) for term, place in zip(corners, _CORNERS, strict=True)),
    ]


def point(top: float, left: float, right: float) -> tuple[float, float]:
    """(x, y) of three shares."""
    return right + top / 2, top * HEIGHT


# For each corner: start and end of the line along which its share is `v` (the start is on the
# side that carries the ticks), direction of the ticks, turn of the title, its place on the side
# and its distance from it in pixels (up is negative, turned with the title).
_AXES = (
    {
        "line": lambda v: (point(v, 0, 1 - v), point(v, 1 - v, 0)),
        "tick": (1, 0),
        "angle": 60,
        "title": (point(0.5, 0, 0.5), -54),
        "arrow": "← {}",
    },
    {
        "line": lambda v: (point(1 - v, v, 0), point(0, v, 1 - v)),
        "tick": (-0.5, HEIGHT),
        "angle": 300,
        "title": (point(0.5, 0.5, 0), -54),
        "arrow": "← {}",
    },
    {
        "line": lambda v: (point(0, 1 - v, v), point(1 - v, 0, v)),
        "tick": (-0.5, -HEIGHT),
        "angle": 0,
        "title": (point(0, 0.5, 0.5), 36),
        "arrow": "{} →",
    },
)


def _line(term, axis, value):
    (x, y), (x2, y2) = axis["line"](value)
    across, up = axis["tick"]
    return {"term": term, "x": x + TICK * across, "y": y + TICK * up, "x2": x2, "y2": y2}


def _label(term, axis, value):
    (x, y), _ = axis["line"](value)
    across, up = (2.2 * TICK * part for part in axis["tick"])
    return {"term": term, "x": x + across, "y": y + up, "text": f"{rounded(100 * value, 0)}%"}


_CORNERS = ((point(1, 0, 0), -13), (point(0, 1, 0), 17), (point(0, 0, 1), 17))
"""Corner, and how many pixels below it its name stands."""


def _corner(term, place, name):
    (x, y), below = place
    row = {"x": x, "y": y, "text": name.split()[0]}  # a corner has room for a word
    return _texts([row], term, 0, align="center", dy=below, fontSize=TYPE["title"], fontWeight=700)


def _outline():
    corners = [point(1, 0, 0), point(0, 1, 0), point(0, 0, 1), point(1, 0, 0)]
    rows = [{"x": x, "y": y, "order": order} for order, (x, y) in enumerate(corners)]
    mark = altair.Chart(altair.InlineData(rows)).mark_line(
        color=altair.ExprRef("ink"), opacity=0.55, strokeWidth=1, aria=False
    )
    return mark.encode(**position("x", "y"), order=altair.Order("order:Q"))


def _rules(rows):
    terms = list(dict.fromkeys(row["term"] for row in rows))
    colour = altair.Color("term:N", legend=None).scale(
        domain=terms, range=[themed(*of_term(term)) for term in terms]
    )
    mark = altair.Chart(altair.InlineData(rows)).mark_rule(
        strokeWidth=0.8,
        opacity=altair.ExprRef(f"dark ? {GRID['dark']} : {GRID['light']}"),
        aria=False,
    )
    # the colour of the points is another scale, hence a stroke and not a color channel
    return mark.encode(
        **position("x", "y"),
        x2=altair.X2("x2:Q"),
        y2=altair.Y2("y2:Q"),
        stroke=altair.Stroke(**colour.to_dict()),
    )


def _texts(rows, term, angle, **style):
    align = {"content": "left", "mixed": "left", "bias": "right", "position": "center"}[term]
    mark = altair.Chart(altair.InlineData(rows)).mark_text(
        **{"align": align, "baseline": "middle", "fontSize": TYPE["tick"]} | style,
        angle=angle,
        color=themed(*of_term(term)),
        aria=False,
    )
    return mark.encode(**position("x", "y"), text=altair.Text("text:N"))


def _title(term, axis, name):
    (x, y), away = axis["title"]
    row = {"x": x, "y": y, "text": axis["arrow"].format(f"share of the {name} term")}
    style = {"align": "center", "fontSize": TYPE["label"], "fontWeight": 500}
    return _texts([row], term, axis["angle"], dy=away, **style)
