"""The queries or the keys of a head as integers: a part of the schemas attention/4 and keys/1.

A component is one of the numbers of a query or a key. Those that a rotation turns come first, two
after two, as a pair. All integers of a side have one unit.
"""

from dataclasses import dataclass

import numpy as np

from report.datasets.damaged import damaged
from report.datasets.formats import rice


@dataclass(frozen=True)
class Side:
    """The queries of a head, or the keys of a key head, before rotation."""

    step: float
    """The unit of the integers."""
    integers: np.ndarray
    """int64 [component, token]."""
    bias: np.ndarray | None
    """float64 [component], what the projection adds to every token, not in `integers`; or None."""

    @property
    def middles(self) -> np.ndarray:
        """int64 [component], the medians: many components are large in the same way in all tokens,
        and only what is off them need be told of each."""
        return np.rint(np.median(self.integers, axis=1)).astype(np.int64)

    @property
    def plain(self) -> np.ndarray:
        """float64 [token, component], without bias and not rotated."""
        return self.integers.T * self.step

    def rotated(self, turns: np.ndarray) -> np.ndarray:
        """float64 [token, component], with bias and rotated.

        turns: complex [token, pair], see `rotation.turns`
        """
        return rotated(self.plain if self.bias is None else self.plain + self.bias, turns)

    def as_json(self) -> dict:
        """As a file has it."""
        stated = {} if self.bias is None else {"bias": self.bias.tolist()}
        middles = self.middles
        return {
            "step": self.step,
            **stated,
            "components": len(self.integers),
            "middles": middles.tolist(),
            "integers": rice.write(self.integers - middles[:, None]),
        }

    @classmethod
    def from_json(cls, content: dict, length: int, what: str) -> "Side":
        """The inverse of `as_json`.

        length: number of tokens; what: "queries" or "keys", for messages
        raises: ReportError if there are more or fewer integers than that takes
        """
        number, middles = content["components"], content["middles"]
        if len(middles) != number:
            raise damaged(f"the {what} have {number} components and {len(middles)} middles")
        try:
            integers = rice.read(content["integers"], number, length)
        except ValueError as error:
            raise damaged(f"the {what} are not those of {length} tokens") from error
        bias = content.get("bias")
        if bias is not None and len(bias) != len(integers):
            raise damaged(f"the {what} have {len(integers)} components, their bias {len(bias)}")
        bias = None if bias is None else np.asarray(bias, float)
        whole = integers + np.asarray(middles, np.int64)[:, None]
        return cls(float(content["step"]), whole, bias)


def rotated(side: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Queries or keys, float64 [..., component], with their pairs turned.

    turns: complex [..., pair]
    """
    number = 2 * turns.shape[-1]
    turning = (side[..., 0:number:2] + 1j * side[..., 1:number:2]) * turns
    result = side.copy()
    result[..., 0:number:2], result[..., 1:number:2] = turning.real, turning.imag
    return result
