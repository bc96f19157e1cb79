"""A norm with the scale that it had: linear, so that it can be shared out among parts.

A norm is x -> gain * c(x) / scale(x) + shift; c takes away the mean of x, or nothing. Frozen, its
scale is the one it had for the whole x, whatever part of x it is then given.
"""

from dataclasses import dataclass

import torch
from torch import nn

from report.errors import ReportError
from report.measurements.precision import tolerance


@dataclass(frozen=True)
class NormShape:
    """What a norm does besides scaling.

    gain: float64 [..., size], up to a constant, which the measured scale makes up for
    shift: float [..., size], what it makes of zeros
    centred: whether it takes away the mean first
    """

    gain: torch.Tensor
    shift: torch.Tensor
    centred: bool

    def frozen(self, before: torch.Tensor, after: torch.Tensor, what: str) -> "Frozen":
        """The norm with the scale it had for each row.

        before, after: float [..., size], what entered and what left it
        what: the norm's name, for the message
        raises: ReportError if it does something else besides
        """
        given = self.gain * centre(before.double(), self.centred)
        left = after.double() - self.shift.double()
        scale = (left * given).sum(-1, keepdim=True) / (given * given).sum(-1, keepdim=True)
        size = max(float(left.abs().max()), float(self.shift.abs().max()))
        off = scale * given - left
        if not float(off.abs().max()) <= tolerance(2 * off.shape[-1], size, before.dtype):
            raise ReportError(
                f"{what} is no norm that multiplies what it gets by one number a token and one a "
                "dimension, so what it gets cannot be shared out; this effect is not measured"
            )
        return Frozen(scale * self.gain, self.shift.double(), self.centred)


@dataclass(frozen=True)
class Frozen:
    """A norm at some tokens: gain float64 [rows, size] (or more axes), shift float64 [size]."""

    gain: torch.Tensor
    shift: torch.Tensor
    centred: bool

    def part(self, update: torch.Tensor) -> torch.Tensor:
        """What becomes of a part of what the norm got, float64 [..., rows, size]; shift left out"""
        return self.gain * centre(update.double(), self.centred)

    def back(self, direction: torch.Tensor) -> torch.Tensor:
        """The direction before the norm that is worth what `direction` [rows, size] is after it."""
        return centre(self.gain * direction, self.centred)


def centre(values: torch.Tensor, centred: bool = True) -> torch.Tensor:
    """The values less their mean over the last axis, or as they are."""
    return values - values.mean(-1, keepdim=True) if centred else values


def shape_of(norm: nn.Module, like: torch.Tensor) -> NormShape:
    """What a norm does, found by asking it, as norms differ: some multiply by 1 + weight.

    like: float [..., size], of the shape and dtype that it takes; norms of queries and keys may
        have other gains for every head
    """
    signs = torch.ones_like(like)
    signs[..., ::2] = -1
    with torch.no_grad():
        shift, once, moved = (norm(given) for given in (torch.zeros_like(like), signs, signs + 3))
    size = float((once - shift).abs().max())
    centred = float((moved - once).abs().max()) < 1e-2 * size
    return NormShape((once - shift).double() / centre(signs.double(), centred), shift, centred)
