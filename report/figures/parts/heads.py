"""A head with a number of it, and when it is the largest."""

from dataclasses import dataclass

import numpy as np

from report.datasets.read.heads import MeasuredHeads

LEAD = 0.01
"""The largest value leads if it exceeds the second largest by this fraction of itself."""


@dataclass(frozen=True)
class Head:
    """A head and a number of it."""

    layer: int
    head: int
    value: float
    leads: bool = True
    """Whether its value is the largest by `LEAD`."""

    @property
    def label(self) -> str:
        """The usual short name, counting from 0: "L5H1"."""
        return head_label(self.layer, self.head)

    @property
    def place(self) -> str:
        """The same in words, within a sentence: "head 1 of layer 5"."""
        return f"head {self.head} of layer {self.layer}"

    @property
    def state(self) -> dict[str, int]:
        """Where to set a figure's sliders to see it: `{{ figure("attention_map", **h.state) }}`."""
        return {"layer": self.layer, "head": self.head}


@dataclass(frozen=True)
class MagnitudeRatio:
    """Median update magnitudes of one head, or of a layer, by where it looks most."""

    layer: int
    first_token: float
    """Where the top target is the first token."""
    other: float
    """Where it is another token."""
    head: int | None
    """None: all heads of the layer together."""

    @property
    def label(self) -> str:
        """The usual short name of the head: "L5H1"."""
        return head_label(self.layer, self.head)

    @property
    def ratio(self) -> float:
        """first_token / other."""
        return self.first_token / max(self.other, 1e-12)


def head_label(layer: int, head: int) -> str:
    """The usual short name of a head, counting from 0: "L5H1"."""
    return f"L{layer}H{head}"


def largest(values: np.ndarray) -> Head:
    """The head with the largest of values [layer, head]; NaN is no value."""
    values = np.where(np.isnan(values), -np.inf, values)
    layer, head = np.unravel_index(np.argmax(values), values.shape)
    *others, value = np.sort(values, axis=None).tolist()
    leads = not others or value - others[-1] >= LEAD * abs(value) > 0
    return Head(int(layer), int(head), value, leads)


def ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each value, 1 for the smallest; ties have their mean rank."""
    _, place, number = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(number) - (number - 1) / 2)[place]


class HeadFindings:
    """What prose may say of the measures of heads, computed from their tables.

    measure: one of `data.measures`: those that ship and the publication's own, see "Measures"
    source: one of `data.sources`
    """

    def __init__(self, data: MeasuredHeads) -> None:
        self.data = data

    def values(self, measure: str, source: str = "corpus") -> np.ndarray:
        """A measure of every head, float [layer, head]; NaN for a head that it does not apply to.

        raises: ReportError for a measure that was not taken
        """
        return self.data.of_heads(measure, measure, source)

    def control(self, measure: str, source: str = "corpus") -> np.ndarray:
        """The same of even attention over what is visible, float [layer, head]."""
        return self.data.of_heads(f"even_{measure}", measure, source)

    def error(self, measure: str, source: str = "corpus") -> np.ndarray:
        """Standard error of the mean over texts, float [layer, head]; NaN for a single text."""
        return self.data.of_heads(f"error_{measure}", measure, source)

    def value(self, measure: str, at: Head, source: str = "corpus") -> float:
        """A measure of one head."""
        return float(self.values(measure, source)[at.layer, at.head])

    def strongest(self, measure: str, source: str = "corpus") -> Head:
        """The `Head` with the largest value of a measure."""
        return largest(self.values(measure, source))

    def count(self, measure: str, at_least: float, source: str = "corpus") -> int:
        """How many heads reach a value."""
        return int((self.values(measure, source) >= at_least).sum())

    def layer_means(self, measure: str, source: str = "corpus") -> list[float]:
        """Mean over the heads of every layer; NaN where a measure applies to none."""
        values = self.values(measure, source)
        known = ~np.isnan(values)
        number = np.maximum(known.sum(1), 1)
        means = np.where(known, values, 0).sum(1) / number
        return np.where(known.any(1), means, np.nan).tolist()
