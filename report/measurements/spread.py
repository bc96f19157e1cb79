"""Means over prompts and how far they can be trusted, added up prompt by prompt."""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Spread:
    """Mean and squared deviations of values with one entry a position (P of them, last axis).

    Prompts may have different lengths: position p is the mean over those that have it.

    count: int64 [P], how many values each position has
    mean: float64 [..., P]
    squares: float64 [..., P], squared deviations from the mean, added up
    """

    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, values: ArrayLike) -> "Spread":
        """The spread of one prompt's values, [..., P]."""
        mean = np.array(values, np.float64)
        return cls(np.ones(mean.shape[-1], np.int64), mean, np.zeros_like(mean))

    def merge(self, other: "Spread") -> "Spread":
        """The spread of the values of both (a new object), in whatever order they came.

        source: Chan, Golub and LeVeque 1983
        """
        length = max(len(self.count), len(other.count))
        one, two = self._padded(length), other._padded(length)
        count = one.count + two.count  # at least one has any position
        step = two.mean - one.mean
        mean = one.mean + step * (two.count / count)
        squares = one.squares + two.squares + step**2 * (one.count * two.count / count)
        return Spread(count, mean, squares)

    @functools.cached_property
    def standard_error(self) -> np.ndarray:
        """Standard deviation over the root of the number, [..., P]; NaN for a single value."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.sqrt(self.squares / (self.count - 1) / self.count)

    def _padded(self, length):
        more = length - len(self.count)
        wide = [(0, 0)] * (self.mean.ndim - 1) + [(0, more)]
        return Spread(
            np.pad(self.count, (0, more)), np.pad(self.mean, wide), np.pad(self.squares, wide)
        )
