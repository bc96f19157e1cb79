"""Heads as points of a plane: their colours by layer, and names that do not lie on each other."""

from collections.abc import Mapping
from typing import Any

import altair
import numpy as np

from report.datasets.read.model import ModelData
from report.figures.parts import rank_lines, theme
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label

DIGITS = 5
"""Significant digits of a number."""


def colour(data: ModelData) -> altair.Color:
    """The channel of a head's layer."""
    return altair.Color("layer:Q", legend=rank_lines.layer_legend(data)).scale(
        domain=[0, max(1, data.layers - 1)], **theme.ramp(theme.RANK_RAMP)
    )


def x_title(expression: str) -> altair.Chart:
    """The title of the horizontal axis, which follows a control."""
    style = {"align": "center", "baseline": "top", "fontWeight": 500, "aria": False}
    return theme.written(expression, "width / 2", "height + 24", **style)


def names(named: altair.Chart, x: str, y: str, most: int, **style: Any) -> list[altair.Chart]:
    """The names of heads at their points; of two that would lie on each other, the one that comes
    later is left out.

    named: has "named" and "place", 1 for the head that comes first, beside the fields `x` and `y`
    most: how many heads it has, at most
    style: where they stand; default: beside the points
    """
    near = [(at, far) for at in ("lag", "lead") for far in range(1, most)]  # to the left, the right
    named = named.transform_window(
        [
            altair.WindowFieldDef(op=at, field=field, param=far, **{"as": f"{at}{far}_{field}"})
            for at, far in near
            for field in (x, y, "place")
        ],
        sort=[altair.SortField(x)],
    )
    covered = " || ".join(
        f"isValid(datum.{at}{far}_{x}) && datum.{at}{far}_place "
        f"{'<=' if at == 'lag' else '<'} datum.place && "
        + " && ".join(
            f"abs(scale('{axis}', datum.{at}{far}_{field}) - scale('{axis}', datum.{field})) < "
            f"{room}"
            for axis, field, room in (("x", x, 44), ("y", y, 13))
        )
        for at, far in near
    )
    place = {"x": altair.X(f"{x}:Q"), "y": altair.Y(f"{y}:Q"), "text": altair.Text("named:N")}
    at_end = f"scale('x', datum.{x}) > width - 44"
    style = style or {
        "align": altair.ExprRef(f"{at_end} ? 'right' : 'left'"),
        "baseline": "middle",
        "dx": altair.ExprRef(f"{at_end} ? -8 : 8"),
    }
    style |= {
        "fontSize": theme.TICK,
        "fontWeight": 600,
        "opacity": altair.ExprRef(f"{covered} ? 0 : 1"),
    }
    return [mark.encode(**place) for mark in theme.halo(named.mark_text, **style)]


def rows(data: ModelData, columns: Mapping[str, np.ndarray]) -> Rows:
    """A row a head: layer, head, named, and its number of each column, float [layer, head]."""
    return [
        {"layer": layer, "head": head, "named": head_label(layer, head)}
        | {name: _rounded(values[layer, head]) for name, values in columns.items()}
        for layer, head in np.ndindex(data.layers, data.heads)
    ]


def _rounded(value):
    return None if np.isnan(value) else float(f"{value:.{DIGITS}g}")
