"""Attention computed in blocks of heads and rows, so that every score is seen and none is kept."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from report.errors import ReportError
from report.measurements.block import Block
from report.measurements.factors import Factors, Scores

ROWS = 64
"""Rows in a block."""
CELLS = 2**20
"""Scores in a block at most, for each thread of a CPU: 4 MB, small enough to stay in its caches."""
CELLS_ELSEWHERE = 2**24
"""The same on other devices: blocks that keep all their threads busy."""
NEGLIGIBLE = 1e-30
"""Probabilities up to this count as 0. They change no context, but ALiBi makes many of them
subnormal, and with subnormal numbers a CPU is up to 40 times slower."""


def streaming_attention(
    factors: Factors | Scores,
    value: torch.Tensor | None,
    observe: Callable[[Block], None] | None = None,
    layer: int = 0,
    rows: int = ROWS,
) -> torch.Tensor | None:
    """Attention of one layer; every block of it is shown to `observe` on the way.

    factors: Factors; or Scores, where the model computes the context itself
    value: float [key_heads, T, value_dim]; None with Scores
    observe: called with a `Block`, whose tensors it must neither change nor keep; every cell that
        is visible is in one of the blocks. None: nothing is shown
    layer: only for the error message
    rows: of a block; changes speed, not results
    returns: context, float [heads, T, value_dim] in value's dtype; None with Scores
    raises: ReportError naming layer and head where a score or a context is NaN or infinite
    Half precision is computed in float32, as torch's own attention does inside.
    """
    dense = isinstance(factors, Scores)
    part = _GivenScores(factors) if dense else _Products(factors, value)
    like, sink = part.like, wide(factors.sink)
    check = not part.certainly_finite()
    blocks = [
        (span, _head_slices(factors.heads, part.group, span))
        for span in _spans(factors.range(), rows, like.dtype)
    ]
    largest = max(span.cells * slices[0].stop for span, slices in blocks)
    # Used again for every block: new memory costs as much as what is done with it.
    spaces = [like.new_empty(largest) for _ in range(2)]
    total = like.new_zeros(factors.heads)  # finite only if every score is
    for span, slices in blocks:
        for heads in slices:
            shape = heads.stop - heads.start, len(span.first), span.keys.stop - span.keys.start
            score, probability = (space[: math.prod(shape)].view(shape) for space in spaces)
            part.score(heads, span, score)
            if check:
                total[heads] += score.sum((1, 2))
            if factors.softcap is not None:
                score.div_(factors.softcap).tanh_().mul_(factors.softcap)
            span.hide(score)
            _softmax(score, None if sink is None else sink[heads], probability)
            part.weigh(probability, heads, span)
            if observe is not None:
                observe(span.block(heads.start, score, probability))
    require_finite(total[:, None], layer, "attention score")
    if dense:
        return None
    require_finite(part.context, layer, "context")
    return part.context.to(value.dtype)


def require_finite(values: torch.Tensor, layer: int, what: str) -> None:
    """Stop where `values` [heads, ...] of a layer hold NaN or infinity, naming the first head.

    raises: ReportError naming layer and head
    """
    if torch.isfinite(values.sum()):  # nearly always; a sum is quicker than a test of every value
        return
    broken = ~torch.isfinite(values).flatten(1).all(1)
    if broken.any():
        heads = broken.nonzero().flatten().tolist()
        others = f" (and {len(heads) - 1} more heads)" if len(heads) > 1 else ""
        raise ReportError(
            f"layer {layer}, head {heads[0]}{others}: the {what} is NaN or infinite; "
            "check the weights, and measure in float32"
        )


def wide(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """The tensor, in float32 if it was in half precision; None stays None."""
    if tensor is None or tensor.dtype in (torch.float32, torch.float64):
        return tensor
    return tensor.float()


@dataclass(frozen=True)
class _Span:
    """Neighbouring rows, and the targets that any of them sees.

    rows, keys: slices of the tokens
    first, last: int64 [rows], the first and the last target of each row
    edges: list of (columns, most); most is the largest score that a cell may have, float [rows,
        columns]: the dtype's minimum where the row does not see the column, else infinity
    """

    rows: slice
    keys: slice
    first: torch.Tensor
    last: torch.Tensor
    edges: list[tuple[slice, torch.Tensor]]

    @property
    def cells(self):
        """Number of rows times number of targets."""
        return len(self.first) * (self.keys.stop - self.keys.start)

    def hide(self, score):
        """Set finite scores [heads, rows, keys] to the lowest where a row sees no target."""
        for columns, most in self.edges:
            part = score[:, :, columns]
            torch.minimum(part, most, out=part)  # 8 times as fast as to fill them in

    def clear(self, score):
        """Set any scores [heads, rows, keys] to 0 where a row sees no target."""
        for columns, most in self.edges:
            score[:, :, columns].masked_fill_(most < 0, 0)

    def block(self, first_head, score, probability):
        """What an observer is shown."""
        start, first_key = self.rows.start, self.keys.start
        return Block(first_head, start, first_key, score, probability, self.first, self.last)


def _spans(visible, rows, dtype):
    """The rows of a layer from top to bottom, `rows` of them at a time; dtype: of the scores."""
    firsts, lasts = visible.first.tolist(), visible.last.tolist()
    for start in range(0, len(firsts), rows):
        part = slice(start, min(start + rows, len(firsts)))
        first, last = visible.first[part, None], visible.last[part, None]
        keys = slice(min(firsts[part]), max(lasts[part]) + 1)
        targets = torch.arange(keys.start, keys.stop, device=first.device)
        # Every row sees what lies between the last beginning and the first end.
        begun, ended = max(firsts[part]) - keys.start, min(lasts[part]) + 1 - keys.start
        edges = [
            (slice(0, begun), targets[:begun] < first),
            (slice(ended, None), targets[ended:] > last),
        ]
        unlimited = torch.full((), torch.inf, dtype=dtype, device=first.device)
        edges = [
            (columns, unlimited.where(~unseen, torch.finfo(dtype).min))
            for columns, unseen in edges
            if unseen.numel()
        ]
        yield _Span(part, keys, first[:, 0], last[:, 0], edges)


def _head_slices(heads, group, span):
    """Slices of the heads, whole groups that share a key head, as many as a block may have."""
    cells = CELLS_ELSEWHERE
    if span.first.device.type == "cpu":
        cells = CELLS * torch.get_num_threads()
    step = group * max(1, cells // (group * span.cells))
    return [slice(start, min(start + step, heads)) for start in range(0, heads, step)]


class _Products:
    """Scores from queries and keys, and contexts from values, each key head shared by a group.

    query: float [heads, T, size] and key: float [key_heads, T, size], whose product is the score:
        queries are scaled, and ALiBi is one dimension more, in which every query is 1
    value: float [key_heads, T, value_dim]; context: float [heads, T, value_dim]
    like: a tensor of the scores' dtype and device
    Copied into unbroken memory, which makes products of blocks up to twice as fast.
    """

    def __init__(self, factors, value):
        query, key, value = (wide(part) for part in (factors.query, factors.key, value))
        heads, length, size = query.shape
        more = 0 if factors.position is None else 1
        if more:  # ALiBi differs from head to head
            key, value = (_repeated(heads, part) for part in (key, value))
        self.query = query.new_empty(heads, length, size + more)
        self.key = key.new_empty(len(key), length, size + more)
        torch.mul(query, factors.scale, out=self.query[..., :size])
        self.key[..., :size] = key
        if more:
            self.query[..., size:] = 1
            self.key[..., size] = factors.position
        self.like = self.query
        self.value, self.group = value.contiguous(), heads // len(key)
        # As it enters the output projection: tokens first.
        self.context = value.new_empty(length, heads, value.shape[-1]).transpose(0, 1)

    def certainly_finite(self):
        """Whether the lengths of queries and keys leave only finite scores."""
        return bool(torch.isfinite(self.query.norm() * self.key.norm()))

    def score(self, heads, span, out):
        """Fill in the scores, float [heads, rows, keys]."""
        query = self._grouped(self.query[heads, span.rows])  # [key_heads, group * rows, size]
        key = self.key[self._shared(heads), span.keys].transpose(1, 2)
        torch.bmm(query, key, out=self._grouped(out))

    def weigh(self, probability, heads, span):
        """Fill in the context of some heads and rows."""
        context = self._grouped(probability) @ self.value[self._shared(heads), span.keys]
        self.context[heads, span.rows] = context.view(*probability.shape[:2], -1)

    def _shared(self, heads):
        return slice(heads.start // self.group, heads.stop // self.group)

    def _grouped(self, tensor):
        return tensor.unflatten(0, (-1, self.group)).flatten(1, 2)


def _repeated(heads, shared):
    """Keys or values [key_heads, ...], each repeated for every head of its group: [heads, ...]."""
    return shared[:, None].expand(-1, heads // len(shared), -1, -1).flatten(0, 1)


class _GivenScores:
    """Scores that the model computed, and will weigh itself."""

    group, context = 1, None

    def __init__(self, scores):
        self.scores, self.like = scores.score, wide(scores.score[:0])

    def certainly_finite(self):
        """Nothing is known of them."""
        return False

    def score(self, heads, span, out):
        """Fill in the scores, float [heads, rows, keys]; 0 where a target is not visible."""
        out.copy_(self.scores[heads, span.rows, span.keys])
        span.clear(out)

    def weigh(self, *_):
        """Nothing to do."""


def _softmax(score, sink, out):
    """Fill in the probabilities of rows of scores; a sink (float [heads]) takes part too."""
    if sink is None:
        torch.softmax(score, -1, out=out)
    else:
        column = sink[:, None, None].expand(-1, score.shape[1], 1)
        out.copy_(torch.softmax(torch.cat([score, column], -1), -1)[..., :-1])
    torch.nn.functional.threshold_(out, NEGLIGIBLE, 0)
