"""How figures name the regions of a text: on axes by their first words, on pointing whole."""

import json

import altair

from report.figures.parts.choices import Control
from report.kinds.regions.data import RegionsData

LOOKS = {"domain": False, "ticks": False, "labelOverlap": "greedy"}

BELOW = LOOKS | {"labelAngle": -90, "labelAlign": "right", "labelBaseline": "middle"}
"""Options of a horizontal axis."""

LONGEST = 160
"""Characters of a region that are named on pointing, at most."""


def controls(data: RegionsData) -> list[Control]:
    """Layer and head, at the first receiver head."""
    layer, head = next(iter(data.receivers), (data.layers // 2, 0))
    return [
        Control("layer", "Layer", 0, data.layers - 1, layer),
        Control("head", "Head", 0, data.heads - 1, head),
    ]


def across(data: RegionsData, field: str, title: str) -> altair.X:
    """The channel of regions to the right."""
    axis = altair.Axis(title=title, labelExpr=labels(data), labelLimit=118, **BELOW)
    return altair.X(f"{field}:O", axis=axis, scale=altair.Scale(domain=places(data)))


def down(data: RegionsData, field: str, title: str) -> altair.Y:
    """The channel of regions from the top."""
    # as wide as Vega thinks, and some more for other fonts
    limit, least = (altair.ExprRef(f"width > 420 ? {a} : {b}") for a, b in ((112, 56), (134, 72)))
    room = {"labelLimit": limit, "minExtent": least}
    axis = altair.Axis(title=title, labelExpr=labels(data), **room, **LOOKS)
    return altair.Y(f"{field}:O", axis=axis, scale=altair.Scale(domain=places(data)))


def places(data: RegionsData) -> list[int]:
    """All regions, in order."""
    return [region.index for region in data.regions]


def labels(data: RegionsData) -> str:
    """Expression: what the axis calls a region."""
    return f"{json.dumps([region.label for region in data.regions])}[datum.value]"


def texts(data: RegionsData, field: str) -> str:
    """Expression: the text of the region in a field, with its place."""
    cut = [
        f"{each.index}: {each.text[:LONGEST]}{'…' if len(each.text) > LONGEST else ''}"
        for each in data.regions
    ]
    return f"{json.dumps(cut)}[datum.{field}]"
