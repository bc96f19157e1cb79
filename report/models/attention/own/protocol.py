"""What a file in this folder says of a family whose attention needs a forward pass of our own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import nn

from report.measurements.factors import Factors

ComputeAttention = Callable[[Factors, torch.Tensor], torch.Tensor]
"""Called with a layer's `Factors` and value, float [key_heads, T, value_dim]; returns the context,
float [heads, T, value_dim]."""


class MeasuredForward(Protocol):
    """Makes a forward for an attention module that leaves the attention itself to a function."""

    def __call__(
        self, module: nn.Module, attention: ComputeAttention, alibi_factor: float = 1
    ) -> Callable:
        """The forward: it takes and returns what the module's own does.

        module: the attention module; it is not changed
        attention: computes the context; the forward goes on with what it returns
        alibi_factor: what ALiBi is multiplied by
        raises: ReportError for a factor other than 1 where the module has no ALiBi
        """


@dataclass(frozen=True)
class OwnForward:
    """A family whose attention modules get a forward of ours.

    model_type: of the family's configs
    measured_forward: makes the forward
    unmasked: whether it needs no mask, so that the model need not build one, [1, heads, T, T]
    """

    model_type: str
    measured_forward: MeasuredForward
    unmasked: bool = False
