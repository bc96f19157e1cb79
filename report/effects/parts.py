"""The hidden state that enters a layer, as the sum of everything that was written before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from report.effects.anatomy import LayerParts, anatomy
from report.effects.passing import RowRecorder, kept, logits_of
from report.models.attention.capture import attached

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


@dataclass(frozen=True)
class Part:
    """Who wrote something.

    kind: "embedding", "head", "attention biases", "feed-forward", or "biases" for what norms and
        projections add to whatever they are given
    layer, head: of it, where it has them
    """

    kind: str
    layer: int | None = None
    head: int | None = None


def parts_before(
    loaded: "LoadedModel", token_ids: Sequence[int], layer: int
) -> tuple[list[Part], torch.Tensor, torch.Tensor]:
    """All that was written before a layer.

    returns: (the parts, float64 [parts, T, hidden_size], float [T, hidden_size]: their sum as it
        enters the layer)
    raises: ReportError as `direct_effects` does
    """
    found, length = anatomy(loaded), len(token_ids)
    recorder = None
    with kept(_wanted(found, layer), length) as states:
        if any(one.sink for one in found.layers):
            recorder = RowRecorder(range(length))
            with attached(loaded.model, recorder):
                logits_of(loaded.model, token_ids)
        else:
            logits_of(loaded.model, token_ids)
    names, written = [Part("embedding")], [states["in", 0].double()[None]]
    for index in range(layer):
        parts = found.layers[index]
        given = recorder.probability[index].double().sum(-1).T if recorder else None
        heads, biases = _attention(parts, index, states, given)
        forward = parts.factor * states["feed-forward", index].double()
        names += [Part("head", index, head) for head in range(parts.part.heads)]
        names += [Part("attention biases", index), Part("feed-forward", index)]
        written += [heads, biases[None], forward[None]]
    return names, torch.cat(written), states["in", layer]


def value_bias(parts: LayerParts, given: torch.Tensor | None) -> torch.Tensor | None:
    """What the value biases make of contexts, float64 [rows or 1, heads, value_dim]; None: 0.

    given: float64 [rows, heads], what each row's probabilities sum to; needed with a sink
    """
    if parts.value_bias is None:
        return None
    bias = parts.value_bias.double().unflatten(0, (parts.part.heads, -1))[None]
    return bias * given[..., None] if parts.sink else bias


def _wanted(found, layer):
    wanted = {("in", index): (found.layers[index].part.module, "in") for index in (0, layer)}
    for index, parts in enumerate(found.layers[:layer]):
        part = parts.part
        wanted["context", index] = part.output_projection, "in"
        wanted["attention", index] = part.output_projection, "out"
        wanted["feed-forward", index] = parts.feed_forward, "out"
        if part.norm_after is not None:
            wanted["normed", index] = part.norm_after, "out"
    return wanted


def _attention(parts, index, states, given):
    """What heads wrote, float64 [heads, T, hidden_size], and the biases, [T, hidden_size]."""
    part = parts.part
    context = states["context", index].double().unflatten(1, (part.heads, -1))
    bias = value_bias(parts, given)
    context = context if bias is None else context - bias
    weight = part.output_weight().double().unflatten(1, (part.heads, -1))
    heads = torch.einsum("thd,mhd->htm", context, weight)
    total = states["attention", index]
    if parts.norm_after is not None:
        before, total = total, states["normed", index]
        name = f"layer {index}: the norm after the attention"
        heads = parts.norm_after.frozen(before, total, name).part(heads)
    heads = part.residual_multiplier * heads
    return heads, part.residual_multiplier * total.double() - heads.sum(0)
