"""One head's attention as figures see it, whatever file it is from; and how scores enter softmax.

score_ij = sum of the terms        probability_ij = exp(cap(score_ij) - log_normalizer_i)
cap(x) = softcap * tanh(x / softcap), or x in a model without a softcap
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats.attention_terms import DecodedTerm
from report.datasets.formats.visible import Visible

if TYPE_CHECKING:
    from report.measurements.visible import Visible as Ranges

RANKS = 11
"""Largest targets that a file lists of a row."""


@dataclass(frozen=True)
class Softmax:
    """How the scores of a head become probabilities."""

    visible: Ranges | None = None
    """Which cells are visible; None is causal."""
    softcap: float | None = None
    """Bound of the scores, or None."""
    sink: float | None = None
    """A score that takes part in every softmax without being a target, or None."""

    def log_normalizer(self, score: np.ndarray) -> np.ndarray:
        """Logarithm of the sum that the softmax divides by, float64 [query].

        score: float64 [query, key], within the softcap, -inf where nothing is visible
        """
        largest = score.max(1) if self.sink is None else np.maximum(score.max(1), self.sink)
        total = np.exp(score - largest[:, None]).sum(1)
        if self.sink is not None:
            total = total + np.exp(self.sink - largest)
        return largest + np.log(total)

    def as_json(self, ranges: Visible) -> dict:
        """What a file states of it: only what differs from plain causal attention.

        ranges: `visible`, with causal attention filled in
        """
        optional = {
            "visible": None if ranges.is_causal else ranges.as_json(),
            "softcap": self.softcap,
            "sink": self.sink,
        }
        return {name: value for name, value in optional.items() if value is not None}


@dataclass(frozen=True)
class DecodedAttention:
    """One head's attention over a passage of T tokens, as a reader's browser sees it."""

    layer: int
    head: int
    terms: dict[str, DecodedTerm]
    score: np.ndarray
    """float64 [query, key], the sum of the terms; -inf where nothing is visible."""
    probability: np.ndarray
    """float64 [query, key], in [0, 1]; a row sums to 1, less what the sink takes."""
    marker_count: np.ndarray
    """int [query]: the fewest largest targets that hold half of the row's probability; 11 where
    that takes more."""
    largest_targets: np.ndarray
    """int [query, 11]: targets by falling probability, -1 where the row has no more."""
    ranges: Visible | None = None
    """Which cells are visible; None is causal."""
    softcap: float | None = None
    """Bound of the scores, or None."""
    sink: float | None = None
    """A score that takes part in every softmax without being a target, or None."""
    log_normalizer: np.ndarray | None = None
    """float64 [query], logarithm of the sum that the softmax divides by, the sink included; None
    only of what was not read from a file."""

    @property
    def visible(self) -> Visible:
        """`ranges`, with causal attention filled in."""
        return Visible.of(self.ranges, len(self.score))

    @property
    def capped(self) -> np.ndarray:
        """What enters the softmax, float64 [query, key]: `score` within the softcap."""
        return cap(self.score, self.softcap)


def cap(score: np.ndarray, softcap: float | None) -> np.ndarray:
    """softcap * tanh(score / softcap), or the score itself where `softcap` is None."""
    if softcap is None:
        return score
    return np.where(np.isneginf(score), -np.inf, softcap * np.tanh(score / softcap))
