"""Any model whose attention modules call torch's scaled_dot_product_attention themselves.

Models that bring code of their own do so, past the attention interface of transformers. The call is
taken over while a module's own forward runs, so nothing is known but its arguments: the
query and key with positions and biases already inside, and the mask.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from report.errors import ReportError
from report.measurements.decomposition import score
from report.measurements.factors import Factors, Scores
from report.measurements.precision import tolerance
from report.measurements.visible import Visible

HIDDEN = 9000.0
"""A score this far below its row's largest is masked where no mask is stronger: -1e4 is the mildest
mask that models add."""
STRONG = -1e30
"""What a strong mask leaves less than, and no score is: most models add the lowest number of their
dtype, or minus infinity. Then scores may be as far apart as they like."""


def measured_forward(module: nn.Module, attention: Callable) -> Callable:
    """A forward for the attention `module`: its own, with its call of sdpa left to `attention`.

    attention: called with (Factors, value [key_heads, T, head_dim]), returns the context, float
        [heads, T, head_dim]; or, where the mask adds more to the scores than a function of the
        target, called with (Scores, None): then the module's own sdpa is computed
    """
    own = module.forward

    def forward(*args, **kwargs):
        with _Spy(attention):
            return own(*args, **kwargs)

    return forward


class _Spy(TorchFunctionMode):
    """While entered, sdpa is computed by `attention`; what `attention` calls itself is not seen."""

    def __init__(self, attention):
        super().__init__()
        self.attention = attention

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is not functional.scaled_dot_product_attention:
            return function(*args, **kwargs)
        factors, value = _arguments(*args, **kwargs)
        context = self.attention(factors, value)
        if value is None:
            return function(*args, **kwargs)
        query = args[0] if args else kwargs["query"]
        return context.reshape(*query.shape[:-1], -1)


def _arguments(query, key, value, attn_mask=None, _dropout_p=0.0, is_causal=False, **others):
    """The Factors and value of a call of sdpa, or Scores and None; the parameters are sdpa's.

    query, key, value: float [1, heads, T, head_dim] or without the 1; with fewer key heads than
        heads, each is shared by a group, as with enable_gqa
    """
    length = query.shape[-2]
    if key.shape[-2] != length:
        raise ReportError(
            f"attention from {length} tokens to {key.shape[-2]} is not measured; only that of a "
            "text to itself is, without a cache"
        )
    scale = others.get("scale") or 1 / math.sqrt(query.shape[-1])
    query, key, value = (part.flatten(0, -3) for part in (query, key, value))
    factors = Factors(query, key, None, None, None, scale)
    if attn_mask is None:
        visible = None if is_causal else Visible.full(length, query.device)
        return replace(factors, visible=visible), value
    mask = attn_mask.reshape(-1, *attn_mask.shape[-2:]).expand(-1, length, -1)  # [heads or 1, T, T]
    if mask.dtype == torch.bool:
        return _with_visible(factors, common_targets(mask)), value
    return with_added(factors, mask, value)


def _with_visible(factors, visible):
    """The same with what is visible, None for causal: the kernel knows that case best."""
    return replace(factors, visible=None if visible.is_causal else visible)


def with_added(
    factors: Factors, mask: torch.Tensor, value: torch.Tensor | None
) -> tuple[Factors | Scores, torch.Tensor | None]:
    """The same with what a float mask [heads or 1, T, T] hides and adds.

    raises: ReportError as `common_targets`
    """
    visible = seen_targets(mask)
    factors, hidden = _with_visible(factors, visible), ~visible.mask()
    positions = [_by_target(of_head.double().masked_fill(hidden, 0), hidden) for of_head in mask]
    if any(position is None for position in positions):
        return Scores(score(factors) + mask, visible), None
    position = torch.stack(positions).to(factors.query.dtype)
    if not position.any():
        return factors, value
    return replace(factors, position=position.expand(factors.heads, -1)), value


def _by_target(added, hidden):
    """A line over the targets, [T], that is `added` [T, T] up to constants of rows; or None.

    What neighbouring targets differ by in one row, they must differ by in every row, but for the
    rounding of each, which adds up from target to target. And by the same from place to place, as
    ALiBi does: what differs otherwise from target to target depends on what they are.
    """
    steps = added.diagonal()[1:] - added.diagonal(-1)
    position = torch.cat([added[0, :1], steps]).cumsum(0)
    rest = added - position
    largest = rest.masked_fill(hidden, -torch.inf).amax(1)
    smallest = rest.masked_fill(hidden, torch.inf).amin(1)
    rounding = tolerance(len(added), added.abs().max())
    line = torch.arange(len(added)).to(added) / max(len(added) - 1, 1)
    bent = (position - torch.lerp(position[0], position[-1], line)).abs().max()
    return position if max((largest - smallest).max(), bent) <= rounding else None


def seen_targets(scores: torch.Tensor) -> Visible:
    """Which targets scores or an additive mask, float [heads, T, T], leave visible: `Visible`.

    raises: ReportError as `common_targets`
    """
    largest = scores.amax(-1, keepdim=True)
    masked = scores <= STRONG
    cells = ~masked if masked.any() else scores >= largest - HIDDEN
    if largest.isfinite().all():
        return common_targets(cells)
    # NaN or infinity: every target counts as seen, and the recorder names the head
    return Visible.full(scores.shape[-1], scores.device)


def common_targets(cells: torch.Tensor) -> Visible:
    """The `Visible` of bool [heads, T, T], true where a head sees a target.

    raises: ReportError where heads see different targets, or a token no unbroken range of them
    """
    if (cells != cells[:1]).any():
        raise ReportError(
            "the heads of a layer see different targets, which is not measured; "
            "one mask for all heads of a layer is"
        )
    return Visible.of_mask(cells[0])
