"""Which targets a current token attends to most, and how many make up half of its attention."""

import torch

from report.measurements.block import Block
from report.measurements.visible import Visible

SHOWN_TARGETS = 11
"""Targets a row that the figures show at most."""
MARKED_PROBABILITY = 0.5
"""The marked targets of a row are the fewest whose probability together reaches this."""
SHORT = 160
"""Rows up to this long are sorted; longer ones are searched in chunks."""
CHUNK = 4
"""Values in a chunk."""
INDEX = 2**29 - 1
"""The bits of a float64 that are 0 where it holds a float32: room for an index."""


class LargestTargets:
    """Finds the `count` most probable targets of every row of one layer, block by block."""

    def __init__(self, visible: Visible, heads: int, count: int = SHOWN_TARGETS):
        """visible: of the layer; heads: how many it has"""
        shape = (heads, len(visible.first), count)
        device = visible.first.device
        self.visible = visible
        self.target = torch.empty(shape, dtype=torch.int64, device=device)
        self.probability = torch.empty(shape, device=device)

    def add(self, block: Block) -> None:
        """Look at one `Block`."""
        index = largest(block.score, self.target.shape[-1])  # [heads, rows, at most count]
        there, missing = slice(index.shape[-1]), slice(index.shape[-1], None)
        self.target[block.heads, block.rows, there] = index + block.first_key
        self.target[block.heads, block.rows, missing] = -1
        index.clamp_(max=block.probability.shape[-1] - 1)  # beyond it there is nothing visible
        probability = block.probability.gather(-1, index)
        self.probability[block.heads, block.rows, there] = probability
        self.probability[block.heads, block.rows, missing] = 0

    def found(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Once all blocks were added: what was found.

        returns: targets int64 [heads, T, count], by descending probability, -1 where the row sees
            fewer; probability float32 [heads, T, count], 0 there
        """
        first, last = self.visible.first[:, None], self.visible.last[:, None]
        few = (last - first)[:, 0] + 1 < self.target.shape[-1]  # other rows have nothing to hide
        target, probability = self.target[:, few], self.probability[:, few]
        seen = (target >= first[few]) & (target <= last[few])
        self.target[:, few] = target.where(seen, -1)
        self.probability[:, few] = probability * seen
        return self.target, self.probability


def marker_count(targets: torch.Tensor, probability: torch.Tensor) -> torch.Tensor:
    """How many of the largest targets are marked: the fewest that together reach 0.5.

    targets, probability: [heads, T, count] as `LargestTargets` finds them
    returns: int64 [heads, T]; all the targets there are where they do not reach 0.5, because the
        attention is spread over more than `count` or a sink takes it
    """
    reached = probability.double().cumsum(-1)
    enough = (reached < MARKED_PROBABILITY).sum(-1) + 1
    return torch.minimum(enough, (targets >= 0).sum(-1))


def largest(score: torch.Tensor, count: int) -> torch.Tensor:
    """Where the `count` largest values of each row are, in descending order.

    score: float [..., keys]
    returns: int64 [..., min(count, keys)]; of equal values any comes first; the index of a value
        that is the dtype's minimum may lie beyond the row's end
    The largest values are in the chunks with the largest maxima, and these chunks are found in the
    same way. So a long row is read once, and about 200 of its values are sorted.
    """
    keys = score.shape[-1]
    if 2 == count <= keys <= SHORT:
        return _two_largest(score)
    if keys <= SHORT:
        return _descending(score, torch.arange(keys, device=score.device), min(count, keys))
    chunks = -(-keys // CHUNK)
    if chunks * CHUNK != keys:
        lowest = torch.finfo(score.dtype).min
        score = torch.nn.functional.pad(score, (0, chunks * CHUNK - keys), value=lowest)
    # Chunk c is every chunks-th value from c on: maxima over neighbouring values are slow.
    starts = torch.arange(0, chunks * CHUNK, chunks, device=score.device)
    chosen = largest(score.unflatten(-1, (CHUNK, chunks)).amax(-2), count)
    candidates = (chosen[..., None] + starts).flatten(-2)
    return _descending(score.gather(-1, candidates), candidates, count)


def _two_largest(score):
    """The same for two of a short row, in a third of the time."""
    first = score.max(-1, keepdim=True).indices
    others = score.scatter(-1, first, torch.finfo(score.dtype).min)
    second = others.max(-1, keepdim=True).indices
    second = second.where(second != first, 1)  # only the lowest are left, and 0 is the first
    return torch.cat([first, second], -1)


def _descending(values, index, count):
    """Of each row of `values`, the `count` largest ones' `index` (int64), in descending order."""
    if values.dtype != torch.float32 or values.device.type != "cpu":
        return index.expand_as(values).gather(-1, values.topk(count).indices)
    # Value and index as one number: numpy sorts short rows of these 5 times as fast as topk.
    both = values.double()
    both.view(torch.int64).bitwise_or_(index)
    both.numpy().sort(-1)
    return both[..., -count:].flip(-1).view(torch.int64) & INDEX
