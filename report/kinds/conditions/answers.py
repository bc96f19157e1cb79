"""How a model answers questions under conditions, with paired differences and their intervals."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from report.datasets.formats.answers import FILE, column, decode
from report.datasets.read.model import ModelData
from report.errors import ReportError
from report.text import isolated

RESAMPLES = 4000
"""Times that questions are drawn again for an interval, with a fixed seed."""

INTERVAL = 0.95
"""The part of the resampled means that lies inside an interval."""

MEASURES = ("log_probability", "right")


def opened(paths: Iterable[Path]) -> "list[ModelAnswers]":
    """The data of folders, one a model."""
    return [ModelAnswers(path) for path in paths]


def verify(data: "list[ModelAnswers]") -> None:
    """ReportError if a table lacks a column, has one too many, or an impossible number."""
    for one in data:
        one.require_columns()


@dataclass(frozen=True)
class Interval:
    """A mean over questions, and where 95 % of the means of resampled questions lie."""

    value: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether 0 lies outside."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Cell:
    """All questions under a condition, with a filler of one length."""

    name: str
    label: str
    tokens: int
    """Of the filler, with the end of its line."""


class ModelAnswers(ModelData):
    """The answers of one model."""

    kind = "answers"

    def __init__(self, path: Path | str, labels: dict[str, str] | None = None):
        """labels: name of a condition -> what the article calls it now"""
        super().__init__(path)
        self._labels = labels or {}

    @property
    def about(self) -> dict:
        """The manifest's "answers": instruction, how answers begin, whether in a chat, seed."""
        return self.manifest["answers"]

    @functools.cached_property
    def cells(self) -> list[Cell]:
        """Every condition with a filler, at every length; without the prompt as it is."""
        return [
            Cell(cell["name"], self._label(cell), cell["tokens"])
            for cell in self.about["cells"]
            if cell["tokens"]
        ]

    def _label(self, cell):
        return isolated(self._labels.get(cell["name"], cell["label"]))

    @property
    def conditions(self) -> dict[str, str]:
        """Name of each condition -> its label, in order."""
        return {cell.name: cell.label for cell in self.cells}

    @property
    def lengths(self) -> list[int]:
        """How many tokens fillers have, smallest first."""
        return sorted({cell.tokens for cell in self.cells})

    @property
    def attended(self) -> Cell | None:
        """The cell of which is known what answers give to the filler; None if of none."""
        known = {(c["name"], c["tokens"]) for c in self.about["cells"] if c["shares"]}
        return next((cell for cell in self.cells if (cell.name, cell.tokens) in known), None)

    def require_columns(self) -> None:
        """Read the table; ReportError if a column is missing or too many, or a number is none."""
        _ = self._columns

    @functools.cached_property
    def _columns(self):
        return self._decode(FILE, decode, self.about)

    @property
    def kinds(self) -> np.ndarray:
        """The kind of each question, str [questions]."""
        return self._columns["kind"]

    @property
    def texts(self) -> list[str]:
        """The questions."""
        return [isolated(text) for text in self._columns["question"].tolist()]

    @property
    def right_answers(self) -> list[int]:
        """The right answers."""
        return self._columns["answer"].tolist()

    def values(self, measure: str, condition: str = "none", tokens: int = 0) -> np.ndarray:
        """Of every question: "log_probability" in nats, "right" (0 or 1), or the "share".

        raises: ReportError if that was not measured
        """
        name = column(measure, condition, tokens)
        if name not in self._columns:
            raise ReportError(
                f"{name!r} was not measured of {self.name}; ask for a condition and a length that "
                "were."
            )
        return np.asarray(self._columns[name], float)

    def differences(self, measure: str, condition: str, tokens: int) -> np.ndarray:
        """Of every question, what it has more with the filler than without."""
        return self.values(measure, condition, tokens) - self.values(measure)

    def mean(
        self, measure: str, condition: str = "none", tokens: int = 0, kind: str | None = None
    ) -> Interval:
        """The mean over questions, of a kind or of all."""
        return interval(self._of(kind, self.values(measure, condition, tokens)))

    def difference(
        self, measure: str, condition: str, tokens: int, kind: str | None = None
    ) -> Interval:
        """The mean of the `differences` over questions, of a kind or of all."""
        return interval(self._of(kind, self.differences(measure, condition, tokens)))

    def _of(self, kind, values):
        return values if kind is None else values[self.kinds == kind]

    def correlation(self, kind: str | None = None) -> Interval:
        """Of the attended cell: rank correlation of what the answer gives to the filler with how
        much more probable the filler makes it, over questions of a kind or all."""
        cell = self.attended
        share = self._of(kind, self.values("share", cell.name, cell.tokens))
        more = self._of(kind, self.differences("log_probability", cell.name, cell.tokens))
        drawn = rank_correlations(share, more, _picks(len(share)))
        return Interval(rank_correlation(share, more), *_ends(drawn))


def interval(values: np.ndarray) -> Interval:
    """The mean of values, float [n], and its bootstrap interval."""
    return _interval(np.ascontiguousarray(values, float).tobytes())


@functools.cache  # figures and sentences ask for the same ones at every state
def _interval(content):
    values = np.frombuffer(content)
    means = values[_picks(len(values))].mean(1)
    return Interval(float(values.mean()), *_ends(means))


@functools.cache
def _picks(number):
    """Indices of resampled questions, int [RESAMPLES, number]: the same for every comparison."""
    return np.random.default_rng(0).integers(number, size=(RESAMPLES, number))


def _ends(means):
    outside = (1 - INTERVAL) / 2
    low, high = np.quantile(means, [outside, 1 - outside])
    return float(low), float(high)


def rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's rank correlation, -1 to 1; ties share a rank; 0 where all values are equal."""
    return float(rank_correlations(one, other, np.arange(len(one))[None])[0])


def rank_correlations(one: np.ndarray, other: np.ndarray, picks: np.ndarray) -> np.ndarray:
    """The `rank_correlation` of what each row of indices picks of both, float [rows].

    picks: int [rows, n]
    """
    ranks = [_ranks(values, picks) for values in (one, other)]
    spread = [rank - rank.mean(1, keepdims=True) for rank in ranks]
    lengths = np.prod([np.linalg.norm(each, axis=1) for each in spread], axis=0)
    products = (spread[0] * spread[1]).sum(1)
    return np.divide(products, lengths, out=np.zeros(len(picks)), where=lengths > 0)


def _ranks(values, picks):
    """Ranks among what each row picks, counted for all rows at once, float [rows, n]."""
    _, place = np.unique(values, return_inverse=True)
    place = place[picks]
    rows, different = len(picks), place.max() + 1
    counts = np.bincount(
        (place + different * np.arange(rows)[:, None]).ravel(), minlength=rows * different
    ).reshape(rows, different)
    return np.take_along_axis(counts.cumsum(1) - (counts - 1) / 2, place, 1)
