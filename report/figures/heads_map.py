"""All heads by their places, layers x heads, coloured by any measure, over many texts."""

import json

import altair
import numpy as np

from report.figures.parts import all_measures, choices, head_sorted, marking, over_models, theme
from report.figures.parts.choices import Switch
from report.figures.parts.heads import HeadFindings
from report.kinds.atlas.data import AtlasData

ASPECT, PHONE_ASPECT = 1.6, 0.95

OPENS = ("lost", "induction", "prefix_matching")
"""Measures that it opens at, the first that was taken."""


finds, rows = all_measures.finds, all_measures.rows


def title(data: AtlasData) -> str:
    return "Map of heads: {measure}"


def caption(data: AtlasData) -> str:
    return (
        "A cell is a head; its colour is a measure of your choice.\nColours go from the lowest to "
        "the highest value of all heads, which are written where cells are wide enough. "
        f"{all_measures.control_words(data)}"
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
    return [
        Switch("measure", "Coloured by", options, opens[0]),
        Switch("source", "Measured on", data.sources, "corpus", seldom=True),
    ]


def chart(data: AtlasData, **state: str) -> altair.LayerChart:
    heads = all_measures.table({"value": "measure"}, data).transform_filter("isValid(datum.value)")
    formats = json.dumps({name: _format(words) for name, words in data.words.items()})
    tooltip = [altair.Tooltip("told:N", title="title")]
    return theme.frame(
        head_sorted.layers(data, heads, "value", None, f"{formats}[measure]", tooltip),
        theme.Source(over_models.ROWS, "tables", ["rows"], tokens=None),
        description="Heads by layer and place in it: a map, a cell a head",
        params=[
            *choices.params(state),
            *marking.marked("layer", "head"),
            marking.found(),
        ],
        walk=["layer", "head"],
        brush=["layer", "head"],
    )


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
