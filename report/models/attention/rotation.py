"""What an attention module puts into its queries and keys: biases, and how it rotates them.

Nothing is known of a module by its family; it is called again with other input. Given the same
hidden state for every token, its queries and keys are all alike, unless it rotates them. Given
zeros, they are its biases. Given the angles of token 0 for every token, they are not rotated: that
angle is 0, and a factor that belongs to the rotation, as yarn's, stays.

The last of these calls costs a projection. It is made once, to check a cheaper way: the family's
own `apply_rotary...` function is called a second time on the same queries and keys, with the angles
of token 0 (see `completion`).

Such a call is ask(change, at_first=False). It returns (Factors, pairs) for the hidden state
change(hidden), float [1, T, hidden_size]; pairs are what rotary functions returned, (rotated, not
rotated). With `at_first`, every token is at the position of token 0; None if that is not possible.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch

from report.measurements.factors import Factors
from report.measurements.precision import tolerance

Pairs = list[tuple[torch.Tensor, torch.Tensor]]
"""What rotary functions gave: (rotated, not rotated)."""
Ask = Callable[..., tuple[Factors, Pairs] | None]
"""A function that calls an attention module once more, see above."""

LINEAR = 1e-3
"""If projections deviate from linearity by more than this (relative), a norm follows them. Without
a norm the deviation is rounding, with one it is nearly 1. Half precision may round 16 times eps."""

INPUTS = 2**14
"""Most terms that a query is a sum of; it sets the tolerance for rounding. A rotation turns the
first pair of numbers by a whole radian a token, which is far more."""


@dataclass
class Learned:
    """What an attention module puts into its queries and keys.

    query_bias, key_bias: float [heads or key_heads, head_dim], not rotated; None where there is
        none, or where it cannot be told from the rest (a norm comes after it)
    rotation: "none"; "beside" (the rotary function is called once more); "again" (the module is
        called once more); "unknown" (positions are inside, and neither takes them out)
    entangled: whether there are biases that cannot be told from the rest
    bias_difference: how far from linear the projections are beyond the biases, relative to the
        largest query or key; None where no bias was found
    place_difference: the same of the sum of what positions and everything else put in; None but in
        a first layer of a model that adds positions to its embeddings
    """

    query_bias: torch.Tensor | None
    key_bias: torch.Tensor | None
    rotation: str
    entangled: bool
    bias_difference: float | None
    place_difference: float | None = None


def learned(ask: Ask, factors: Factors, rotated: Pairs) -> Learned:
    """What calls of a module with other input say about it."""
    zero, twice = ask(torch.zeros_like)[0], ask(lambda hidden: 2 * hidden)[0]
    biases, differences, entangled = [], [], False
    for name in ("query", "key"):
        # of token 0, which is never rotated; each [heads, head_dim]
        once, double, bias = (getattr(one, name)[:, 0] for one in (factors, twice, zero))
        # a large bias is rounded as coarsely as it is large
        size = max(float(one.abs().max()) for one in (once, double, bias))
        difference = relative(double - once, once - bias, floor=size)
        if not bias.any():
            biases.append(None)
        elif difference <= linear(bias.dtype):
            biases.append(bias.detach().clone())
            differences.append(difference)
        else:
            biases.append(None)
            entangled = True
    rotation = _rotation(ask, factors, rotated)
    return Learned(*biases, rotation, entangled, max(differences, default=None))


def given(ask: Ask, factors: Factors, _rotated: Pairs) -> Learned:
    """The same of a forward of ours, whose factors hold everything: its biases are checked."""
    zero, _ = ask(torch.zeros_like)
    pairs = (zero.query[:, 0], factors.query_bias), (zero.key[:, 0], factors.key_bias)
    differences = [
        relative(true, torch.zeros_like(true) if bias is None else bias, floor=1.0)
        for true, bias in pairs
    ]
    return Learned(factors.query_bias, factors.key_bias, "given", False, max(differences))


def rotated_biases(ask: Ask, factors: Factors) -> dict[str, torch.Tensor]:
    """The biases as every token rotates them: queries and keys of a hidden state of zeros.

    One token of zeros with the angles of all tokens is tried first. A module that does not take it
    gets zeros for every token, at the cost of a projection.
    """
    biases = None
    shapes = factors.query.shape, factors.key.shape
    with suppress(RuntimeError):
        biases, _ = ask(lambda hidden: torch.zeros_like(hidden[:, :1]))
    if biases is None or (biases.query.shape, biases.key.shape) != shapes:
        biases, _ = ask(torch.zeros_like)
    return {"rotated_query_bias": biases.query, "rotated_key_bias": biases.key}


def linear(dtype: torch.dtype) -> float:
    """The largest relative deviation of projections from linearity that rounding explains."""
    return max(LINEAR, 16 * torch.finfo(dtype).eps)


def _rotation(ask, factors, rotated):
    def alike(hidden):
        return hidden[:, :1].expand_as(hidden)

    same, same_rotated = ask(alike)
    if _rows_alike(same.query, same.key):
        return "none"
    again, beside = unrotated_again(ask, alike), unrotated_beside(same, same_rotated)
    again_right = again is not None and _rows_alike(*again)
    beside_right = beside is not None and _rows_alike(*beside)
    if beside_right and again_right:
        unrotated = unrotated_beside(factors, rotated)  # not found among numbers that are NaN
        beside_right = unrotated is not None and all(map(_close, unrotated, unrotated_again(ask)))
    return "beside" if beside_right else "again" if again_right else "unknown"


def unrotated_again(
    ask: Ask, change: Callable[[torch.Tensor], torch.Tensor] = lambda hidden: hidden
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Query and key with every token at the position of token 0; None if that is not possible."""
    answer = ask(change, at_first=True)
    return answer and (answer[0].query, answer[0].key)


def unrotated_beside(factors: Factors, rotated: Pairs) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Unrotated query and key, from what rotary functions returned; None if they are not in it."""
    query, key = (_placed(full, rotated) for full in (factors.query, factors.key))
    return None if query is None or key is None else (query, key)


def _placed(full, rotated):
    """`full` [heads, T, head_dim] with its rotated part, all or first or last dimensions, undone.

    rotated: pairs of tensors [1, heads or 1, T, size], or [1, T, heads or 1, size]
    """
    for pair in rotated:
        for turned, straight in (pair, [one.transpose(1, 2) for one in pair]):
            turned, straight = turned[0], straight[0]
            size = turned.shape[-1]
            if turned.shape[1] != full.shape[1] or turned.shape[0] not in (1, full.shape[0]):
                continue
            turned, straight = (one.expand(full.shape[0], -1, -1) for one in (turned, straight))
            if size == full.shape[-1]:
                if torch.equal(full, turned):
                    return straight
            elif torch.equal(full[..., :size], turned):
                return torch.cat([straight, full[..., size:]], -1)
            elif torch.equal(full[..., -size:], turned):
                return torch.cat([full[..., :-size], straight], -1)
    return None


def first_row(value: Any) -> Any:
    """Angles [..., T, size] or positions [..., T] of token 0, for every token."""
    if isinstance(value, tuple | list):
        return type(value)(map(first_row, value))
    return value[..., :1, :] if value.is_floating_point() or value.is_complex() else 0 * value


def _rows_alike(*values):
    return all(_close(one, one[:, :1].expand_as(one)) for one in values)


def _close(one, other):
    return relative(one, other) <= max(tolerance(INPUTS), 4 * torch.finfo(one.dtype).eps)


def relative(one: torch.Tensor, other: torch.Tensor, floor: float = 0.0) -> float:
    """Largest difference, as a fraction of the largest value of both, or of `floor`."""
    largest = max(float(one.abs().max()), float(other.abs().max()), floor)
    return float((one - other).abs().max()) / largest if largest > 0 else 0.0
