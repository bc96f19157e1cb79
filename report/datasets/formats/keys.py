"""The keys of one key head, which the heads of its group share, as a file (schema keys/1)."""

from dataclasses import dataclass

import numpy as np

from report.datasets.damaged import damaged
from report.datasets.formats.sides import Side

SCHEMA = "keys/1"


@dataclass(frozen=True)
class Keys:
    """The keys of one key head, and how queries and keys are rotated."""

    layer: int
    key_head: int
    length: int
    """Number of tokens, T."""
    frequencies: np.ndarray
    """float64 [pair], radians a token by which the pairs of components turn; none: no rotation."""
    side: Side


def name(layer: int, key_head: int) -> str:
    """Name of the file within its folder of datasets."""
    return f"keys/{layer}/{key_head}.json"


def encode(keys: Keys) -> dict:
    """The keys/1 dataset."""
    return {
        "schema": SCHEMA,
        "layer": keys.layer,
        "key_head": keys.key_head,
        "tokens": keys.length,
        "frequencies": keys.frequencies.tolist(),
        **keys.side.as_json(),
    }


def decode(data: dict) -> Keys:
    """The keys of a keys/1 dataset; the inverse of `encode`.

    raises: ReportError if there are too few or too many values of anything
    """
    length, frequencies = data["tokens"], np.asarray(data["frequencies"], float)
    side = Side.from_json(data, length, "keys")
    if 2 * len(frequencies) > len(side.integers):
        raise damaged(
            f"{len(frequencies)} frequencies turn pairs of {len(side.integers)} components"
        )
    return Keys(data["layer"], data["key_head"], length, frequencies, side)
