"""How every head spreads its attention, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column

if TYPE_CHECKING:
    from report.measurements.head_statistics import HeadStatistics

MEASURES = {
    "itself": ("fraction of tokens whose largest target is the token itself", "0 to 1"),
    "first_token": ("fraction of tokens whose largest target is token 0", "0 to 1"),
    "concentration": (
        "mean difference of the largest and the second largest probability of a token",
        "0 to 1",
    ),
}
"""Measure -> (description, unit); all leave out token 0, which can only attend to itself."""

STEP = 0.0001


def encode(sources: dict[str, HeadStatistics]) -> dict:
    """The table/1 dataset of all heads; sources: by name, "passage" and "corpus"."""
    columns = {"source": [], "layer": [], "head": []}
    columns |= {name: [] for name in MEASURES} | {f"rank_{name}": [] for name in MEASURES}
    for source, statistics in sources.items():
        layers, heads = np.shape(statistics.itself)
        layer, head = np.divmod(np.arange(layers * heads), heads)
        columns["source"] += [source] * len(layer)
        columns["layer"] += layer.tolist()
        columns["head"] += head.tolist()
        for name in MEASURES:
            values = np.asarray(getattr(statistics, name))
            columns[name] += values.ravel().tolist()
            columns[f"rank_{name}"] += ranks(values).ravel().tolist()
    described = {
        "source": Column("texts the row was measured on", "passage or corpus", columns["source"]),
        "layer": Column("layer, in the model's order", "index from 0", columns["layer"]),
        "head": Column("head, in the model's order", "index from 0", columns["head"]),
    }
    for name, (description, unit) in MEASURES.items():
        described[name] = Column(description, unit, columns[name], STEP)
        described[f"rank_{name}"] = Column(
            f"place of the head when its layer is sorted by {name}",
            "0 = smallest value",
            columns[f"rank_{name}"],
        )
    return columnar.encode({"heads": described})


def ranks(values: np.ndarray) -> np.ndarray:
    """Place of each head within its layer, int [layer, head], 0 = smallest; ties by head index."""
    return np.argsort(np.argsort(values, axis=1, kind="stable"), axis=1, kind="stable")
