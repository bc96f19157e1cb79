"""Direct effects by target token: how much of a head's effect comes of each token it looks at.

    effect of token j = probability of j * (direction of the logit . what the head writes for j)

Summed over the targets this is the head's direct effect. A token that is looked at much may matter
little: then what it writes has nothing to do with the logit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.effects.asked import Asked
from report.effects.direct import Direct, Directed, directed, effects_of
from report.effects.values import values_of
from report.errors import ReportError
from report.measurements.precision import tolerance

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


@dataclass(frozen=True)
class ByTarget:
    """Direct effects of heads, taken apart by the tokens that they look at; float32, or float64 of
    a model in float64.

    direct: the direct effects, of which `effects` are the heads'
    probability: [rows, layers, heads, T], what the predicting token gives to each target
    effects: [rows, layers, heads, T]; their sum over targets is `direct.heads`
    """

    direct: Direct
    probability: np.ndarray
    effects: np.ndarray


def by_target(loaded: "LoadedModel", token_ids: Sequence[int], asked: Sequence[Asked]) -> ByTarget:
    """Direct effects of every head by target token.

    token_ids: the text; asked: as in `direct_effects`; every row costs layers * heads * T numbers
    raises: ReportError as `direct_effects` does, or where the targets do not sum to a head's effect
    """
    with values_of(loaded.model, len(token_ids)) as watched:
        run = directed(loaded, token_ids, asked, attention=True)
    direct = effects_of(asked, run, len(token_ids))
    probability = [run.recorder.probability[layer] for layer in range(len(run.into))]
    values = [watched.of(layer, run.recorder.values[layer]) for layer in range(len(run.into))]
    shares = torch.stack(probability).transpose(1, 2)  # [layers, rows, heads, T]
    found = _weighed(run, shares, values)
    _require_sum(found, direct, run, len(token_ids))
    return ByTarget(direct, *(one.transpose(0, 1).cpu().numpy() for one in (shares, found)))


def _weighed(run: Directed, shares: torch.Tensor, values: list[torch.Tensor]) -> torch.Tensor:
    """Effects of all layers, float [layers, rows, heads, T]; layers of one shape at once, as each
    operation on a short text costs as much as on a long one.

    shares: probabilities, the same shape; values: float [key_heads, T, value_dim], one a layer
    """
    every = range(len(values))
    if len({value.shape for value in values}) > 1:
        return torch.cat([_some(run, [n], shares[[n]], [values[n]]) for n in every])
    return _some(run, every, shares, values)


def _some(run, layers, shares, values):
    """The same of some layers, whose values have one shape."""
    value = torch.stack([_without_bias(run, *one) for one in zip(layers, values, strict=True)])
    into = torch.stack([run.into[layer] for layer in layers]).to(value.dtype)
    into = into.unflatten(2, (value.shape[1], -1, value.shape[-1]))  # heads of a key head together
    return shares.to(value.dtype) * torch.einsum("lrkgd,lkjd->lrkgj", into, value).flatten(2, 3)


def _without_bias(run, layer, value):
    value = value.to(torch.promote_types(value.dtype, torch.float32))
    parts = run.parts.layers[layer]
    if parts.value_bias is None:
        return value
    bias = parts.value_bias.unflatten(0, (parts.part.heads, -1))
    return value - bias[:: parts.part.heads // len(value), None]


def _require_sum(found, direct, run, length):
    total = found.sum(-1, dtype=torch.float64).transpose(0, 1).cpu().numpy()
    off = float(np.abs(total - direct.heads).max())
    size = float(found.abs().sum(-1).max())
    size = max(1.0, size, float(np.abs(direct.heads).max()))
    most = tolerance(run.parts.summed(length), size, torch.get_default_dtype())
    if run.logits.dtype.itemsize >= 4 and not off <= most:
        raise ReportError(
            f"effects by target do not sum to heads' direct effects: they are off by {off:.3g}, "
            f"allowed is {most:.3g}; this model's heads write more than what they look at"
        )
