"""Histogram over tokens of one measure of the update: update_magnitude and update_alignment.

Every head has a row of its own, named at its left: 8 colours can hardly be told apart in a stack
and 32 not at all. Rows that the reader singles out (click, with shift for several) keep their
colour, the others step back.
"""

from typing import Any

import altair
import numpy as np

from report.figures.parts import choices, grid, marking, theme, token_names, updates
from report.figures.parts.layers import layered
from report.kinds.passage.data import PassageData

HEIGHT = 0.92
"""Height of the highest bar, in rows."""
TICKS = "clamp(floor(width / 55), 5, 8)"
"""About how many ticks the axis of values has. Labels of four characters keep apart on a phone."""
ROOM = 86
"""Pixels above and below the rows."""
BARS = "bars"
"""Name of the layer in which rows are singled out."""


def boxes(data: PassageData) -> list[grid.Box]:
    """The room of the chart: as high as its rows need."""
    rows = data.heads * min(54, max(12, 480 / data.heads))
    return [grid.Box(grid.WIDTH / (ROOM + rows), grid.PHONE_WIDTH / (ROOM + 0.9 * rows))]


def explained(data: PassageData) -> str:
    """How to read the rows: a line of a caption, after the others."""
    bar = "\nThe number of tokens beside a bar is that of the tallest one"
    if data.heads == 1:
        return f"{bar}."
    return f"\nA row is a head, and all rows have one scale.{bar} of all rows."


def use(data: PassageData) -> str:
    """How to single out heads and tokens."""
    marked = "When a token is marked, a small line in each row shows where it is."
    if data.heads == 1:
        return marked
    return (
        "Click on a row to single its head out, with shift several; a click on an empty part or "
        f"Esc brings all back. {marked}"
    )


def chart(
    data: PassageData,
    measure: str,
    state: choices.State,
    *,
    description: str,
    axis: str,
    zero_rule: bool = False,
    **binning: Any,
) -> altair.LayerChart:
    """The chart of one measure.

    measure: "magnitude" or "alignment"; axis: title of the horizontal one
    zero_rule: whether there is a line at 0; binning: for `altair.Bin`
    """
    points = altair.Chart(altair.NamedData("points"))
    layers = [
        _rows(data),
        _bars(points, data, measure, axis, binning),
        _scale(points, measure, binning),
        _rug(points, measure),
    ]
    if zero_rule:
        layers.append(updates.zero_line())
    drawn = layered(*layers)
    drawn.params = [_singled()]
    return theme.frame(
        drawn,
        theme.Source("updates/{layer}.json", "tables", ["points"]),
        description=description,
        params=updates.params(state),
        walk=["low", "head"],
    )


def _singled():
    """The selection of rows, by clicks on bars."""
    clear = "window:keydown[event.key === 'Escape']"
    select = {"type": "point", "fields": ["head"], "on": "click", "clear": clear}
    return altair.TopLevelSelectionParameter(name="singled", select=select, views=[BARS])


def _y(data, field):
    axis = altair.Axis(
        values=[head + 0.5 for head in range(data.heads)],
        labelExpr="'head ' + floor(datum.value)",
        grid=False,
        titleX=-44,
        minExtent=40,
    )
    scale = altair.Scale(domain=[0, data.heads], nice=False, reverse=True)
    title = "tokens in a bin, by head" if data.heads > 1 else "tokens in a bin"
    return altair.Y(f"{field}:Q", title=title, axis=axis, scale=scale)


def _rows(data):
    """A strip for each head, which can be clicked, as can its name; with a thin base line."""
    table = altair.Chart(
        altair.InlineData([{"head": head, "end": head + 1} for head in range(data.heads)])
    )
    strip = table.mark_rect(color="transparent", aria=False).encode(
        **theme.place(x=-44, x2="width"), y=_y(data, "head"), y2=altair.Y2("end")
    )
    line = table.mark_rule(strokeWidth=0.6, opacity=0.35, aria=False).encode(y=_y(data, "end"))
    return strip + line


def _counted(points, measure, binning):
    """A row for each head and bin, with what its bar needs."""
    return (
        # binned before anything else, so that all heads have the same bins
        points.transform_bin(["low", "high"], field=measure, bin=altair.Bin(**binning))
        .transform_aggregate(count="count()", groupby=["low", "high", "head"])
        .transform_joinaggregate(most="max(count)")
        .transform_calculate(
            base="datum.head + 1",
            top=f"datum.head + 1 - {HEIGHT} * datum.count / datum.most",
            told="'Head ' + datum.head + ': ' + datum.count + (datum.count === 1 ? "
            "' token has ' : ' tokens have ') + "
            f"'{measure} ' + format(datum.low, '.4~g') + ' to ' + format(datum.high, '.4~g')",
        )
    )


def _bars(points, data, measure, axis, binning):
    head = updates.MARKED_HEAD
    mark = _counted(points, measure, binning).mark_bar(
        binSpacing=0.6,
        stroke=altair.ExprRef(f"{marking.either(head)} ? ink : 'transparent'"),
        strokeWidth=altair.ExprRef(f"{marking.pinned(head)} ? 1.8 : 0.9"),
        aria=False,
    )
    shown = theme.themed(theme.MASS["light"], theme.MASS["dark"])
    behind = theme.themed(theme.CONTEXT["light"], theme.CONTEXT["dark"])
    return mark.properties(name=BARS).encode(
        x=altair.X("low:Q", bin="binned", title=axis)
        .axis(grid=True, tickCount=altair.ExprRef(TICKS))
        .scale(zero=True),
        x2=altair.X2("high:Q"),
        y=_y(data, "top"),
        y2=altair.Y2("base:Q"),
        color=altair.condition({"param": "singled"}, altair.value(shown), altair.value(behind)),
        tooltip=[altair.Tooltip("told:N", title="title")],
    )


def _scale(points, measure, binning):
    """The number of tokens that the highest of all bars stands for.

    It is written beside the bar: on the side away from 0, or where there is room.
    """
    right = "scale('x', datum.high) + 80 < width"
    left = "scale('x', datum.low) > 80"
    highest = (
        _counted(points, measure, binning)
        .transform_filter("datum.count === datum.most")
        .transform_window(number="row_number()")
        .transform_filter("datum.number === 1")
        .transform_calculate(said="datum.count + (datum.count === 1 ? ' token' : ' tokens')")
    )
    after = f"({right} && (datum.high > 0 || !({left})))"
    return layered(
        *(
            text.encode(x=altair.X(f"{edge}:Q"), y=altair.Y("top:Q"), text=altair.Text("said:N"))
            for edge, here, align, aside in (
                ("high", after, "left", 5),
                ("low", f"!{after}", "right", -5),
            )
            for text in theme.halo(
                highest.mark_text,
                align=align,
                dx=aside,
                opacity=theme.only(here),
                baseline="top",
                fontSize=theme.TICK,
            )
        )
    )


def _rug(points, measure):
    tooltip = [
        altair.Tooltip("label:N", title="current token"),
        altair.Tooltip("head:O", title="head"),
        altair.Tooltip(f"{measure}:Q", title=measure, format=".3f"),
    ]
    here = "datum.token === marked_token"
    strokes = (
        points.transform_filter(marking.either(here))
        .transform_calculate(
            label=token_names.token_label("token", "token_text"),
            base="datum.head + 1",
            top="datum.head + 0.35",
        )
        .mark_rule(
            strokeWidth=altair.ExprRef(f"{marking.pinned(here)} ? 3.2 : 2.4"),
            strokeDash=altair.ExprRef(f"{marking.pinned(here)} ? [1, 0] : [3, 2]"),
            color=theme.themed(*theme.FIRST),
            aria=False,
        )
    )
    return strokes.encode(
        x=altair.X(f"{measure}:Q"), y=altair.Y("top:Q"), y2=altair.Y2("base:Q"), tooltip=tooltip
    )


def medians(data: PassageData, measure: str, state: choices.State) -> tuple[np.ndarray, float]:
    """Median of each head at the layer of `state`, float [head], and of all together."""
    points = updates.points(data, state)
    heads = [np.median(points[measure][points["head"] == head]) for head in range(data.heads)]
    return np.array(heads), float(np.median(points[measure]))
