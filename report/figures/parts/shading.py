"""What the shade of a cell in an attention map tells: its probability or its score, and the ends of
the colours. The script's twins are in report/web/data/raster.js."""

import math

import numpy as np

from report.datasets.formats.attention import DecodedAttention

SHADES = {
    "probability": "probability",
    "below": "below row’s largest score",
    "score": "score",
}
"""What the shade of a cell may tell. Maps open on the first: there a dark cell always gets much."""

FAINTEST = 0.001
"""Probabilities run on a logarithmic scale from here to 1; what is lower has the first colour."""

DEEPEST = -8.0
"""Scores below the largest of their row run from here to 0, in nats: e^-8 is 0.03 %."""

PROBABILITIES = [math.log(share) for share in (0.001, 0.01, 0.1, 1)]
"""The marks of the legend, as logarithms."""

QUANTILES = (0.02, 0.98)
"""The colours of scores run between these quantiles; those beyond have the first or last colour."""

SAMPLE = 2048
"""The quantiles are taken from this many cells at most, so that a reader's browser is quick."""


def shaded(attention: DecodedAttention, shade: str) -> tuple[np.ndarray, tuple[float, float]]:
    """What the shade of each cell tells, and between which values the colours run.

    shade: one of `SHADES`
    returns: float64 [query, key], in nats, -inf where nothing is visible; (low, high)
    """
    score, seen = attention.capped, attention.visible.mask()
    if shade == "score":
        return score, score_range(attention)
    if shade == "below":
        return score - score.max(1, keepdims=True), (DEEPEST, 0.0)
    faintest = math.log(FAINTEST)
    probability = np.maximum(attention.probability, FAINTEST)  # no logarithm of 0
    return np.where(seen, np.log(probability), -np.inf), (faintest, 0.0)


def score_range(attention: DecodedAttention) -> tuple[float, float]:
    """(low, high): the scores between which the colours run."""
    scores = attention.capped[attention.visible.mask()]
    scores = np.sort(scores[:: -(-len(scores) // SAMPLE)])
    low, high = (float(scores[int(part * (len(scores) - 1))]) for part in QUANTILES)
    return low, max(high, low + 1e-6)
