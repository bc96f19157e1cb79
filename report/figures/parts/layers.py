"""Charts drawn over each other, made without Altair's copies.

An `altair.LayerChart` copies each of its layers twice or more when it is made, to lift selections
out of them. It is made anew whenever it is given a scale, framed or written, and with it every
chart of layers in it. That was most of the work of making a chart.
"""

from collections.abc import Iterable
from typing import Any

import altair
from altair import Undefined


class Layers(altair.LayerChart):
    """An `altair.LayerChart` that leaves its layers as they are."""

    def __init__(self, data: Any = Undefined, layer: Iterable = (), **kwargs: Any) -> None:
        # not that of LayerChart, which copies
        altair.TopLevelLayerSpec.__init__(self, data=data, layer=list(layer), **kwargs)


def layered(*charts: altair.Chart | altair.LayerChart) -> altair.LayerChart:
    """Charts over each other, the first at the bottom: the specification of `altair.layer`.

    None of them may have a selection: that is a param of the whole, and names the layer it is in.
    """
    data = charts[0].data
    if data is Undefined or any(chart.data is not data for chart in charts):
        return Layers(layer=charts)
    bare = [chart.copy(deep=False) for chart in charts]
    for chart in bare:
        chart.data = Undefined  # that of the whole
    return Layers(data, bare)
