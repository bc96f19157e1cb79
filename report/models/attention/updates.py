"""The updates of one layer's heads; factorisations of its weights are kept from text to text."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import torch

from report.errors import ReportError
from report.measurements.updates import HeadUpdate, triangle
from report.models.attention.kernel import require_finite, wide
from report.models.attention.structure import LayerStructure, state_of

_TRIANGLES = WeakKeyDictionary()
"""LayerStructure -> (`state_of` its weights, (raw triangle, effective triangle or None))."""


@dataclass(frozen=True)
class Updates:
    """Length and direction of the updates of one layer's heads, each float [heads, T].

    magnitude, alignment: of the updates as they reach the hidden state, see `HeadUpdate`
    raw_magnitude, raw_alignment: before the norm that follows the attention; None without one
    """

    magnitude: torch.Tensor
    alignment: torch.Tensor
    raw_magnitude: torch.Tensor | None = None
    raw_alignment: torch.Tensor | None = None


def updates(
    part: LayerStructure,
    layer: int,
    hidden_state: torch.Tensor,
    context: torch.Tensor,
    attention_output: torch.Tensor,
) -> Updates:
    """Measure one layer's updates.

    part: LayerStructure; layer: its index, for messages
    hidden_state, attention_output: float [T, hidden_size]; context: float [heads, T, value_dim]; as
        a recorder gets them
    returns: Updates
    raises: ReportError naming layer and head where a magnitude or alignment is NaN or infinite
    """
    weight, hidden, context = wide(part.output_weight()), wide(hidden_state), wide(context)
    gain = None if part.norm_after is None else wide(part.norm_weight())
    raw, effective = _triangles(part, weight, gain)
    multiplier = part.residual_multiplier
    lengths = HeadUpdate(weight, raw).magnitude_and_alignment(context, hidden, multiplier)
    if gain is not None:
        scale = wide(part.norm_scale(attention_output)) * multiplier
        effective = HeadUpdate(weight, effective, gain)
        lengths = (*effective.magnitude_and_alignment(context, hidden, scale), *lengths)
    for name, values in zip(("magnitude", "alignment") * 2, lengths, strict=False):
        if not torch.isfinite(values).all():
            _require_something(hidden, layer)
        require_finite(values, layer, f"update {name}")
    return Updates(*lengths)


def _require_something(hidden_state, layer):
    """Stop where nothing enters a layer at some token: no length has a ratio to 0."""
    empty = (hidden_state == 0).all(-1).nonzero()
    if len(empty):
        raise ReportError(
            f"layer {layer}: the hidden state of token {int(empty[0])} is all zeros, so updates "
            "cannot be measured against it; a padding token has such an embedding: leave it out of "
            "the text, or give it another id than the beginning of text"
        )


def _triangles(part, weight, gain):
    """The triangles of a layer, made anew only where a weight is another or was changed."""
    norm = () if part.norm_after is None else part.norm_after.parameters()
    now = state_of((part.output_projection.weight, *norm))
    before, triangles = _TRIANGLES.get(part, (None, None))
    if before != now:
        effective = None if gain is None else triangle(weight, part.heads, gain)
        triangles = triangle(weight, part.heads), effective
        _TRIANGLES[part] = now, triangles
    return triangles
