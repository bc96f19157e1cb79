"""A measure of every head, over a passage and over many texts: one small table a measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column
from report.measures import Measure

if TYPE_CHECKING:
    from report.measurements.head_statistics import HeadStatistics

FILE = "heads/{}.json"
"""Address of a measure's table; {}: its name."""

STEP = 0.0001


def applies(measure: Measure, sources: dict[str, HeadStatistics]) -> bool:
    """Whether a measure was taken, and applies to a row of any head; sources: as of `encode`."""
    taken = [of.mean(measure.name) for of in sources.values() if measure.name in of.measures]
    return any(not np.isnan(mean).all() for mean in taken)


def encode(measure: Measure, sources: dict[str, HeadStatistics]) -> dict:
    """The table/1 dataset of a measure that applies: "heads", a row for each head and source.

    sources: name, "passage" and perhaps "corpus", to its `HeadStatistics`
    """
    name, [first, *_] = measure.name, [*sources.values()]
    layers, heads = first.mean(name).shape
    layer, head = np.divmod(np.arange(layers * heads), heads)
    unit = measure.unit

    def joined(of):
        return np.concatenate([np.ravel(of(statistics)) for statistics in sources.values()])

    texts = "texts the row was measured on"
    off = "standard error of the mean over texts; unknown for one text"
    spread = "standard deviation over texts, weighted by their tokens; unknown for one text"
    even = "the same measure of even attention over what is visible"
    rank = f"place of the head when its layer is sorted by {name}"
    columns = {
        "source": Column(texts, " or ".join(sources), np.repeat([*sources], len(layer)).tolist()),
        "layer": Column("layer, in the model's order", "index from 0", [*layer] * len(sources)),
        "head": Column("head, in the model's order", "index from 0", [*head] * len(sources)),
        name: Column(measure.shows, unit, joined(lambda of: of.mean(name)), STEP),
        f"rank_{name}": Column(rank, "0 = smallest value", joined(lambda of: ranks(of.mean(name)))),
        f"error_{name}": Column(off, unit, joined(lambda of: of.error(name)), STEP),
        f"spread_{name}": Column(spread, unit, joined(lambda of: of.spread(name)), STEP),
        f"even_{name}": Column(even, unit, joined(lambda of: of.even(name)), STEP),
    }
    return columnar.encode({"heads": columns})


def ranks(values: np.ndarray) -> np.ndarray:
    """Place of each head within its layer, int [layer, head], 0 = smallest; ties by head index.

    A head without a number comes first.
    """
    known = np.where(np.isnan(values), -np.inf, values)
    return np.argsort(np.argsort(known, axis=1, kind="stable"), axis=1, kind="stable")
