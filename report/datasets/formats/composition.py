"""How much each head reads of what each head in a lower layer writes: one table.

Scores are kept in steps, as Rice codes: plain numbers take more than twice the bytes.
"""

from collections.abc import Mapping

import numpy as np

from report.datasets.formats import columnar, rice
from report.datasets.formats.columnar import Column

FILE = "composition.json"
TABLE = "readers"

NAMES = {"q": "queries", "k": "keys", "v": "values"}
"""Column -> what the reader makes of what it reads."""

SIZE = "hidden_size"

STEPS = 40
"""In what is expected by chance: a score is off by an eightieth of it at most."""

UNKNOWN = -1

ORDER = (
    "a row for each layer of readers, its text as in formats/rice.py, a group a head, of each "
    "writer in a lower layer, by layer and head"
)


def chance(hidden_size: int) -> float:
    """The root of the mean square of a score if what is written were turned at random."""
    return hidden_size**-0.5


def encode(scores: Mapping[str, np.ndarray], hidden_size: int) -> dict:
    """The table/1 dataset of a model: "readers".

    scores: column -> float [layers, heads, layers, heads], of readers, then writers
    hidden_size: of the model
    """
    unit = f"1/{STEPS} of what chance gives, 1 / the root of {SIZE}; {UNKNOWN} for unknown"
    columns = {
        name: Column(
            f"composition scores for {what}; {ORDER}", unit, _texts(scores[name], hidden_size)
        )
        for name, what in NAMES.items()
    }
    sizes = Column("of the model", "numbers a token", [hidden_size] * len(scores["q"]))
    return columnar.encode({TABLE: {**columns, SIZE: sizes}})


def _texts(values, hidden_size):
    steps = np.rint(np.nan_to_num(values / chance(hidden_size) * STEPS, nan=UNKNOWN)).astype(int)
    return [rice.write(of[:, :layer].reshape(len(of), -1)) for layer, of in enumerate(steps)]


def decode(dataset: dict, layers: int, heads: int) -> dict[str, np.ndarray]:
    """The inverse of `encode` but for rounding; NaN for a writer that is in no lower layer.

    raises: ReportError for a column that is missing; ValueError for other rows
    """
    columns = columnar.decode_known(dataset, {TABLE: NAMES.keys() | {SIZE}}, {})[TABLE]
    decoded = {}
    for name in NAMES:
        values = decoded[name] = np.full((layers, heads) * 2, np.nan)
        rows = zip(range(layers), columns[name], columns[SIZE], strict=True)
        for layer, text, size in rows:
            steps = rice.read(text, heads, layer * heads).reshape(heads, layer, heads)
            known = np.where(steps == UNKNOWN, np.nan, steps)
            values[layer, :, :layer] = known * chance(int(size)) / STEPS
    return decoded
