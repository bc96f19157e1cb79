"""How much each head reads of what each head in a lower layer writes: one table."""

from collections.abc import Mapping

import numpy as np

from report.datasets.formats import columnar
from report.datasets.formats.columnar import Column

FILE = "composition.json"
TABLE = "pairs"

NAMES = {"q": "queries", "k": "keys", "v": "values"}
"""Column -> what the reader makes of what it reads."""

STEPS = 40
"""In what is expected by chance: a score is off by an eightieth of it at most."""

ORDER = (
    "a row for each reader, by layer and head, and each writer in a lower layer, by layer and head"
)


def chance(hidden_size: int) -> float:
    """The root of the mean square of a score if what is written were turned at random."""
    return hidden_size**-0.5


def encode(scores: Mapping[str, np.ndarray], hidden_size: int) -> dict:
    """The table/1 dataset of a model: "pairs".

    scores: column -> float [layers, heads, layers, heads], of readers, then writers
    hidden_size: of the model
    """
    step = chance(hidden_size) / STEPS
    pairs = _pairs(*next(iter(scores.values())).shape[:2])
    return columnar.encode(
        {
            TABLE: {
                name: Column(
                    f"composition score for {what}; {ORDER}", "0 to 1", values[pairs], step
                )
                for name, values in scores.items()
                for what in [NAMES[name]]
            }
        }
    )


def decode(dataset: dict, layers: int, heads: int) -> dict[str, np.ndarray]:
    """The inverse of `encode` but for rounding; NaN for a writer that is in no lower layer.

    raises: ReportError for a column that is missing; ValueError for other rows
    """
    columns = columnar.decode_known(dataset, {TABLE: NAMES.keys()}, {})[TABLE]
    pairs, decoded = _pairs(layers, heads), {}
    for name in NAMES:
        decoded[name] = np.full(pairs.shape, np.nan)
        decoded[name][pairs] = columns[name]
    return decoded


def _pairs(layers, heads):
    """Which pairs have a row, bool [layers, heads, layers, heads]."""
    layer = np.arange(layers)
    lower = (layer[:, None] > layer)[:, None, :, None]
    return np.broadcast_to(lower, (layers, heads) * 2)
