"""Which heads in lower layers a head reads, by the weights: for its queries, keys or values."""

import altair
import numpy as np

from report.figures.parts import choices, head_points, marking, theme
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label, largest
from report.figures.parts.layers import layered
from report.kinds.atlas.data import AtlasData
from report.text import number

ASPECT, PHONE_ASPECT = 1.9, 1.1

ROWS = "rows/{layer}-{head}.json"

BY = {"k": "keys", "q": "queries", "v": "values"}
"""Column -> what is made of what is read."""

NAMED = 3
"""Heads that are named, if they are clearly above chance."""

CLEAR = 2
"""How many times chance a score is that is named."""

DIGITS = 4


def title(data: AtlasData) -> str:
    return "Which heads a head reads"


def left_out(data: AtlasData) -> str:
    if reason := data.why_not_composed:
        return f"{reason[0].upper()}{reason[1:]}."
    if data.composition is None:
        return (
            "Which heads compose was not measured; say `composition: true`, and run "
            "`freeze --composition`."
        )
    return "" if data.layers > 1 else "A model of one layer has no head that could read another."


def caption(data: AtlasData) -> str:
    return (
        "A point is a head below: how much the chosen head reads of it.\n"
        "The composition score compares two matrices of weights, that by which one head writes and "
        "that by which the other makes its queries, keys or values. It does not depend on a text, "
        "and says what could be read, not what is. Norms count by their gains, positions do not "
        "count. The dashed line is chance: what is expected if the same matrices were turned "
        "against each other at random."
    )


def use(data: AtlasData) -> str:
    return (
        "Choose the head that reads, by the sliders or by a click on it in any figure, and what "
        "for. Click on a point to see what that head reads in its turn. Heads that are looked for "
        "in any figure stay bright. Where the page has a field that finds heads, drag over points, "
        "with a finger sideways: all figures mark these heads."
    )


def controls(data: AtlasData) -> list[Control | Switch]:
    top = largest(np.nan_to_num(data.composition.scores["k"]).max((2, 3)))
    layer = Control("layer", "Layer", 0, data.layers - 1, top.layer)
    head = Control("head", "Head", 0, data.heads - 1, top.head)
    return [layer, head, Switch("by", "Read for its", BY, "k")]


def chart(data: AtlasData, **state: int | str) -> altair.LayerChart:
    heads = altair.Chart(altair.NamedData("rows")).transform_calculate(
        score="datum[by]",
        x=f"datum.layer + (datum.head + 0.5) / {data.heads} * 0.8 - 0.4",
        named="'L' + datum.layer + 'H' + datum.head",
    )
    place = {
        "x": altair.X("x:Q", title="layer (index from 0)")
        .scale(domain=[-0.6, data.layers - 1.4], nice=False)
        .axis(grid=False, tickMinStep=1, format="d", tickCount=theme.ticks_across()),
        "y": altair.Y("score:Q", title=None).axis(tickCount=5),
    }
    points = heads.mark_circle(
        size=altair.ExprRef("width > 500 ? 46 : 26"),
        color=theme.themed(*theme.MASS.values()),
        opacity=marking.bright(0.85),
        stroke=altair.ExprRef("paper"),
        strokeWidth=0.6,
        aria=False,
    )
    once, chance = altair.Chart(altair.InlineData([{}])), theme.at(y=data.composition.baseline)
    rule = once.mark_rule(strokeDash=[4, 3], strokeWidth=1.4, aria=False)
    words = {"align": "right", "baseline": "bottom", "dy": -4, "fontSize": theme.TICK}
    names = {name: f"composition score for {what}" for name, what in BY.items()}
    tooltip = [
        altair.Tooltip("named:N", title="title"),
        *(altair.Tooltip(f"{name}:Q", title=what, format=".3f") for name, what in names.items()),
    ]
    return theme.frame(
        layered(
            rule.encode(**chance),
            points.encode(**place, tooltip=tooltip),
            *_names(heads, data.composition.baseline),
            *(
                mark.encode(**theme.place(x="width"), **chance)
                for mark in theme.halo(once.mark_text, text="chance", **words)
            ),
            marking.ring(heads, marking.HEAD, 130, 1.8).encode(
                x=altair.X("x:Q"), y=altair.Y("score:Q")
            ),
            theme.y_title(choices.chosen("by", names)),
        ),
        theme.Source(ROWS, "tables", ["rows"], tokens=None),
        description=f"{title(data)}: a scatter plot, a point a head",
        params=[
            altair.param(name="by", value=state["by"]),
            *marking.marked("layer", "head"),
            marking.found(),
        ],
        brush="points",
    )


def _names(heads, chance):
    """Names of the heads with the highest scores."""
    named = heads.transform_window(
        place="row_number()", sort=[altair.SortField("score", order="descending")]
    ).transform_filter(f"datum.place <= {NAMED} && datum.score > {CLEAR * chance}")
    return head_points.names(named, "x", "score", most=NAMED)


def rows(data: AtlasData, **state: int | str) -> dict[str, Rows]:
    scores = {name: data.composition.scores[name][state["layer"], state["head"]] for name in BY}
    return {
        "rows": [
            {"layer": layer, "head": head}
            | {name: round(float(values[layer, head]), DIGITS) for name, values in scores.items()}
            for layer, head in np.ndindex(state["layer"], data.heads)
        ]
    }


def seen(data: AtlasData, **state: int | str) -> str:
    """Which head it reads most, how much more than by chance, and which next."""
    reader = head_label(state["layer"], state["head"])
    if not state["layer"]:
        return f"No layer is below that of {reader}."
    scores = np.nan_to_num(data.composition.scores[state["by"]][state["layer"], state["head"]])
    top = largest(scores)
    scores = scores.copy()
    scores[top.layer, top.head] = -1
    next_ = largest(scores)
    second = f", then {next_.label} ({number(next_.value)})" if next_.value >= 0 else ""
    return (
        f"For its {BY[state['by']]}, {reader} reads {top.label} most ({number(top.value)})"
        f"{second}; chance gives {number(data.composition.baseline)}."
    )
