"""The part of an attention map that is shown: all of it, until a reader looks closer.

The page's script (report/web/figure/zoom.js) sets the params, and draws an overview of all beside
the plot, or below it on a phone. Legends move there, since the part may fill the triangle in which
they stand.
"""

import altair

from report.datasets.formats.visible import Visible

SHOWN = {"width": "part_columns", "height": "part_rows"}
"""Expressions: how many tokens the axis of a length reaches over."""

FIRST = {"width": "part_left", "height": "part_top"}
"""Expressions: the token at which it begins."""

ENDS = {length: f"{FIRST[length]} + {count}" for length, count in SHOWN.items()}
"""Expressions: the token before which it ends."""

DOMAINS = {
    length: [altair.ExprRef(FIRST[length]), altair.ExprRef(end)] for length, end in ENDS.items()
}
"""Domains of the scales."""

APART = 17
"""Pixels between the names of tokens, so that as many are named as can be read."""

LEGEND_WITHIN = "width - max(legend_width + 16, 134)"
"""Expression: where legends begin that stand in the triangle of later tokens."""

LEGEND_LEFT = f"aside == 'right' ? width + 16 : aside == 'below' ? 150 : {LEGEND_WITHIN}"
"""Expression: where they begin in a map whose parts may be shown, then beside the plot."""

LEGEND_TOP = "(aside == 'right' ? 176 : aside == 'below' ? height + 104 : 0)"
"""Expression: and how far down."""


def params(visible: Visible) -> list[altair.Parameter]:
    """The params of a map of which all is shown.

    They are part_top and part_left, the first row and the first column that are shown; part_rows
    and part_columns, how many; and aside: where the overview is, "right", "below" or "".
    """
    size = len(visible.first)
    values = {"part_top": 0, "part_left": 0, "part_rows": size, "part_columns": size, "aside": ""}
    return [
        *(altair.param(name=name, value=value) for name, value in values.items()),
        altair.param(
            name="legend_width",
            expr="aside == 'right' ? 150 : clamp(width * 0.28, 108, 190)",
        ),
    ]


def within(mark: altair.Chart, length: str) -> altair.Chart:
    """Runs of tokens along an axis, as far as they lie in the part: rows with first and end."""
    begin, count = FIRST[length], SHOWN[length]
    return mark.transform_calculate(
        first=f"max(datum.first, {begin})", end=f"min(datum.end, {begin} + {count})"
    ).transform_filter("datum.end > datum.first")
