"""Any model whose attention modules call torch's softmax: its scores and probabilities, no terms.

While a module's own forward runs, the scores are looked at where they enter the softmax, one dense
layer at a time. The model goes on with its own probabilities, whatever it does with them.
"""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from report.measurements.factors import Scores
from report.models.attention.sdpa_spy import seen_targets

SOFTMAX = (functional.softmax, torch.softmax, torch.Tensor.softmax, torch.special.softmax)


def measured_forward(module: nn.Module, attention: Callable, heads: int) -> Callable:
    """A forward for the attention `module`: its own, with its scores shown to `attention`.

    attention: called with (Scores, None); what it returns is ignored
    heads: of the module; a softmax over anything but [heads, T, T] is none of its attention
    """
    own = module.forward

    def forward(*args, **kwargs):
        with _Spy(attention, heads):
            return own(*args, **kwargs)

    return forward


class _Spy(TorchFunctionMode):
    """While entered, `attention` sees every softmax over scores of all heads."""

    def __init__(self, attention, heads):
        super().__init__()
        self.attention, self.heads = attention, heads

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in SOFTMAX:
            scores = _scores(*args, **kwargs)
            if scores is not None and len(scores) == self.heads:
                self.attention(Scores(scores, seen_targets(scores)), None)
        return function(*args, **kwargs)


def _scores(input, dim=None, *_, **__):
    """What a call of softmax with these arguments normalises, float32 [heads, T, T]; or None."""
    square = input.dim() > 2 and input.shape[-1] == input.shape[-2]
    if not square or dim not in (-1, input.dim() - 1):
        return None
    return input.flatten(0, -3).to(torch.promote_types(input.dtype, torch.float32))
