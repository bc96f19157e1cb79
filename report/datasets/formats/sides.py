"""The queries of a head and the keys of a key head as integers: parts of attention/4, and keys/1.

A component is one of the numbers of a query or a key. Those that a rotation turns come first, two
after two, as a pair. All integers of a side have one unit. Keys have a file of their own, which the
heads of a group share.
"""

import functools
from dataclasses import dataclass

import numpy as np

from report.datasets.formats import rice
from report.datasets.formats.rotation import turns

SCHEMA = "keys/1"


@dataclass(frozen=True)
class Side:
    """The queries of a head, or the keys of a key head, before rotation."""

    step: float
    """The unit of the integers."""
    integers: np.ndarray
    """int64 [component, token]."""
    bias: np.ndarray | None
    """float64 [component], what the projection adds to every token, not in `integers`; or None."""
    place: np.ndarray | None = None
    """int64 [component, token], the part of `integers` that comes of positions added to the
    embeddings; None where it is not known."""

    @property
    def plain(self) -> np.ndarray:
        """float64 [token, component], without bias and not rotated."""
        return self.integers.T * self.step

    def part(self, own: bool) -> np.ndarray:
        """float64 [token, component], of `plain` what comes of positions, or, own, all the rest."""
        return (self.integers - self.place if own else self.place).T * self.step

    def rotated(self, turns: np.ndarray) -> np.ndarray:
        """float64 [token, component], with bias and rotated.

        turns: complex [token, pair], see `rotation.turns`
        """
        return rotated(self.plain if self.bias is None else self.plain + self.bias, turns)

    def as_json(self) -> dict:
        """As a file has it."""
        return {
            "step": self.step,
            **({} if self.bias is None else {"bias": self.bias.tolist()}),
            "components": len(self.integers),
            **_written(self.integers),
            **({} if self.place is None else {"place": _written(self.place)}),
        }

    @classmethod
    def from_json(cls, content: dict, length: int) -> "Side":
        """The inverse of `as_json`.

        length: number of tokens
        raises: ValueError if there are more or fewer integers than that takes
        """
        number, bias, place = (content.get(name) for name in ("components", "bias", "place"))
        return cls(
            float(content["step"]),
            _read(content, number, length),
            None if bias is None else np.asarray(bias, float).reshape(number),
            None if place is None else _read(place, number, length),
        )


def _written(integers):
    """Many components are large in the same way in all tokens: only what is off their median is
    told of each."""
    middles = np.rint(np.median(integers, axis=1)).astype(np.int64)
    return {
        "middles": middles.tolist(),
        "integers": rice.write(integers - middles[:, None]),
    }


def _read(content, number, length):
    """int64 [component, token], the inverse of `_written`."""
    middles = np.asarray(content["middles"], np.int64).reshape(number, 1)
    return rice.read(content["integers"], number, length) + middles


def rotated(side: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Queries or keys, float64 [..., component], with their pairs turned.

    turns: complex [..., pair]
    """
    number = 2 * turns.shape[-1]
    turning = (side[..., 0:number:2] + 1j * side[..., 1:number:2]) * turns
    result = side.copy()
    result[..., 0:number:2], result[..., 1:number:2] = turning.real, turning.imag
    return result


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
    """Name of the file of keys within its folder of datasets."""
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

    raises: ValueError if there are too few or too many values of anything
    """
    length, frequencies = data["tokens"], np.asarray(data["frequencies"], float)
    side = Side.from_json(data, length)
    return Keys(data["layer"], data["key_head"], length, frequencies, side)
