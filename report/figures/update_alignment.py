"""Which way each head pushes the hidden state: along it, across it, or against it."""

import altair
import numpy as np

from report.figures.parts import histogram, updates
from report.kinds.passage.data import PassageData
from report.text import number, percent

use, boxes = histogram.use, histogram.boxes
controls, left_out, rows = updates.controls, updates.left_out, updates.rows


def title(data: PassageData) -> str:
    return "Orientation of Updates"


def caption(data: PassageData) -> str:
    return (
        "A row is a head: which way its updates point. Right of 0 they strengthen what is there, "
        f"left of 0 they weaken it, at 0 they add something new.\n{updates.explained(data)}\n"
        f"Orientation is the cosine of the angle between u and x.{histogram.explained(data)}"
    )


def chart(data: PassageData, **state: int) -> altair.LayerChart:
    return histogram.chart(
        data,
        "alignment",
        state,
        description=f"{title(data)}: histogram over tokens, a row a head",
        axis=f"{updates.ALIGNMENT} (−1 to 1)",
        zero_rule=True,
        maxbins=40,
    )


def seen(data: PassageData, **state: int) -> str:
    """On which side of 0 most updates lie, and the heads that are farthest out."""
    heads, _ = histogram.medians(data, "alignment", state)
    against = float(np.mean(updates.points(data, state)["alignment"] < 0))
    side = (
        "left of 0, against the hidden state"
        if against >= 0.5
        else "right of 0, along the hidden state"
    )
    said = f"Of the updates, {percent(max(against, 1 - against))} lie {side}."
    low, high = int(heads.argmin()), int(heads.argmax())
    if heads[low] == heads[high]:
        return said
    return (
        f"{said} Head {low} is farthest to the left (median {number(heads[low])}), head {high} "
        f"farthest to the right ({number(heads[high])})."
    )
