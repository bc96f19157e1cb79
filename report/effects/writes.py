"""What a head writes when it reads a token: the next tokens that it promotes and suppresses.

    a token's logit = output . (last norm's gain * output projection . value) / the norm's scale

as if the head gave all its attention to that token of the text; the value's bias is left out, which
is written whatever is read. Times the probability it is the direct effect by target. Less the mean
over the vocabulary, which softmax ignores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.effects.asked import Asked
from report.effects.direct import directed
from report.effects.replay import NUMBERS
from report.effects.values import values_of
from report.errors import ReportError

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

SHOWN = 10


@dataclass(frozen=True)
class Writes:
    """What a head would add to the logits of one prediction, by the token that it reads.

    layer, head: of it; position: the token that predicts, from 0
    sources: the tokens that are read, from 0: each row
    probability: float64 [sources], how much attention each gets
    promoted, suppressed: int64 [sources, SHOWN], ids of tokens, the strongest first
    promoted_by, suppressed_by: float64 [sources, SHOWN], their logits, less the mean of all
    """

    layer: int
    head: int
    position: int
    sources: tuple[int, ...]
    probability: np.ndarray
    promoted: np.ndarray
    promoted_by: np.ndarray
    suppressed: np.ndarray
    suppressed_by: np.ndarray


def writes_of_heads(
    loaded: "LoadedModel",
    token_ids: Sequence[int],
    heads: Sequence[tuple[int, int]],
    position: int = -1,
) -> list[Writes]:
    """What heads, (layer, head), promote and suppress when they read tokens of a text, by one pass.

    position: the token that predicts; it and all before it are read
    raises: ReportError as `direct_effects` does, or for a head or a token that there is not
    """
    with values_of(loaded.model, len(token_ids)) as watched:
        run = directed(loaded, token_ids, [Asked(position, 0)], attention=True)
    sources, found = range(run.rows[0] + 1), []
    for layer, head in heads:
        require_head(run.parts, layer, head)
        value = watched.of(layer, run.recorder.values[layer])
        found.append(_written(run, layer, head, sources, value))
    return found


def _written(run, layer, head, sources, value):
    """The `Writes` of a head; value: as of `_update`, of all tokens."""
    update = _update(run, layer, head, value[:, : len(sources)])
    found = [
        _strongest(run, part) for part in update.split(max(1, NUMBERS // _vocabulary(run.parts)))
    ]
    columns = (torch.cat(one).cpu().numpy() for one in zip(*found, strict=True))
    probability = run.recorder.probability[layer][head, 0, : len(sources)]
    shares = probability.double().cpu().numpy()
    return Writes(layer, head, run.rows[0], tuple(sources), shares, *columns)


def require_head(parts, layer: int, head: int) -> None:
    """Stop for a layer or a head that there is not.

    raises: ReportError
    """
    layers, heads = len(parts.layers), parts.heads
    if not (0 <= layer < layers and 0 <= head < heads):
        raise ReportError(
            f"layer {layer}, head {head} is asked about; the model has layers 0 to {layers - 1} "
            f"with heads 0 to {heads - 1}"
        )


def _update(run, layer, head, value):
    """What reaches the last hidden state, float64 [sources, hidden_size].

    value: float [heads or key_heads, sources, value_dim]
    """
    parts = run.parts.layers[layer]
    heads = parts.part.heads
    own = value[head // (heads // len(value))].double()
    if parts.value_bias is not None:
        own = own - parts.value_bias.double().unflatten(0, (heads, -1))[head]
    weight = parts.part.output_weight().unflatten(1, (heads, -1))[:, head]
    update = parts.part.residual_multiplier * own @ weight.double().T
    _, norm = run.states["through", layer]
    return update if norm is None else norm.part(update)


def _strongest(run, update):
    """Tokens and logits that updates [sources, hidden_size] promote, then those they suppress."""
    weight = run.parts.output.weight.detach()
    factor = run.parts.scale * run.parts.norm_factor
    logits = (run.norm.part(update).to(weight.dtype) @ weight.T).double() * factor
    logits = logits - logits.mean(-1, keepdim=True)
    shown = min(SHOWN, logits.shape[-1])
    best, worst = logits.topk(shown, -1), logits.topk(shown, -1, largest=False)
    return best.indices, best.values, worst.indices, worst.values


def _vocabulary(parts):
    return parts.output.weight.shape[0]
