"""How finely the files of heads keep scores, and the probabilities that follow from them.

A small error of a score changes a probability by the probability times that error, so the score of
a small probability may be rounded coarsely.
"""

import numpy as np

PROBABILITY_ERROR = 0.0005
"""Largest |probability from the file - measured probability| that is accepted."""

TOP_ERROR = 0.01
"""Largest error of a term of cells at the largest targets of a row."""

CELL_ERROR = 0.1
"""The same at other cells, which no figure shows singly: who points at one sees one decimal."""

ROTARY_CELL_ERROR = 0.25
"""The same where a rotation makes two terms of the products, both of which have to be right."""

STEPS = {"bias": 0.001, "position": 0.0001, "row_constant": 0.001}
"""Unit of the integers of each term of single tokens, in units of score (natural logarithm)."""

NEAR_STEP = 0.15
"""The same of integers that say nearly what a term is, cell by cell."""

MISSING_STEPS = {"term": 0.02, "rest": 0.001}
"""Units of what is missing: to a term of cells, and to the rest and so to scores."""

TENS = {"term": 1, "rest": 10}
"""Of the largest targets most is missing in so many units; what remains is told of a few."""

LARGEST_SCORE = 2**28 / 1000
"""Largest term of a score that is kept: more than twice what models have, and a browser reads
integers of 32 bits, with a sign, in units of 0.001 or coarser. What is worked out of several terms
may be up to four times as large."""


def rounded(values: np.ndarray, step: float) -> np.ndarray:
    """The integers nearest to `values / step`."""
    return np.rint(values / step).astype(np.int64)
