"""The keys of one key head, which the heads of its group share, as a file (schema keys/1)."""

import functools
from dataclasses import dataclass

import numpy as np

from report.datasets.damaged import damaged
from report.datasets.formats.rotation import turns
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

    @functools.cached_property
    def turns(self) -> np.ndarray:
        """What pairs are multiplied by, complex [token, pair]."""
        return turns(self.frequencies, self.length)

    @functools.cached_property
    def plain(self) -> np.ndarray:
        """float64 [token, component], as `Side.plain`."""
        return self.side.plain

    @functools.cached_property
    def rotated(self) -> np.ndarray:
        """float64 [token, component], as `Side.rotated`."""
        return self.side.rotated(self.turns)


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
