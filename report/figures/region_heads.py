"""How much each head gives to its own region of a text, and to where regions begin and end."""

import altair
import numpy as np

from report.datasets.formats.regions import SHARES
from report.figures.parts import (
    choices,
    grid,
    head_sorted,
    marking,
    over_models,
    rank_lines,
    theme,
)
from report.figures.parts.choices import Switch
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label, largest
from report.figures.parts.layers import layered
from report.kinds.regions.data import RegionsData
from report.text import percent

COLUMNS = head_sorted.COLUMNS

PARAM = "share"

NUMBER = ".1%"

EVEN = "even attention"
"""What the dashed line is."""


def title(data: RegionsData) -> str:
    return f"Attention {{{PARAM}}}"


def _options(data):
    return {
        "same": f"within {data.what}",
        "first": f"to first tokens of {data.what}",
        "last": f"to last tokens of {data.what}",
    }


def caption(data: RegionsData) -> str:
    return (
        "A point or a cell is a head.\nIts value is the share of its attention that goes where the "
        "title says, the mean over all tokens but the text’s first. The text’s first token is no "
        "first token here: many heads look at it whatever it says. A token between two borders is "
        "both, a first and a last one. The dashed line is what even attention gives, the same to "
        "every token that a token can see. A line joins the values of one rank from "
        "layer to layer; it does not follow one head."
    )


def use(data: RegionsData) -> str:
    return (
        "The switch leads to another share. Point at a head to read it, beside even attention; "
        "click on it, and other figures show that head."
    )


def controls(data: RegionsData) -> list[Switch]:
    return [Switch(PARAM, "Attention", _options(data), "same"), head_sorted.control()]


def panels(data: RegionsData) -> list[str]:
    return head_sorted.TITLES


def boxes(data: RegionsData) -> list[grid.Box]:
    return head_sorted.boxes()


def legends(data: RegionsData) -> list[list[dict[str, str]]]:
    return [[{"label": EVEN, "mark": "dash", "wide": True} | theme.INK]]


def chart(data: RegionsData, panel: int = 0, **state: str) -> altair.LayerChart:
    heads = altair.Chart(altair.NamedData("heads")).transform_calculate(
        **{name: f"datum[{PARAM} + '_{name}']" for name in ("value", "rank", "even")}
    )
    heads, tooltip = rank_lines.told(heads, data.heads, "rank", "value", NUMBER)
    tooltip = [*tooltip, altair.Tooltip("even:Q", title=EVEN, format=NUMBER)]
    drawn = (
        head_sorted.layers(data, heads, "value", None, NUMBER, tooltip)
        if panel
        else _lines(data, heads, tooltip)
    )
    return theme.frame(
        drawn,
        theme.Source(over_models.ROWS, "tables", ["heads"], tokens=None),
        description=f"{data.what} by head: {('heads sorted', 'a map of heads')[panel]}",
        params=[
            *choices.params({PARAM: state[PARAM]}),
            *marking.marked("layer", "head"),
            marking.found(),
        ],
        brush=["layer", "head" if panel else "value"],
        walk=["layer", "head" if panel else "rank"],
    )


def _lines(data, heads, tooltip):
    x = rank_lines.layer_axis(data)
    y = altair.Y("value:Q", title="share of attention").scale(zero=True, nice=False, padding=18)
    y = y.axis(format=".0%", tickCount=6)
    even = heads.transform_filter("datum.head === 0").mark_line(
        strokeDash=[5, 4], strokeWidth=1.6, color=altair.ExprRef("ink"), aria=False
    )
    return layered(
        *rank_lines.sorted_lines(data, heads, x, y, "rank", tooltip),
        even.encode(x=x, y=altair.Y("even:Q")),
        *rank_lines.marked_head(heads, x, y),
    )


def rows(data: RegionsData, panel: int = 0, **state: str) -> dict[str, Rows]:
    """A row a head, with what `chart` asks for of each share."""
    columns = {}
    for name in SHARES:
        value = data.of_heads(name)
        columns |= {
            f"{name}_value": value,
            f"{name}_rank": np.argsort(np.argsort(value, axis=1, kind="stable"), axis=1),
            f"{name}_even": data.of_heads(f"even_{name}"),
        }
    return {
        "heads": [
            {"layer": layer, "head": head}
            | {name: values[layer, head].item() for name, values in columns.items()}
            for layer, head in np.ndindex(data.layers, data.heads)
        ]
    }


def seen(data: RegionsData, **state: str) -> str:
    """The head that gives most, what even attention gives there, and what half of all give."""
    share = state[PARAM]
    values, even = data.of_heads(share), data.of_heads(f"even_{share}")
    top = largest(values)
    return (
        f"{head_label(top.layer, top.head)} gives most {_options(data)[share]}: "
        f"{percent(top.value)}, where even attention gives "
        f"{percent(float(even[top.layer, top.head]))}. Half of all {values.size} heads give "
        f"{percent(float(np.median(values)))} or less."
    )


def alt(data: RegionsData, panel: int = 0, **state: str) -> str:
    how = "a cell a head" if panel else f"the {data.heads} heads of each layer sorted"
    return f"What heads give to {data.what}, by layer, {how}. {seen(data, **state)}"
