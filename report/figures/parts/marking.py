"""What a reader marks: a token or a head that stands out in all figures, pointed at or pinned."""

from collections.abc import Callable
from typing import Any

import altair as alt

from report.figures.parts import theme

MARKS = {"marked": [3, 2], "pinned": [1, 0]}
"""How a reader marks, by pointing or by pinning -> dash of the line that is drawn."""

HEAD = "datum.layer === marked_layer && datum.head === marked_head"
"""Whether a row is of the head that is pointed at."""


def marked(*names: str) -> list[alt.Parameter]:
    """The params by which the page marks a token or a head in all figures; -1 marks none."""
    return [alt.param(name=f"{how}_{name}", value=-1) for how in MARKS for name in names]


FOUND = "indexof(found, 'L' + datum.layer + 'H' + datum.head) >= 0"
"""Whether a row is of a head that a reader looks for, or drags over."""


def found() -> alt.Parameter:
    """The param by which the page says the names of these heads; none: all are as bright."""
    return alt.param(name="found", value=[])


def bright(usual: float, others: float = 0.12) -> alt.ExprRef:
    """The opacity of a head's mark: of these heads, or where there are none, and of all others."""
    return alt.ExprRef(f"length(found) && !({FOUND}) ? {others} : {usual}")


def either(condition: str) -> str:
    """Expression: a condition on params marked_..., or the same on params pinned_...."""
    return f"({condition}) || ({pinned(condition)})"


def pinned(condition: str) -> str:
    """The same condition on params pinned_... as on params marked_...."""
    return condition.replace("marked_", "pinned_")


def ring(
    chart: alt.Chart, condition: str, size: float, width: float = 1.6, heavier: float = 1.2
) -> alt.Chart:
    """Rings around the points of a chart for which a condition on params marked_... is true.

    size: area of a ring in pixels; width: of its dashed line
    heavier: by how much the solid ring of a pinned point is wider
    """
    here = pinned(condition)
    return chart.transform_filter(either(condition)).mark_point(
        size=size,
        filled=False,
        color=alt.ExprRef("ink"),
        strokeWidth=alt.ExprRef(f"{here} ? {width + heavier} : {width}"),
        strokeDash=alt.ExprRef(f"{here} ? [1, 0] : [3, 2]"),
        aria=False,
    )


def guides(
    param: str, *, clip: bool = False, **channels: Callable[[str], dict[str, Any]]
) -> list[alt.Chart]:
    """Lines at the value of a param marked_..., dashed, and at that of the pinned one, solid.

    clip: whether they end where the plot does
    channels: for each line, a function from an expression of the value to the line's channels
    """
    rules = []
    for how, dash in MARKS.items():
        name = param.replace("marked", how)
        for lines in channels.values():
            mark = alt.Chart(alt.InlineData([{}])).mark_rule(
                strokeWidth=1 if how == "marked" else 1.6,
                strokeDash=dash,
                opacity=theme.only(f"{name} >= 0"),
                aria=False,
                **({"clip": True} if clip else {}),
            )
            rules.append(mark.encode(**lines(f"max({name}, 0)")))
    return rules
