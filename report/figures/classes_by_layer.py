"""What heads give to a class of tokens of a table, head by head and layer by layer."""

import altair

from report.figures.parts import choices, marking, rank_lines, target_classes, theme
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.heads import largest
from report.figures.parts.layers import layered
from report.kinds.table.data import TableData
from report.text import percent


def title(data: TableData) -> str:
    return "Where the probability goes: {target}, as {rendering}"


def caption(data: TableData) -> str:
    joined = ""
    if data.layers > 1:
        joined = ", and a line joins the values of one rank; it does not follow one head"
    lines = (
        ". Lines join the highest of each layer, the second highest, and so on" if joined else ""
    )
    return (
        f"A point is a head{lines}. Its height is the "
        "probability that it gives to one class of targets, in the mean over the tokens of all "
        "cells that have a cell above. At each layer the heads are "
        f"sorted by their value{joined}. The highest has its name above it. The dashed line is "
        "uniform attention, the class’s share of the tokens that can be seen: a class of many "
        "tokens lies high by chance alone."
    )


def use(data: TableData) -> str:
    return (
        "Point at a value to read which head has it. Choose a class and a way to write the table; "
        "each has a scale of its own."
    )


def controls(data: TableData) -> list[Control | Switch]:
    classes, renderings = target_classes.present(data), target_classes.renderings(data)
    first = "same_column" if "same_column" in classes else next(iter(classes))
    return [
        Switch("target", "Targets", classes, first),
        Switch("rendering", "Table written as", renderings, next(iter(renderings)), seldom=True),
    ]


def chart(data: TableData, **state: str) -> altair.LayerChart:
    shown = altair.Chart(altair.NamedData("heads")).transform_filter(
        "datum.target === target && datum.rendering === rendering"
    )
    x, y = rank_lines.layer_axis(data), _y()
    told = shown.transform_calculate(times="datum.even > 0 ? datum.probability / datum.even : null")
    told, named = rank_lines.told(told, data.heads, "rank", "probability", ".1%")
    tooltip = [
        *named,
        altair.Tooltip("even:Q", title="uniform attention", format=".1%"),
        altair.Tooltip("times:Q", title="times even", format=".2f"),
    ]
    lines, *points = rank_lines.sorted_lines(data, told, x, y, "rank", tooltip)
    return theme.frame(
        layered(
            lines,
            _even(data, shown, x),
            *points,
            *theme.dashes("uniform attention", strokeWidth=1.6, color=altair.ExprRef("ink")),
            *rank_lines.marked_head(shown, x, y),
        ),
        theme.Source("class_shares.json", "tables", ["heads"]),
        description="Probability of a class of targets by layer, heads sorted",
        shows={"heads": [["target", "=", "{target}"], ["rendering", "=", "{rendering}"]]},
        params=[
            *choices.params(state),
            *marking.marked("layer", "head"),
            marking.found(),
        ],
        walk=["layer", "rank"],
    )


def _y():
    y = altair.Y("probability:Q", title="probability, mean over tokens")
    # A chart keeps the room for labels that it begins with, so there is room for every class.
    y = y.scale(zero=True, nice=False, padding=14)
    return y.axis(format=".2~%", tickCount=6)


def _even(data, shown, x):
    """What uniform attention would give, from edge to edge."""
    # The value is the same for all heads of a layer, so one head stands for all. A single layer
    # gets a tick, since a line needs two.
    first = shown.transform_filter("datum.rank === 0")
    style = {"color": altair.ExprRef("ink"), "aria": False}
    if data.layers == 1:
        mark = first.mark_tick(thickness=1.6, size=60, orient="horizontal", **style)
    else:
        mark = first.mark_line(strokeDash=[5, 4], strokeWidth=1.6, **style)
    return mark.encode(x=x, y=altair.Y("even:Q"))


def rows(data: TableData, **state: str) -> dict[str, Rows]:
    """The table "heads" of all classes and renderings, whatever the state."""
    return {"heads": theme.records(data.class_shares)}


def seen(data: TableData, **state: str) -> str:
    """The head that gives the class most, and how many go well beyond uniform attention."""
    values = data.shares(state["target"], state["rendering"])
    even = data.even(state["target"], state["rendering"])
    top, total = largest(values), values.size
    named = target_classes.named(state["target"])
    written = target_classes.renderings(data)[state["rendering"]]
    said = (
        f"In the {written}, {top.label} gives {percent(top.value)} to {named}. Uniform attention "
        f"would give {percent(even[top.layer])}."
    )
    if total == 1:
        return said
    beyond = int((values > 1.5 * even[:, None]).sum())
    how_many = {0: "No head goes", 1: "It alone goes", total: f"All {total} heads go"}
    return (
        f"{said} {how_many.get(beyond, f'{beyond} of the {total} heads go')} beyond one and a half "
        "times uniform attention; the dashed line is uniform attention itself."
    )
