"""The attention that target tokens receive, and what a filler changes about it.

Softmax divides by a sum over all targets. Put tokens before a question, and every token of the
question that looks back gives them some probability; what is left to the others is the fraction

    lambda_i = 1 - (probability of current token i on the filler)

A token that the tokenizer merged across the filler's edge is no part of the filler, and none of the
old tokens: what it gets is within lambda, and what it brings is left unexplained below.

If no score among the old tokens changes, then neither does the pattern on them but for this factor,
and a head's context becomes

    context_i (with filler) = lambda_i context_i (without) + sum over the filler of P_if v_f

Scores and values of a first layer do not change where positions do not count, or where the filler
stands before everything else and only distances count (ALiBi, RoPE). With the filler in the middle
the distances across it grow: ALiBi then takes the same factor from all targets beyond the filler,
RoPE turns their scores; targets on this side keep their pattern. Learned positions change
everything after the filler, and so does any layer before. How far the pattern on the old tokens
moved (total variation) and what the equation leaves unexplained are measured.
"""

from collections.abc import Sequence

import torch

from report.measurements.block import Block
from report.measurements.visible import Visible

REDUCTIONS = ("mean", "last", "all")
"""Over current tokens: the mean over those that see the target; the last one only; the mean over
all of them, those that do not see it (probability 0) included."""


class Received:
    """Adds up, block by block, what each target of one layer receives; and keeps some rows."""

    def __init__(self, visible: Visible, heads: int, rows: Sequence[int] = ()):
        """visible: of the layer; heads: how many it has; rows: current tokens, each once, whose
        probabilities are kept: `kept`, float32 [heads, rows, T]"""
        self.visible, length, device = visible, len(visible.first), visible.first.device
        self.total = torch.zeros(heads, length, dtype=torch.float64, device=device)
        self.last = torch.zeros_like(self.total)
        self.rows = {row: place for place, row in enumerate(rows)}
        self.kept = torch.zeros(heads, len(self.rows), length, device=device)

    def add(self, block: Block) -> None:
        """Look at one `Block`."""
        keys = slice(block.first_key, block.first_key + block.probability.shape[-1])
        self.total[block.heads, keys] += block.probability.sum(1, dtype=torch.float64)
        if block.rows.stop == len(self.visible.first):
            self.last[block.heads, keys] = block.probability[:, -1].double()
        wanted = [row for row in range(block.rows.start, block.rows.stop) if row in self.rows]
        if wanted:
            probability = block.probability[:, [row - block.start for row in wanted]]
            for place, row in enumerate(wanted):
                self.kept[block.heads, self.rows[row], keys] = probability[:, place].float()

    def reductions(self) -> dict[str, torch.Tensor]:
        """Once all blocks were added: dict of REDUCTIONS to float64 [heads, T]."""
        seen = seen_by(self.visible)
        return {
            "mean": self.total / seen.clamp(min=1),
            "last": self.last,
            "all": self.total / len(seen),
        }


def seen_by(visible: Visible) -> torch.Tensor:
    """How many current tokens see each target, int64 [T]."""
    steps = torch.zeros(len(visible.first) + 1, dtype=torch.int64, device=visible.first.device)
    one = torch.ones_like(visible.first)
    steps.index_add_(0, visible.first, one).index_add_(0, visible.last + 1, -one)
    return steps.cumsum(0)[:-1]


def left_to_others(probability: torch.Tensor, filler: list[int]) -> torch.Tensor:
    """Lambda: the share of every row that does not go to the filler.

    probability: float [..., T]; filler: list of target tokens, those that lie in it as a whole
    returns: float64 [...], in [0, 1]; a sink's share is part of it, as it was without the filler
    """
    return (1 - probability[..., filler].sum(-1, dtype=torch.float64)).clamp(0, 1)


def total_variation(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """How far two patterns over the same targets are apart once each sums to 1.

    one, other: float [..., targets], not negative
    returns: float64 [...]: half of the sum of differences, 0 (equal) to 1 (apart); 1 where one of
        them is 0 everywhere
    """
    one, other = one.double(), other.double()
    sums = one.sum(-1, keepdim=True), other.sum(-1, keepdim=True)
    empty = torch.minimum(*sums).squeeze(-1) <= 0
    tiny = torch.finfo(torch.float64).tiny
    difference = one / sums[0].clamp(min=tiny) - other / sums[1].clamp(min=tiny)
    return (difference.abs().sum(-1) / 2).masked_fill(empty, 1.0)


def affine_error(
    context: torch.Tensor, old_context: torch.Tensor, left: torch.Tensor, from_filler: torch.Tensor
) -> torch.Tensor:
    """What the affine reading leaves unexplained of a context, as a fraction of its length.

    context, old_context: float [..., value_dim], with and without the filler
    left: float [...], lambda; from_filler: float [..., value_dim], sum over the filler of P v
    returns: float64 [...]: |context - lambda old_context - from_filler| / |context|
    """
    context, from_filler = context.double(), from_filler.double()
    unexplained = context - left.double()[..., None] * old_context.double() - from_filler
    length = context.norm(dim=-1).clamp(min=torch.finfo(torch.float64).tiny)
    return unexplained.norm(dim=-1) / length
