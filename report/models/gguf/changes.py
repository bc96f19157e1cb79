"""What llama.cpp does to tensors when it writes them, undone.

Each change knows the shape that it makes of a stored one, and the numbers that it makes of stored
ones. Biases are changed like the rows of their weights.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

Shape = tuple[int, ...]


class Change(Protocol):
    """A change of a tensor, undone."""

    def fits(self, shape: Shape) -> bool:
        """Whether a stored tensor of this shape can have been changed so."""
        return True

    def shape(self, shape: Shape) -> Shape:
        """The model's shape of a stored one."""
        return shape

    def undo(self, stored: np.ndarray) -> np.ndarray:
        """The model's numbers of stored ones, float32."""


@dataclass(frozen=True)
class TurnedOver(Change):
    """Rows of queries or keys: within each head, llama.cpp rotates neighbours, transformers rotates
    a number and the one half a head further.

    heads: of the queries, or of the keys
    """

    heads: int

    def fits(self, shape: Shape) -> bool:
        return shape[0] % (2 * self.heads) == 0

    def undo(self, stored: np.ndarray) -> np.ndarray:
        pairs = stored.reshape(self.heads, -1, 2, *stored.shape[1:])
        return pairs.swapaxes(1, 2).reshape(stored.shape)


@dataclass(frozen=True)
class OneMore(Change):
    """A norm's weight w, which is stored as 1 + w."""

    def undo(self, stored: np.ndarray) -> np.ndarray:
        return stored - np.float32(1)


@dataclass(frozen=True)
class Transposed(Change):
    """The weight of a layer that transformers stores the other way round (GPT-2); not its bias."""

    def fits(self, shape: Shape) -> bool:
        return len(shape) <= 2

    def shape(self, shape: Shape) -> Shape:
        return shape[::-1]

    def undo(self, stored: np.ndarray) -> np.ndarray:
        return stored.T


@dataclass(frozen=True)
class Sorted(Change):
    """Queries, keys and values in one tensor: llama.cpp has all queries, then all keys, then all
    values; transformers has a group's queries, its key and its value, then the next group's.

    groups: heads of keys; queries: of each of them
    """

    groups: int
    queries: int

    def fits(self, shape: Shape) -> bool:
        return shape[0] % (self.groups * (self.queries + 2)) == 0

    def undo(self, stored: np.ndarray) -> np.ndarray:
        heads = self.groups * self.queries
        size = len(stored) // (heads + 2 * self.groups)
        ends = (heads * size, (heads + self.groups) * size)
        query, key, value = np.split(stored, ends)
        rest = stored.shape[1:]
        parts = (
            query.reshape(self.groups, self.queries, size, *rest),
            key.reshape(self.groups, 1, size, *rest),
            value.reshape(self.groups, 1, size, *rest),
        )
        return np.concatenate(parts, 1).reshape(stored.shape)
