"""What each head does over many texts, as sums that can be added.

All sums are of whole numbers, so they are the same in every bit in whatever order and groups texts
are added, on one machine or on many.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from report.errors import ReportError
from report.measurements.rows import Sums

UNIT = 2.0**-32
"""Sums over a text are counted in multiples of this."""

EVEN = "/even"
"""Ends the name of a measure's control: the same of even attention over what is visible."""

TEXTS, ROWS, TOTAL, ROWS_ROWS, ROWS_TOTAL, TOTAL_TOTAL = range(6)
"""What is summed over texts, for n rows of a text with a number and the sum s of these in multiples
of `UNIT`: 1 where n > 0, n, s, n², ns and s²."""


@dataclass
class HeadStatistics:
    """Sums over the rows of any number of texts; row 0 of a text is left out.

    In a decoder, row 0 sees one target only. In an encoder it sees all, but "itself" and "first
    token" are the same target there; it is left out to keep one definition.

    layers, heads: of the model
    sums: name of a measure, or of its control -> Python integers [6, layers, heads] (of a control
        [6, layers, 1]), see `TEXTS` and those after it
    rows, texts: how many rows (one per token but the first) and texts were counted
    """

    layers: int
    heads: int
    sums: dict[str, np.ndarray] = field(default_factory=dict)
    rows: int = 0
    texts: int = 0

    @classmethod
    def empty(cls, layers: int, heads: int, measures: Iterable[str] = ()) -> "HeadStatistics":
        """Nothing counted yet; measures: names."""
        zero = {1: _zeros(layers, 1), heads: _zeros(layers, heads)}
        sums = {}
        for name in measures:
            sums |= {name: zero[heads].copy(), name + EVEN: zero[1].copy()}
        return cls(layers, heads, sums)

    @classmethod
    def of_text(cls, sums: Sums, tokens: int) -> "HeadStatistics":
        """The statistics of one text of `tokens` tokens."""
        found = cls.empty(*sums.count.shape[1:], [measure.name for measure in sums.measures])
        found.rows, found.texts = tokens - 1, 1
        for place, measure in enumerate(sums.measures):
            found.sums[measure.name] = _of_text(sums.count[place], sums.total[place])
            even = sums.even_count[place], sums.even_total[place]
            found.sums[measure.name + EVEN] = _of_text(*even)
        return found

    def merge(self, other: "HeadStatistics") -> "HeadStatistics":
        """The statistics of both, as if they had been measured together (a new object).

        raises: ReportError if the two come from models of different shapes
        """
        mine, theirs = (self.layers, self.heads), (other.layers, other.heads)
        if mine != theirs or self.sums.keys() != other.sums.keys():
            raise ReportError(
                f"head statistics of {mine} and {theirs} (layers, heads) cannot be merged; merge "
                "measurements of one model and the same measures only"
            )
        sums = {name: values + other.sums[name] for name, values in self.sums.items()}
        return HeadStatistics(*mine, sums, self.rows + other.rows, self.texts + other.texts)

    def first_heads(self, number: int) -> "HeadStatistics":
        """The same of the first heads of each layer (a new object)."""
        sums = {name: value[..., :number].copy() for name, value in self.sums.items()}
        return HeadStatistics(self.layers, number, sums, self.rows, self.texts)

    @property
    def measures(self) -> list[str]:
        """The names of the measures."""
        return [name for name in self.sums if not name.endswith(EVEN)]

    def mean(self, name: str) -> np.ndarray:
        """Mean of a measure over all rows that it applies to, float64 [layers, heads].

        NaN where there is none. raises: ReportError if nothing was measured
        """
        _, rows, total, *_ = self._sums(name)
        return self._each(lambda n, s: s / n * UNIT if n else np.nan, rows, total)

    def error(self, name: str) -> np.ndarray:
        """Standard error of the mean over texts, float64 [layers, heads]; NaN for fewer than two.

        source: the ratio of two means, Cochran 1977, 6.4: texts are drawn, not tokens, so a text of
            n rows and sum s is off by s - n mean
        """
        return self._each(_error, *self._sums(name))

    def spread(self, name: str) -> np.ndarray:
        """How far texts are from the mean, a standard deviation weighted by their rows, float64
        [layers, heads]: the standard error times the square root of the number of texts."""
        texts = self._sums(name)[TEXTS].astype(float)
        return self.error(name) * np.sqrt(texts)

    def even(self, name: str) -> np.ndarray:
        """Mean of the control, float64 [layers, heads]: what even attention would give."""
        return np.broadcast_to(self.mean(name + EVEN), (self.layers, self.heads))

    def _sums(self, name):
        if not self.rows:
            raise ReportError("head statistics are empty; measure at least one text of 2 tokens")
        return self.sums[name]

    @staticmethod
    def _each(function: Callable[..., float], *sums: np.ndarray) -> np.ndarray:
        return np.frompyfunc(function, len(sums), 1)(*sums).astype(float)


def _zeros(layers, heads):
    return np.full((6, layers, heads), 0, dtype=object)


def _of_text(count, total):
    """The six sums of one text: rows with a number int64, and their sum float64, [layer, head]."""
    rows = count.numpy().astype(object)
    units = np.frompyfunc(int, 1, 1)(np.rint(total.numpy() / UNIT))
    texts = (count.numpy() > 0).astype(int).astype(object)
    return np.stack([texts, rows, units, rows * rows, rows * units, units * units])


def _error(texts, rows, total, rows_rows, rows_total, total_total):
    """The standard error of one head's mean; whole numbers until the end, so nothing cancels."""
    if texts < 2:
        return np.nan
    squares = rows**2 * total_total - 2 * rows * total * rows_total + total**2 * rows_rows
    return (squares / rows**4 * texts / (texts - 1)) ** 0.5 * UNIT
