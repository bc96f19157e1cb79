"""What the figures of updates share: a layer's tables, one row for each head and token.

These are update_magnitude, update_alignment, alignment_vs_magnitude and magnitude_by_position. An
update is what a head adds to the hidden state of a token.
"""

import altair
import numpy as np

from report.datasets.read.heads import MeasuredHeads
from report.figures.parts import choices, marking, theme, token_names
from report.figures.parts.figure import of_other
from report.kinds.passage.data import PassageData

MAGNITUDE = "update magnitude |u| / |x|"
ALIGNMENT = "update orientation cos(u, x)"
AFTER_FIRST = "datum.token > 0"
"""Leaves out token 0, for which the first token and the token itself are the same."""
DRAWN = [["token", ">", 0]]
"""`AFTER_FIRST` for the script, see `theme.frame`."""
MARKED = "datum.token === marked_token"
MARKED_HEAD = "layer === marked_layer && datum.head === marked_head"
"""Whether a row is of the marked head; `MARKED`: of the marked token."""


def left_out(data: PassageData) -> str:
    """Why no figure of updates can be drawn of a model, in one sentence; "" if they can."""
    if reason := of_other(data, "passage"):
        return reason
    if data.capabilities["updates"] is not None:
        return ""
    return "What each head of this model adds to the hidden state could not be told apart."


def explained(data: PassageData) -> str:
    """A sentence that says what u and x are."""
    norm = ""
    if data.capabilities["updates"] == "effective":
        norm = ", after the norm through which this model sends what its attention writes"
    return (
        f"The update u is what one head adds to the hidden state of a token{norm}; x is the "
        "state that enters the layer."
    )


def without_first(data: MeasuredHeads) -> str:
    """Why token 0 is not counted."""
    if getattr(data, "causal", False):  # an atlas does not say
        return "Token 0 is left out: it can only attend to itself, which is the first token."
    return "Token 0 is left out: the first token and the token itself are the same for it."


def controls(data: PassageData) -> list[choices.Control]:
    """The slider over the layers."""
    return [choices.layer_control(data)]


def points(data: PassageData, state: choices.State) -> dict[str, np.ndarray]:
    """Columns of the table "points" at the layer of `state`: name -> array [heads * tokens]."""
    return data.updates(state["layer"])["points"]


def rows(data: PassageData, **state: int) -> dict[str, list[dict]]:
    """The table "points", with the texts of the tokens."""
    return {"points": records(data, "points", state)}


def records(data: PassageData, table: str, state: choices.State) -> list[dict]:
    """Rows of "points" or "region" at the layer of `state`, with the texts of the tokens."""
    tables = data.updates(state["layer"])
    columns = dict(tables[table])
    for name in ("token", "largest_target"):
        if name in columns:
            columns[f"{name}_text"] = [data.tokens[index].label for index in columns[name]]
    return theme.records(columns)


def params(state: choices.State) -> list[altair.Parameter]:
    """The params of a figure of one layer."""
    return [*choices.params(state), *marking.marked("token", "layer", "head")]


def marked(points: altair.Chart, size: float) -> list[altair.Chart]:
    """Rings around the points of the marked token, small ones around those of the marked head."""
    return [
        # a head has a point for every token, so that heavy rings would run together
        marking.ring(points, MARKED_HEAD, size / 3, 0.5, 0.4),
        marking.ring(points, MARKED, size),
    ]


def cloud(
    data: PassageData,
    points: altair.Chart,
    kind: str,
    *,
    small: int,
    opacity: float,
    named: dict[str, str],
) -> altair.Chart:
    """The points of a scatter plot, one a token and head, with a tooltip; without axes and colours.

    kind: expression for a row's kind of target
    small: area of a point on a phone in square pixels; elsewhere it is less the more points
    named: column of numbers -> its title in the tooltip
    """
    tooltip = [
        altair.Tooltip("label:N", title="current token"),
        altair.Tooltip("head:O", title="head"),
        altair.Tooltip("target_label:N", title="top target"),
        *(altair.Tooltip(f"{name}:Q", title=title, format=".3f") for name, title in named.items()),
    ]
    labelled = points.transform_calculate(
        kind=kind,
        label=token_names.token_label("token", "token_text"),
        target_label=token_names.token_label("largest_target", "largest_target_text"),
    )
    area = round(min(40, max(8, 60_000 / (data.heads * data.length))))
    size = altair.ExprRef(f"width > 500 ? {area} : {small}")
    mark = labelled.mark_point(filled=True, size=size, opacity=opacity, aria=False)
    return mark.encode(tooltip=tooltip)


def zero_line() -> altair.Chart:
    """A dashed vertical line where the horizontal axis is 0."""
    return altair.Chart(altair.InlineData([{}])).mark_rule(
        strokeDash=[4, 3], strokeWidth=1.2, opacity=0.7, aria=False
    ).encode(**theme.at(x=0))  # fmt: skip


def legend() -> altair.Legend:
    """The legend of kinds of targets: three columns, or two on a phone."""
    return altair.Legend(
        title="top target",
        orient="top",
        columns=altair.ExprRef("width > 400 ? 3 : 2"),
        symbolOpacity=1,
        offset=theme.ABOVE,
    )
