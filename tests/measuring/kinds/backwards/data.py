"""The datasets of an article about a passage both ways, read lazily."""

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from report.datasets.read.model import ModelData
from report.errors import ReportError
from report.text import isolated


def opened(paths: Iterable[Path], labels: Sequence[str | None] = ()) -> "BothWays":
    """The data of an article, which has one model."""
    return BothWays(*paths)


class BothWays(ModelData):
    """How well every token is predicted by those before it, and by those after it."""

    kind = "backwards"

    @property
    def models(self) -> list["BothWays"]:
        """It alone."""
        return [self]

    @functools.cached_property
    def _losses(self):
        return self._read("both_ways.json")

    @property
    def texts(self) -> list[str]:
        """[tokens], what to show for each."""
        return [isolated(text) for text in self._losses["tokens"]]

    @property
    def forwards(self) -> np.ndarray:
        """Loss after the tokens before, in nats, float [tokens]; NaN of the first."""
        return np.array(self._losses["forwards"], float)

    @property
    def backwards(self) -> np.ndarray:
        """Loss after the tokens that follow, read from the end; NaN of the last."""
        return np.array(self._losses["backwards"], float)


def verify(data: BothWays) -> None:
    """ReportError if a token has no loss each way but at the two ends."""
    number = data.manifest["passage"]["tokens"]
    ends = np.arange(number) == 0, np.arange(number) == number - 1
    for values, end in zip((data.forwards, data.backwards), ends, strict=True):
        if len(values) != number or (np.isnan(values) != end).any():
            raise ReportError(f"both_ways.json: is not of {number} tokens with two ends")
