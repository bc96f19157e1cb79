"""The attention of one head in two models over one text (schema attention-pair/1).

Each is an attention/4 dataset, written cell by cell, so that a probability is within
`rounding.PROBABILITY_ERROR` of the measured one and a difference within twice that.
"""

from report.datasets.formats import attention, rounding
from report.datasets.formats.attention import DecodedAttention
from report.errors import ReportError

SCHEMA, FILE = "attention-pair/1", "maps/{}.json"
"""{}: place of the head among those that have one, from 0."""

ERROR = 2 * rounding.PROBABILITY_ERROR
"""How far a difference of two probabilities may be off."""

LONGEST = 64
"""Tokens of a text whose attention is kept, at most: a file grows with their square, and a longer
map has tokens too small to be read."""


def encode(reference: dict, model: dict) -> dict:
    """The attention-pair/1 dataset of a head; reference, model: its attention/4 datasets."""
    return {"schema": SCHEMA, "reference": reference, "model": model}


def decode(dataset: dict) -> tuple[DecodedAttention, DecodedAttention]:
    """The head's attention in the reference, and in the model.

    raises: ReportError as `attention.decode`, or if the two are not of one head or one text
    """
    first, second = (attention.decode(dataset[name]) for name in ("reference", "model"))
    if (first.layer, first.head) != (second.layer, second.head):
        raise ReportError("it has the attention of two heads, not of one head in two models")
    if (
        first.score.shape != second.score.shape
        or (first.visible.mask() != second.visible.mask()).any()
    ):
        raise ReportError("the two models do not see the same targets in it")
    return first, second
