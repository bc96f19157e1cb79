"""Two lines over the same tokens as their difference, with a switch back to both.

Lines that nearly lie on each other hide what was asked: what an addition changes.
"""

import altair

from report.figures.parts import choices, marking, theme
from report.figures.parts.received import Y_TITLE, Line

PARAM = "drawn"
DRAWN = {"difference": "the difference", "both": "both lines"}
IS_DIFFERENCE = f"{PARAM} === 'difference'"


def control(wide: bool = False) -> choices.Switch:
    """The switch between the difference and both lines, which are two looks of the same values.

    wide: see `choices.Switch`
    """
    return choices.Switch(PARAM, "Drawn as", DRAWN, "difference", look=True, wide=wide, seldom=True)


def legend(lines: list[Line], entries: list[dict[str, str]]) -> list[dict[str, str]]:
    """The legend of a row: `entries` of both lines, each shown while it is drawn, and the other."""
    light, dark = theme.MASS["light"], theme.MASS["dark"]
    label = f"{lines[1].label}\u00a0\u2212 {lines[0].label}"
    difference = {"label": label, "mark": "line", "light": light, "dark": dark}
    return [
        *({**entry, "drawn": "both"} for entry in entries),
        {**difference, "drawn": "difference"},
    ]


def both(table: altair.Chart) -> altair.Chart:
    """The rows of both lines while these are drawn, else none."""
    return table.transform_filter(f"!({IS_DIFFERENCE})")


def layers(table: altair.Chart, lines: list[Line], x: altair.X, param: str) -> list[altair.Chart]:
    """The difference, while it is drawn: an area from 0, its edge, and a point where it is marked.

    table: of rows with condition, position and mean; param: of the marked position
    A position that one of the prompts lacks has no difference.
    """
    first, second = (line.condition for line in lines)
    found = (
        table.transform_filter(IS_DIFFERENCE)
        .transform_calculate(signed=f"datum.condition === {second!r} ? datum.mean : -datum.mean")
        .transform_joinaggregate(
            [
                altair.JoinAggregateFieldDef(op="sum", field="signed", **{"as": "sum"}),
                altair.JoinAggregateFieldDef(op="valid", field="mean", **{"as": "known"}),
            ],
            groupby=["position"],
        )
        .transform_filter(f"datum.condition !== {first!r}")
        .transform_calculate(difference="datum.known === 2 ? datum.sum : null")
    )
    colour = theme.themed(theme.MASS["light"], theme.MASS["dark"])
    y = altair.Y("difference:Q", title=None).axis(tickCount=5, minExtent=30)
    here = f"datum.position === {param} && isValid(datum.difference)"
    point = {"filled": True, "size": 70, "opacity": 1, "stroke": altair.ExprRef("paper")}
    area = found.mark_area(color=colour, opacity=0.35, aria=False)
    line = found.mark_line(color=colour, strokeWidth=1.8, aria=False)
    marked = found.transform_filter(marking.either(here))
    return [
        area.encode(x=x, y=y, y2=altair.Y2(datum=0)),
        line.encode(x=x, y=y),
        marked.mark_point(**point, color=colour, aria=False).encode(x=x, y=y),
    ]


def title() -> altair.Chart:
    """The title of the vertical axis, which follows the switch."""
    return theme.y_title(
        choices.chosen(PARAM, {"difference": f"Change of {Y_TITLE}", "both": Y_TITLE})
    )
