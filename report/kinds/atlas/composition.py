"""How much the heads of one model read of what heads in lower layers write."""

import functools
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from report.datasets.formats.composition import FILE, chance, decode
from report.datasets.read.model import ModelData


def opened(paths: Iterable[Path]) -> "list[Composition]":
    """The data of folders, one a model."""
    return [Composition(path) for path in paths]


def verify(data: "list[Composition]") -> None:
    """ReportError if scores are missing or too many, or one is none."""
    for each in data:
        if not each.reason:
            _ = each.scores


class Composition(ModelData):
    """The composition scores of one model."""

    kind = "composition"

    @property
    def reason(self) -> str:
        """Why there are no scores; "" where there are."""
        return self.manifest["composition"].get("reason", "")

    @functools.cached_property
    def scores(self) -> dict[str, np.ndarray]:
        """ "q", "k" and "v" -> float [layers, heads, layers, heads], of readers, then writers; NaN
        for a writer that is in no lower layer."""
        return self._decode(FILE, decode, self.layers, self.heads)

    @property
    def baseline(self) -> float:
        """The root of the mean square of a score if what is written were turned at random."""
        return chance(self.manifest["composition"]["hidden_size"])
