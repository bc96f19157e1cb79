"""A map whose cells have a sign: a mark that points up speaks for what is asked, one that points
down against it, and its area says how much.

What is small stays small, so that the few cells that matter are seen among hundreds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import altair

from report.figures.parts import marking, theme

FOR, AGAINST = "for", "against"

SIGNS = {
    FOR: ("triangle-up", *theme.TERMS["content"]),
    AGAINST: ("triangle-down", *theme.TERMS["bias"]),
}
"""Sign -> (shape, colour on light, colour on dark)."""

RAMP = {
    "light": ["#8f2c06", "#e9926a", "#f4f2ee", "#8a93d6", "#1d2675"],
    "dark": ["#f2a278", "#9a4a24", "#22252f", "#4a58a5", "#a9b8fb"],
}
"""Of cells that are filled, from what is against to what is for: paper in the middle."""

DUST = 0.05
"""Part of the largest value below which a cell has no mark: it would be a speck."""

FULL = 0.94
"""Part of its cell that the largest mark fills from side to side."""


@dataclass(frozen=True)
class Cells:
    """The cells of a map: discrete channels, and how many columns and rows there are at most."""

    x: altair.X
    y: altair.Y
    columns: int
    rows: int

    @property
    def side(self) -> str:
        """Expression: the shorter side of a cell, in pixels."""
        return f"min(width / {self.columns}, height / {self.rows})"


def ground(
    table: altair.Chart, cells: Cells, tooltip: Sequence[altair.Tooltip], **look: object
) -> altair.Chart:
    """The grounds of all cells, which have the tooltip.

    look: instead of paper with a hairline around it
    """
    plain = {"fill": altair.ExprRef("paper"), "stroke": theme.themed(*theme.FAINT.values())}
    mark = table.mark_rect(strokeWidth=0.7, aria=False, **plain | look)
    return mark.encode(x=cells.x, y=cells.y, tooltip=list(tooltip))


def marks(
    table: altair.Chart,
    cells: Cells,
    legend: altair.Legend | None,
    colour: altair.ExprRef | None = None,
) -> altair.Chart:
    """The marks of cells.

    table: of rows with `value`, and `size`, its part of the largest value from 0 to 1; below `DUST`
    there is no mark
    colour: of all of them; None: by their sign
    """
    channels = theme.kind_scales(legend, SIGNS)
    if colour is not None:
        del channels["color"]
    return (
        table.transform_filter(f"datum.size >= {DUST}")
        .transform_calculate(kind=f"datum.value < 0 ? '{AGAINST}' : '{FOR}'")
        .mark_point(
            filled=True,
            opacity=1,
            strokeWidth=0,
            size=altair.ExprRef(f"datum.size * pow({FULL} * {cells.side}, 2)"),
            aria=False,
            **({} if colour is None else {"color": colour}),
        )
        .encode(x=cells.x, y=cells.y, **channels)
    )


def legend(above: str = FOR, below: str = AGAINST) -> altair.Legend:
    """What the two marks stand for, above the map."""
    return altair.Legend(
        title=None,
        orient="top",
        direction="horizontal",
        symbolOpacity=1,
        offset=theme.ABOVE,
        labelExpr=f"datum.label === '{FOR}' ? '{above}' : '{below}'",
    )


def marked(table: altair.Chart, cells: Cells, condition: str) -> altair.Chart:
    """A frame around the cells that a reader marks, dashed, or pins, solid.

    condition: on params marked_...
    """
    here = marking.pinned(condition)
    frame = table.transform_filter(marking.either(condition)).mark_rect(
        fill=None,
        stroke=altair.ExprRef("ink"),
        strokeWidth=altair.ExprRef(f"{here} ? 2.8 : 1.6"),
        strokeDash=altair.ExprRef(f"{here} ? [1, 0] : [3, 2]"),
        aria=False,
    )
    return frame.encode(x=cells.x, y=cells.y)


def names(table: altair.Chart, cells: Cells, late: str) -> list[altair.Chart]:
    """The names of cells that have one as `name`: above their marks where cells are high enough,
    so that no other mark is covered; else beside them.

    late: expression, whether a row is so far to the right that its name reaches to the left
    """
    named = table.transform_filter("datum.name !== ''").transform_calculate(late=late)
    above, half = f"height / {cells.rows} - {cells.side} > {theme.TICK}", f"{cells.side} / 2"
    return [
        mark.encode(x=cells.x, y=cells.y, text=altair.Text("name:N"))
        for mark in theme.halo(
            named.mark_text,
            align=altair.ExprRef("datum.late ? 'right' : 'left'"),
            dx=altair.ExprRef(f"(datum.late ? -1 : 1) * ({above} ? -({half}) : 2 + {half})"),
            dy=altair.ExprRef(f"{above} ? -1 - {half} : 0"),
            baseline=altair.ExprRef(f"{above} ? 'bottom' : 'middle'"),
            fontSize=theme.TICK,
            fontWeight=600,
        )
    ]
