"""Which regions of a text heads come back to, and how uneven each head is in it."""

import altair
import numpy as np

from report.figures.parts import grid, marking, region_names, theme
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.figures.parts.layers import layered
from report.kinds.regions.data import RegionsData
from report.text import count, number

COLUMNS = 5

ROWS = "rows/{layer}-{head}.json"

LOOKS = {
    "a receiver head": ("triangle-up", *theme.TERMS["bias"]),
    "another head": ("circle", *theme.MASS.values()),
}
"""Kinds of heads -> (shape, colour on light, colour on dark)."""

HALVES = {"even": ("triangle-left", "received_even"), "odd": ("triangle-right", "received_odd")}
"""Half of the regions that look -> the shape of its mark, its column."""

NAMED = 2
"""Receiver heads that are named, the most uneven first."""

DIGITS = 4


def title(data: RegionsData) -> str:
    return f"Which {data.what} heads come back to"


def left_out(data: RegionsData) -> str:
    if np.isnan(data.of_heads("unevenness")).all():
        return "No head looks far enough back for what is received to be counted."
    return ""


def caption(data: RegionsData) -> str:
    return (
        f"A point is a head; a bar, what one of the {data.what} gets from it.\nCounted is "
        "the attention that one gets from those at least four later, over what one of its "
        "length would get from this head at these distances: at 1, the dashed line, it is as much "
        "as expected. Upwards among the heads is how uneven the bars of a head are (excess "
        "kurtosis). To the right is how reliable they are: they are counted twice, once from every "
        "even-numbered one that looks back and once from every odd-numbered one, and this is the "
        "correlation of both counts (Pearson’s). Triangles beside a bar are the two counts. The "
        f"first of the {data.what} and the last ones have no bar."
    )


def use(data: RegionsData) -> str:
    return (
        "Click on a head, and the bars are its own, also in other figures of one head. Point at a "
        "bar to read the text."
    )


controls = region_names.controls


def panels(data: RegionsData) -> list[str]:
    return ["All heads", "What is received: layer {layer}, head {head}"]


def boxes(data: RegionsData) -> list[grid.Box]:
    widths = [grid.GRID_WIDTH * span // COLUMNS for span in (2, 3)]
    return [
        grid.Box(width / 350, 1.1, width, span) for width, span in zip(widths, (2, 3), strict=True)
    ]


def chart(data: RegionsData, panel: int = 0, **state: int) -> altair.LayerChart:
    return theme.frame(
        _bars(data) if panel else _heads(data),
        theme.Source(ROWS, "tables", ["rows"], tokens=None),
        description=f"{title(data)}: {('a point a head', 'a bar a region')[panel]}",
        params=marking.marked("layer", "head"),
        **({"walk": ["region", "part"]} if panel else {}),
    )


def _heads(data):
    table = altair.Chart(altair.NamedData("rows"))
    place = {
        "x": altair.X("reliability:Q", title="reliability (correlation of two halves)")
        .scale(zero=False, nice=False, padding=16)
        .axis(tickCount=theme.ticks_across()),
        "y": altair.Y("unevenness:Q", title="unevenness (excess kurtosis)")
        .scale(zero=False, nice=False, padding=16)
        .axis(tickCount=6, minExtent=30),
    }
    legend = altair.Legend(
        title=None, orient="top", direction="horizontal", symbolOpacity=1, offset=theme.ABOVE
    )
    points = table.mark_point(
        filled=True, size=56, opacity=0.85, stroke=altair.ExprRef("paper"), strokeWidth=0.6,
        aria=False,
    )  # fmt: skip
    here = "datum.layer === marked_layer && datum.head === marked_head"
    named = table.transform_filter(f"datum.place < {NAMED}")
    at_end = "scale('x', datum.reliability) > width - 50"
    style = {
        "align": altair.ExprRef(f"{at_end} ? 'right' : 'left'"),
        "dx": altair.ExprRef(f"{at_end} ? -8 : 8"),
        "baseline": "middle",
        "fontSize": theme.TICK,
        "fontWeight": 600,
    }
    return layered(
        points.encode(
            **place,
            **theme.kind_scales(legend, LOOKS),
            tooltip=[altair.Tooltip("told:N", title="title")],
        ),
        *(
            mark.encode(**place, text=altair.Text("named:N"))
            for mark in theme.halo(named.mark_text, **style)
        ),
        marking.ring(table, here, 170, 1.8).encode(
            x=altair.X("reliability:Q"), y=altair.Y("unevenness:Q")
        ),
    )


def _bars(data):
    table = altair.Chart(altair.NamedData("rows")).transform_calculate(
        text=region_names.texts(data, "region")
    )
    axis = altair.Axis(title=f"which of the {data.what} (index from 0)", **region_names.LOOKS)
    x = altair.X("region:O", axis=axis, scale=altair.Scale(domain=region_names.places(data)))
    y = altair.Y("value:Q", title="received, over what is expected").scale(padding=18)
    y = y.axis(tickCount=5, minExtent=30)
    whole = table.transform_filter("datum.part === 'all'")
    tooltip = [
        altair.Tooltip("value:Q", title="received, over what is expected", format=".2f"),
        altair.Tooltip("part:N", title="by those that look"),
        altair.Tooltip("text:N", title="text"),
    ]
    colour = theme.themed(*theme.MASS.values())
    bars = whole.mark_bar(color=colour, opacity=0.75, aria=False)
    halves = [
        table.transform_filter(f"datum.part === '{name}'")
        .mark_point(shape=shape, size=26, filled=True, color=altair.ExprRef("ink"), aria=False)
        .encode(x=x, y=y, tooltip=tooltip)
        for name, (shape, _) in HALVES.items()
    ]
    top = whole.transform_window(
        order="row_number()", sort=[altair.SortField("value", order="descending")]
    ).transform_filter("datum.order === 1")
    late = f"datum.region > {len(data.regions) / 2}"
    style = {
        "align": altair.ExprRef(f"{late} ? 'right' : 'left'"),
        "dx": altair.ExprRef(f"{late} ? -8 : 8"),
        "limit": altair.ExprRef("width * 0.7"),
        "fontSize": theme.TICK,
        "fontWeight": 600,
    }
    name = altair.Text("text:N")
    rule = altair.Chart(altair.InlineData([{}])).mark_rule(strokeDash=[4, 3], aria=False)
    return layered(
        bars.encode(x=x, y=y, tooltip=tooltip),
        *halves,
        rule.encode(**theme.at(y=1)),
        *(mark.encode(x=x, y=y, text=name) for mark in theme.halo(top.mark_text, **style)),
    )


def rows(data: RegionsData, panel: int = 0, **state: int) -> dict[str, Rows]:
    return {"rows": _of_head(data, state["layer"], state["head"]) if panel else _of_heads(data)}


def _of_heads(data):
    uneven, alike = (data.of_heads(name) for name in ("unevenness", "reliability"))
    places = {place: at for at, place in enumerate(data.receivers)}
    kinds = list(LOOKS)
    return [
        {
            "layer": layer,
            "head": head,
            "named": head_label(layer, head),
            "kind": kinds[(layer, head) not in places],
            "place": places.get((layer, head), len(places) + NAMED),
            "unevenness": round(float(uneven[layer, head]), DIGITS),
            "reliability": round(float(alike[layer, head]), DIGITS),
            "told": f"{head_label(layer, head)}: unevenness {number(uneven[layer, head])}, "
            f"reliability {number(alike[layer, head])}",
        }
        for layer, head in np.ndindex(uneven.shape)
        if not np.isnan(uneven[layer, head] + alike[layer, head])
    ]


def _of_head(data, layer, head):
    columns = {"all": "received"} | {name: column for name, (_, column) in HALVES.items()}
    values = {part: data.received(column)[layer, head] for part, column in columns.items()}
    return [
        {"region": region, "part": part, "value": round(float(of[region]), DIGITS)}
        for region in range(len(data.regions))
        for part, of in values.items()
        if not np.isnan(of[region])
    ]


def seen(data: RegionsData, **state: int) -> str:
    """Which the head comes back to most, and how uneven and how reliable it is."""
    place = state["layer"], state["head"]
    scores, name = data.received()[place], head_label(*place)
    if np.isnan(scores).all():
        return f"{name} does not look so far back."
    top = int(np.nanargmax(scores))
    uneven, alike = (float(data.of_heads(each)[place]) for each in ("unevenness", "reliability"))
    times = number(float(scores[top]))
    words = f"{name} comes back most to number {top}, {times} times as much as expected."
    if np.isnan(uneven + alike):
        return words
    return f"{words} Its unevenness is {number(uneven)}, its reliability {number(alike)}."


def alt(data: RegionsData, panel: int = 0, **state: int) -> str:
    if panel:
        known = int((~np.isnan(data.received()[0, 0])).sum())
        return f"{count(known, 'bar')}, one for each of the {data.what}. {seen(data, **state)}"
    heads = len(_of_heads(data))
    chosen = count(len(data.receivers), "receiver head")
    return f"{count(heads, 'point')}, a head each, {chosen} among them. {seen(data, **state)}"
