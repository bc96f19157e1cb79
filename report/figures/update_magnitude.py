"""How much each head changes the hidden state: length of its update, token by token."""

from report.figures.parts import histogram, updates
from report.figures.parts.histogram import boxes, use  # noqa: F401
from report.figures.parts.updates import controls, left_out, rows  # noqa: F401
from report.text import number


def title(data):
    return "Effect of Attention Head on Hidden State"


def caption(data):
    return (
        f"{updates.explained(data)} A value of 0.1 means that the head adds a vector a tenth as "
        f"long as the hidden state.{histogram.explained(data)}"
    )


def chart(data, **state):
    return histogram.chart(
        data,
        "update_magnitude",
        title(data),
        "magnitude",
        f"{updates.MAGNITUDE} (ratio)",
        state,
        maxbins=60,
    )


def alt(data, **state):
    return histogram.alt(data, "the update magnitude", "magnitude", state)


def seen(data, **state):
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
