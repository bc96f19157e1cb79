"""The plane of two score terms: one to the right, one upwards, and the line where both are equal.

Both axes begin at 0, the smallest value of a term in its row.
"""

from collections.abc import Iterable

import altair

from report.figures.parts import score_terms, theme


def params() -> list[altair.Parameter]:
    """The params that these layers need: none."""
    return []


def place(axes: Iterable[str]) -> dict[str, str]:
    """Expressions for the fields x and y of a point: the heights of the two terms."""
    across, up = axes
    return {"x": f"datum.height_{across}", "y": f"datum.height_{up}"}


def position(x: str, y: str) -> dict[str, altair.X | altair.Y]:
    """Channels for two fields in units of score."""
    scale = altair.Scale(zero=True, nice=False, padding=8)
    return {"x": altair.X(f"{x}:Q", scale=scale), "y": altair.Y(f"{y}:Q", scale=scale)}


def layers(axes: dict[str, str]) -> list[altair.Chart]:
    """The line on which both terms are equal, as far as the points reach.

    axes: dict of the two terms to their names; the layer brings the titles of both axes
    """
    across, up = axes
    ends = (
        altair.Chart(altair.NamedData("points"))
        .transform_aggregate(right=f"max(height_{across})", top=f"max(height_{up})")
        .transform_calculate(zero="0", end="min(datum.right, datum.top)")
    )
    line = ends.mark_rule(strokeDash=[5, 4], strokeWidth=1.2, opacity=0.7, aria=False)
    name = theme.dashes("both are equal", strokeWidth=1.2, opacity=0.7)
    x, y = (
        channel("zero:Q", title=f"{score_terms.short(axes[term])}, above minimum (score)").axis(
            titleColor=theme.themed(*theme.of_term(term)),
            titleFontWeight=600,
            tickCount=ticks,
            format=".2~f",
        )
        for channel, term, ticks in (
            (altair.X, across, theme.ticks_across()),
            (altair.Y, up, 6),
        )
    )
    return [line.encode(x=x, x2=altair.X2("end:Q"), y=y, y2=altair.Y2("end:Q")), *name]
