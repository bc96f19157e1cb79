"""What heads give to a fact, beside what they give to the same place of a text without it there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Needles:
    """What was measured of F facts at L lengths and D depths; float64."""

    given: np.ndarray
    """What tokens give to the fact: [F, L, D, layers, heads, 2]: those at which the answer is
    predicted, and those of the question."""
    elsewhere: np.ndarray
    """The same to its place while it stands at another depth."""
    chosen: Sequence[tuple[int, int]]
    """Layer and head of those that give most more to the first fact than to its place."""
    losses: np.ndarray
    """Of the answers, nats a token: [F, L, D + 1]; the last: of a text without the fact."""
    rises: np.ndarray
    """Of the answers but the first without the chosen heads, then without each set of random ones:
    [F - 1, L, D, 1 + sets]."""


def beside_elsewhere(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is given to a fact at each of n depths, and to that place while it stands elsewhere.

    shares: float [n, ..., n]; first: at which depth it stands; last: what is given to the tokens of
        each depth, as many as it has
    returns: float [n, ...] twice; the second: the mean over the n - 1 other texts
    """
    number = len(shares)
    given = np.stack([shares[at, ..., at] for at in range(number)])
    everywhere = np.moveaxis(shares.sum(0), -1, 0)
    return given, (everywhere - given) / (number - 1)


def error(values: np.ndarray) -> np.ndarray:
    """Standard error of the mean over the first axis."""
    return values.std(0, ddof=1) / np.sqrt(len(values))
