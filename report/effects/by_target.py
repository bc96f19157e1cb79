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
    """Direct effects of heads, taken apart by the tokens that they look at; float64.

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
    effects = [
        _layer(run, layer, probability[layer], values[layer]) for layer in range(len(run.into))
    ]
    found = torch.stack(effects, 1).cpu().numpy()
    _require_sum(found, direct, run, len(token_ids))
    shares = torch.stack([one.transpose(0, 1) for one in probability], 1)
    return ByTarget(direct, shares.double().cpu().numpy(), found)


def _layer(run: Directed, layer, probability, value):
    """Float64 [rows, heads, T].

    probability: float [heads, rows, T]; value: float [key_heads, T, value_dim]
    """
    parts = run.parts.layers[layer]
    heads = parts.part.heads
    into = run.into[layer].unflatten(1, (heads, -1)).to(value.dtype)  # [rows, heads, value_dim]
    if parts.value_bias is not None:
        bias = parts.value_bias.unflatten(0, (heads, -1))[:: heads // len(value)]
        value = value - bias[:, None]
    value = value.repeat_interleave(heads // len(value), 0)
    worth = torch.einsum("rhd,hjd->rhj", into, value)
    return probability.transpose(0, 1).double() * worth.double()


def _require_sum(found, direct, run, length):
    off = float(np.abs(found.sum(-1) - direct.heads).max())
    size = max(1.0, float(np.abs(found).sum(-1).max()), float(np.abs(direct.heads).max()))
    most = tolerance(run.parts.summed(length), size, torch.get_default_dtype())
    if run.logits.dtype.itemsize >= 4 and not off <= most:
        raise ReportError(
            f"effects by target do not sum to heads' direct effects: they are off by {off:.3g}, "
            f"allowed is {most:.3g}; this model's heads write more than what they look at"
        )
