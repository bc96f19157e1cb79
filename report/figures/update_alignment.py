"""Which way each head pushes the hidden state: along it, across it, or against it."""

from report.figures import _histogram, _updates
from report.figures._histogram import ASPECT, PHONE_ASPECT  # noqa: F401
from report.figures._updates import controls, left_out, rows  # noqa: F401


def title(data):
    return "Attention Impact Orientation"


def caption(data):
    return (
        f"{_updates.explained(data)} Right of 0 the head strengthens the direction that the "
        "hidden state already has, left of 0 it weakens it, and at 0 it adds something new. "
        f"{_histogram.choosing(data)}"
    )


def chart(data, **state):
    return _histogram.chart(
        data,
        "update_alignment",
        title(data),
        "alignment",
        f"{_updates.ALIGNMENT} (−1 to 1)",
        state,
        zero_rule=True,
        maxbins=40,
    )


def alt(data, **state):
    return _histogram.alt(data, "the cosine of update and hidden state", "alignment", state)
