"""What is measured on the conditions of a prompt, over any number of prompts, streamed.

Means over prompts and how far they can be trusted, added up prompt by prompt.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from report.errors import ReportError


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


COMPARED = ("lambda", "total_variation", "affine_error")
"""See `report.measurements.received`; each over current tokens that come after the filler."""
OVER_ROWS = ("mean", "last")
"""Over these current tokens: their mean, or the last one only."""


class Condition(Protocol):
    """What is asked of a condition: its name, and its label in figures."""

    name: str
    label: str


class PromptText(Protocol):
    """What is asked of a condition's text: its segments, and the tokens that cross their edges."""

    texts: dict[str, str]
    crossings: list

    @property
    def before_last(self) -> list[str]:
        """Names of the segments before the last that is a part of the prompt."""

    def span(self, name: str, whole: bool = True) -> range:
        """The tokens of a segment; not whole: those that begin in it."""


@dataclass(frozen=True)
class ConditionStatistics:
    """One condition of one or many prompts (L measured layers, H heads, P positions).

    name, label: of the condition
    first: the `SegmentedText` of the first prompt
    received: `Spread` of [3, L, H, P], what positions receive, in the order of REDUCTIONS
    compared: `Spread` of [3, 2, L, H], the filler's effect against the first condition, in the
        order of COMPARED and OVER_ROWS; NaN where it cannot be measured; None where the condition
        has no segment that the first condition lacks
    of_layers: `Spread` of [3, 2, L], as `compared`, averaged over heads within each prompt first
    positions: [P of the first condition], the position at which this condition has the same token;
        -1 where it has none, or not the same in every prompt
    fixed: dict of segment name to range, the segments that all prompts must have at one place:
        those before the last that is a part of the prompt, such as the question. Positions after
        its beginning are means over what prompts have there, also where a chat template goes on
    crossings: list of (number of the prompt from 0, `Crossing`)
    prompts: how many
    """

    name: str
    label: str
    first: PromptText
    received: Spread
    compared: Spread | None
    of_layers: Spread | None
    positions: list[int]
    fixed: dict[str, range]
    crossings: list[tuple[int, Any]]
    prompts: int = 1

    def merge(self, other: "ConditionStatistics") -> "ConditionStatistics":
        """The statistics of the prompts of both, those of `other` counted after (a new object).

        raises: ReportError if a segment before the last has another place: positions would be means
            over different things
        """
        for segment, span in self.fixed.items():
            if other.fixed.get(segment) != span:
                raise ReportError(
                    f"condition '{self.name}': segment '{segment}' is at tokens {_said(span)} in "
                    f"one prompt and {_said(other.fixed.get(segment))} in another; give it the "
                    "same number of tokens in all of them, or measure fewer prompts"
                )
        crossings = [(self.prompts + number, crossing) for number, crossing in other.crossings]
        return ConditionStatistics(
            self.name,
            self.label,
            self.first,
            self.received.merge(other.received),
            _both(self.compared, other.compared),
            _both(self.of_layers, other.of_layers),
            _common(self.positions, other.positions),
            self.fixed,
            self.crossings + crossings,
            self.prompts + other.prompts,
        )


def statistics_of(
    condition: Condition,
    text: PromptText,
    received: np.ndarray,
    compared: np.ndarray | None,
    positions: Iterable[int],
) -> ConditionStatistics:
    """The statistics of one prompt.

    condition: has name and label; text: its SegmentedText
    received: float [3, L, H, T]; compared: float [3, 2, L, H] or None; positions: as above
    """
    fixed = {name: text.span(name, whole=False) for name in text.before_last}
    return ConditionStatistics(
        condition.name,
        condition.label,
        text,
        Spread.of(received),
        None if compared is None else Spread.of(compared),
        None if compared is None else Spread.of(np.mean(compared, -1)),
        list(positions),
        fixed,
        [(0, crossing) for crossing in text.crossings],
    )


def _both(one, other):
    return None if one is None else one.merge(other)


def _said(span):
    return f"{span.start} to {span.stop - 1}" if span else "none"


def _common(one, other):
    """Where both agree; positions that only the longer prompts have are theirs."""
    longer = max(one, other, key=len)
    agreed = [a if a == b else -1 for a, b in zip(one, other, strict=False)]
    return agreed + longer[len(agreed) :]
