"""Some heads' attention over some neighbouring rows: a layer is looked at block by block."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Block:
    """Rows of some heads' attention, with every target that any of the rows sees.

    first_head: head h of the block is head first_head + h of the layer
    start: row r is current token start + r
    first_key: column k is target token first_key + k
    score, probability: float [heads, rows, keys], what enters the softmax and what leaves it (a
        sink left out); the dtype's minimum and 0 where a row does not see a target
    first, last: int64 [rows], the first and the last target token that each row sees
    """

    first_head: int
    start: int
    first_key: int
    score: torch.Tensor
    probability: torch.Tensor
    first: torch.Tensor
    last: torch.Tensor

    @property
    def heads(self) -> slice:
        """Which heads of the layer these are, a slice."""
        return slice(self.first_head, self.first_head + self.score.shape[0])

    @property
    def rows(self) -> slice:
        """Which current tokens these are, a slice."""
        return slice(self.start, self.start + self.score.shape[1])
