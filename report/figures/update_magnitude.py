"""How much each head changes the hidden state: length of its update, token by token."""

import altair

from report.figures.parts import histogram, updates
from report.kinds.passage.data import PassageData
from report.text import number

use, boxes = histogram.use, histogram.boxes
controls, left_out, rows = updates.controls, updates.left_out, updates.rows


def title(data: PassageData) -> str:
    return "Magnitude of Updates"


def caption(data: PassageData) -> str:
    return (
        f"A row is a head: how long its updates are.\n{updates.explained(data)}\nA value of 0.1 "
        f"means a vector a tenth as long as the hidden state.{histogram.explained(data)}"
    )


def chart(data: PassageData, **state: int) -> altair.LayerChart:
    return histogram.chart(
        data,
        "magnitude",
        state,
        description=f"{title(data)}: histogram over tokens, a row a head",
        axis=f"{updates.MAGNITUDE} (ratio)",
        maxbins=60,
    )


def seen(data: PassageData, **state: int) -> str:
    """How long half of the updates are at most, and the heads with the longest and the shortest."""
    heads, middle = histogram.medians(data, "magnitude", state)
    said = f"Half of all updates are shorter than {number(middle)} times the hidden state."
    low, high = int(heads.argmin()), int(heads.argmax())
    if heads[low] == heads[high]:
        return said
    return (
        f"{said} Head {high} writes most (median {number(heads[high])}), head {low} least "
        f"({number(heads[low])})."
    )
