"""What each region of a text gives to each earlier one, in one head."""

import altair
import numpy as np

from report.datasets.formats.regions import FAR, HEAD, MAP
from report.figures.parts import region_names, theme
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.figures.parts.layers import layered
from report.kinds.regions.data import RegionsData
from report.text import percent

ASPECT, PHONE_ASPECT = 1.0, 0.82


def title(data: RegionsData) -> str:
    return "What looks at what: layer {layer}, head {head}"


def caption(data: RegionsData) -> str:
    return (
        "A row looks, a column is looked at.\nA cell is the probability that one of the "
        f"{data.what}, the row, gives to all tokens of another, the mean over its own. A row sums "
        "to 1, or to what a sink of the head leaves. Much may go to the first one, "
        "since it has the first token of the text; shades are stretched, so that small "
        "shares are seen beside it."
    )


def use(data: RegionsData) -> str:
    return (
        "Point at a cell, or use the arrow keys, to read both texts and the share. The sliders, or "
        "a click on a head in another figure, lead to another head."
    )


controls = region_names.controls


def chart(data: RegionsData, **state: int) -> altair.LayerChart:
    table = altair.Chart(altair.NamedData("map")).transform_calculate(
        share=f"datum['{HEAD.format('')}' + head]",
        query_text=region_names.texts(data, "query"),
        key_text=region_names.texts(data, "key"),
    )
    place = {"orient": "top", "offset": theme.ABOVE}
    if not data.sees_later:  # in the empty triangle
        left = altair.ExprRef("width - max(134, width * 0.3)")
        place = {"orient": "none", "legendX": left, "legendY": 8}
    legend = altair.Legend(
        title="probability",
        **place,
        direction="horizontal",
        gradientLength=altair.ExprRef("max(124, width * 0.25)"),
        labelOverlap="greedy",
        gradientThickness=10,
        gradientOpacity=1,
        values=[0, 0.01, 0.1, 1],
        labelExpr="format(datum.value, '~%')",
    )
    colour = altair.Color("share:Q", legend=legend).scale(
        type="pow", exponent=0.3, domain=[0, 1], **theme.ramp(theme.SCORE_RAMP)
    )
    axes = {
        "x": region_names.across(data, "key", "is looked at (its place, from 0)"),
        "y": region_names.down(data, "query", "looks"),
    }
    tooltip = [
        altair.Tooltip("share:Q", title="probability", format=".2%"),
        altair.Tooltip("query_text:N", title="of"),
        altair.Tooltip("key_text:N", title="on"),
    ]
    cells = table.mark_rect(aria=False).encode(**axes, color=colour, tooltip=tooltip)
    return theme.frame(
        layered(cells),
        theme.Source(MAP, "tables", ["map"], tokens=None),
        description=f"{title(data)}: a map of {data.what}",
        params=[altair.param(name="head", value=state["head"])],
        walk=["key", "query"],
    )


def rows(data: RegionsData, **state: int) -> dict[str, Rows]:
    return {"map": theme.records(data.map(state["layer"]))}


def seen(data: RegionsData, **state: int) -> str:
    """Which one of those far enough back the head gives most, and what it gives to the first."""
    shares = data.between(state["layer"], state["head"])
    name, first = head_label(state["layer"], state["head"]), float(shares[1:, 0].mean())
    back = np.tril(shares, -FAR)[:, 1:]
    query, key = np.unravel_index(back.argmax(), back.shape)
    return (
        f"At least {FAR} back, {name} looks most from number {query} at number {key + 1}: "
        f"{percent(float(back[query, key]))}. The first of the {data.what} gets "
        f"{percent(first)} in the mean."
    )
