"""How finely scores are kept.

A small error of a score changes a probability by the probability times that error, so the score of
a small probability may be rounded coarsely.
"""

from collections.abc import Sequence

import numpy as np

PROBABILITY_ERROR = 0.0005
"""Largest |probability from the file - measured probability| that is accepted."""

STEPS = {
    "content": 0.002,
    "mixed": 0.002,
    "score": 0.002,
    "bias": 0.001,
    "position": 0.0001,
    "row_constant": 0.001,
}
"""Unit of the integers of each term, in units of score (natural logarithm)."""

CELL_STEP = 0.0005
"""Unit of RoPE's position term, and of those of positions in the embeddings, whose rounding errors
the content term corrects."""

LARGEST_SCORE = 2**29 * CELL_STEP
"""Largest term of a score that is kept. A browser reads integers of 32 bits, with a sign, in units
of `CELL_STEP` or coarser; products of queries and keys, and what is missing to them, may be up to
four times as large as a term on the way."""

CELL_COARSENING = ((0.01, 10), (0.0, 100))
"""Like COARSENING, for that term: it may be coarser, since its error is corrected."""

COARSENING = ((0.2, 1), (0.05, 2), (0.02, 5), (0.01, 10), (0.001, 50), (0.0, 100))
"""(lowest probability, multiple of the step): scores that hardly count are rounded coarsely."""

FINER = (
    COARSENING,
    ((0.1, 1), (0.03, 2), (0.01, 5), (0.001, 20), (0.0, 100)),
    ((0.05, 1), (0.02, 2), (0.01, 4), (0.001, 10), (0.0, 50)),
    ((0.02, 1), (0.01, 2), (0.001, 5), (0.0, 20)),
    ((0.0, 1),),
)
"""Tried in turn for each row, until PROBABILITY_ERROR holds in it."""

TOP_ERROR = 0.01
"""Largest error of a term at the largest targets of a row, in files of queries and keys."""

CELL_ERROR = 0.25
"""The same at other cells, which no figure shows singly and few readers point at."""

MISSING_STEPS = {"content": 0.02, "position": 0.001}
"""Units of what is missing in files of queries and keys."""

TENS = {"content": 1, "position": 10}
"""Of the largest targets most is missing in so many units; the rest is told of a few."""

TARGET_MULTIPLE = 10
"""Largest multiple for the largest targets of a row, which a figure shows singly."""


def multiples(
    probability: np.ndarray,
    largest_targets: np.ndarray,
    coarsening: Sequence[tuple[float, int]],
) -> np.ndarray:
    """The multiple of the step that each cell is rounded to, int [query, key].

    probability: float [query, key]; largest_targets: int [query, any number], -1 for none
    coarsening: as `COARSENING`
    """
    multiple = np.ones(probability.shape, np.int64)
    upper = np.inf
    for lower, coarse in coarsening:
        multiple[(probability >= lower) & (probability < upper)] = coarse
        upper = lower
    targets = np.asarray(largest_targets)
    rows, ranks = np.nonzero(targets >= 0)
    cells = rows, targets[rows, ranks]
    multiple[cells] = np.minimum(multiple[cells], TARGET_MULTIPLE)
    return multiple


def rounded(values: np.ndarray, step: float, multiple: int | np.ndarray = 1) -> np.ndarray:
    """The integers nearest to `values / step` that are whole multiples of `multiple`."""
    return np.rint(values / (step * multiple)).astype(np.int64) * multiple
