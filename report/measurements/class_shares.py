"""How the attention of some current tokens is divided among classes of targets."""

from collections.abc import Sequence

import numpy as np
import torch

from report.measurements.block import Block
from report.measurements.visible import Visible


class ClassShares:
    """Adds up, block by block, what some rows of one layer give to each class of targets.

    A target belongs to one class, which may depend on the current token.
    """

    def __init__(
        self,
        rows: Sequence[int],
        classes: np.ndarray,
        number: int,
        heads: int,
        device: torch.device | None = None,
    ):
        """rows: current tokens, each once; classes: int [rows, T], the class of every target;
        number: of classes; heads: how many the layer has"""
        self.places = {row: place for place, row in enumerate(rows)}
        kinds = torch.as_tensor(classes, device=device)
        self.members = torch.nn.functional.one_hot(kinds.long(), number)  # [rows, T, number]
        self.total = torch.zeros(heads, number, dtype=torch.float64, device=device)

    def add(self, block: Block) -> None:
        """Look at one `Block`."""
        wanted = [row for row in range(block.rows.start, block.rows.stop) if row in self.places]
        if not wanted:
            return
        keys = slice(block.first_key, block.first_key + block.probability.shape[-1])
        given = block.probability[:, [row - block.start for row in wanted]].double()
        members = self.members[[self.places[row] for row in wanted], keys].double()
        self.total[block.heads] += torch.einsum("hrk,rkc->hc", given, members)

    def mean(self) -> torch.Tensor:
        """Once all blocks were added: the mean over the rows, float64 [heads, classes].

        A head's classes sum to 1, or to what a sink leaves.
        """
        return self.total / len(self.places)


def even_shares(
    rows: Sequence[int], classes: np.ndarray | torch.Tensor, number: int, visible: Visible
) -> torch.Tensor:
    """What attention that is the same for all visible targets gives to each class.

    rows, classes, number: as of `ClassShares`; visible: the layer's `Visible`
    returns: float64 [number], the mean over the rows; they sum to 1
    """
    seen = visible.mask().cpu()[list(rows)].double()  # [rows, T]
    members = torch.nn.functional.one_hot(torch.as_tensor(classes).long(), number).double()
    return torch.einsum("rk,rkc->rc", seen / seen.sum(1, keepdim=True), members).mean(0)
