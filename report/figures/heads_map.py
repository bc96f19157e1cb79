"""All heads by their places, layers x heads, coloured by any measure, over many texts."""

import json

import altair
import numpy as np

from report.figures.parts import all_measures, choices, head_sorted, marking, over_models, theme
from report.figures.parts.choices import Switch
from report.figures.parts.groups import groups
from report.figures.parts.heads import HeadFindings
from report.figures.parts.layers import layered
from report.kinds.atlas.data import AtlasData

ASPECT, PHONE_ASPECT = 1.6, 0.95

COLOUR = "colour"
COLOURS = {"measure": "measure", "group": "group of like heads"}
"""What colours may stand for, where there are groups."""

PALE = 0.45, 0.35
"""Opacity of the colour of a group, on light and on dark, so that its number can be read on it."""

OPENS = ("lost", "induction", "prefix_matching")
"""Measures that it opens at, the first that was taken."""


finds, rows = all_measures.finds, all_measures.rows


def title(data: AtlasData) -> str:
    return "Map of heads: {measure}"


def caption(data: AtlasData) -> str:
    grouped = ", or its group" if groups(data)[0] else ""
    return (
        f"A cell is a head; its colour is a measure of your choice{grouped}.\nColours go "
        "from the lowest to the highest value of all heads, which are written where cells are wide "
        "enough. "
        f"{all_measures.group_words(data)}{all_measures.control_words(data)}"
    )


def use(data: AtlasData) -> str:
    return (
        "Choose a measure. Click on a head, and figures of one head show it. Drag over heads, with "
        "a finger sideways, or write what they do, or where they are, such as “layer 3–5”: all "
        "figures mark them."
    )


def controls(data: AtlasData) -> list[Switch]:
    options = {name: words.title for name, words in data.words.items()}
    opens = [*(name for name in OPENS if name in options), *options]
    colour = Switch(COLOUR, "Coloured by", COLOURS, "measure", look=True)
    return [
        Switch("measure", "Measure", options, opens[0]),
        *([colour] if groups(data)[0] else []),
        Switch("source", "Measured on", data.sources, "corpus", seldom=True),
    ]


def chart(data: AtlasData, **state: str) -> altair.LayerChart:
    heads = all_measures.table({"value": "measure"}, data).transform_filter("isValid(datum.value)")
    formats = json.dumps({name: _format(words) for name, words in data.words.items()})
    tooltip = [altair.Tooltip("told:N", title="title")]
    shown = f"{COLOUR} === 'measure'" if groups(data)[0] else "true"
    drawn = head_sorted.layers(data, heads, "value", None, f"{formats}[measure]", tooltip, shown)
    return theme.frame(
        layered(drawn, *_groups(data)) if groups(data)[0] else drawn,
        theme.Source(over_models.ROWS, "tables", ["rows"], tokens=None),
        description="Heads by layer and place in it: a map, a cell a head",
        params=[
            *choices.params(state),
            *marking.marked("layer", "head"),
            marking.found(),
        ],
        walk=["layer", "head"],
        brush=["layer", "head"],
        groups=all_measures.group_names(data),
    )


def _groups(data):
    """Cells over those of the measure, where colours stand for groups: the number of its group
    stands in each."""
    table = all_measures.table({"value": "measure"}, data)
    table = table.transform_filter(f"{COLOUR} === 'group'").transform_calculate(
        told="datum.told + (isValid(datum.group) ? ', in group ' + datum.group : ', in no group')"
    )
    cells, edges = head_sorted.cells_of(data, table)
    ground = cells.mark_rect(
        color=altair.ExprRef("paper"), stroke=altair.ExprRef("paper"), strokeWidth=1.5, aria=False
    )
    colour = altair.Fill("group:Q", legend=None)  # a scale of its own, beside that of the measure
    colour = colour.scale(domain=[1, len(groups(data)[0])], **theme.ramp(theme.RANK_RAMP))
    pale = f"(dark ? {PALE[1]} : {PALE[0]})"
    cell = cells.mark_rect(
        opacity=marking.bright(1, 0.3),
        fillOpacity=altair.ExprRef(f"isValid(datum.group) ? {pale} : 0"),
        stroke=altair.ExprRef(f"{marking.FOUND} ? ink : null"),
        aria=False,
    )
    grouped = cells.transform_filter("isValid(datum.group)")
    number = grouped.mark_text(
        fontSize=theme.TICK,
        fontWeight=600,
        baseline="middle",
        aria=False,
        opacity=marking.bright(1, 0.3),
    )
    axes = {"x": altair.X("layer:Q"), "y": altair.Y("head:Q")}
    return [
        ground.encode(**edges),
        cell.encode(**edges, fill=colour, tooltip=[altair.Tooltip("told:N", title="title")]),
        number.encode(**axes, text=altair.Text("group:Q", format="d")),
        head_sorted.around(cells, edges),
    ]


def _format(words):
    return ".0%" if "%" in words.number else ".2~f"


def seen(data: AtlasData, **state: str) -> str:
    """Who is highest, and in which layers the mean is highest and lowest."""
    of, words = HeadFindings(data), data.words[state["measure"]]
    values = of.values(state["measure"], state["source"])
    if np.isnan(values).all():
        return ""
    top = of.strongest(state["measure"], state["source"])
    said = f"{top.label} is highest in “{words.title}”, {words.as_text(top.value)}."
    means = np.array(of.layer_means(state["measure"], state["source"]))
    if np.isnan(means).any() or np.ptp(means) == 0:
        return said
    high, low = int(means.argmax()), int(means.argmin())
    return (
        f"{said} The mean of a layer is highest in layer {high} ({words.as_text(means[high])}) and "
        f"lowest in layer {low} ({words.as_text(means[low])})."
    )
