"""Ablation of several heads at once: how much worse some next tokens are predicted without all."""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from transformers import Cache, PreTrainedModel

from report.effects.ablation import TOKENS
from report.effects.anatomy import require_whole
from report.effects.found import require_one_way
from report.effects.passing import logits_of
from report.effects.replacing import Replacement
from report.effects.replay import last_states, logits_from
from report.models.attention.modes import hooked
from report.models.attention.structure import structure

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

Place = tuple[int, int]
"""Layer and head."""


def log_probabilities(
    loaded: "LoadedModel",
    token_ids: Sequence[int],
    sets: Sequence[Collection[Place]],
    replacement: Replacement,
    tokens: Sequence[int],
    progress: Callable[[int, int], object] | None = None,
) -> np.ndarray:
    """Log probabilities of some tokens of a text, without each set of heads at all tokens.

    sets: of heads that are replaced together; an empty one replaces none
    replacement: what stands in the place of their contexts, see `replacing`
    tokens: places in the text, from 1 on; each is predicted from the tokens before it
    progress: called with (sets done, sets)
    returns: float64 [sets, tokens], nats
    raises: ReportError as `ablation`
    """
    require_whole(loaded)
    model = loaded.model
    replacement.require_fits(loaded, len(token_ids))
    require_one_way(model, list(token_ids), logits_of(model, token_ids))
    return of_sets(model, token_ids, sets, replacement, tokens, progress=progress)


def of_sets(
    model: PreTrainedModel,
    token_ids: Sequence[int],
    sets: Sequence[Collection[Place]],
    replacement: Replacement,
    tokens: Sequence[int],
    prefix: Cache | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> np.ndarray:
    """The same, of a model that is known to fit.

    token_ids, tokens: of the text after the prefix, at which alone heads are replaced
    prefix: the model's own cache of what is before
    """
    length = len(token_ids) + (prefix.get_seq_length() if prefix is not None else 0)
    rows = torch.as_tensor(tokens, device=model.device) - 1
    following = torch.as_tensor(token_ids, device=model.device)[tokens]
    few, values = max(1, TOKENS // length), []
    for start in range(0, len(sets), few):
        some = sets[start : start + few]
        with hooked(_hooks(model, some, replacement)):
            states = last_states(model, token_ids, len(some), prefix)
        for state in states[:, rows]:
            logits = logits_from(model, state)
            picked = logits.gather(-1, following[:, None])[:, 0].double()
            values.append((picked - logits.logsumexp(-1).double()).cpu().numpy())
        if progress:
            progress(start + len(some), len(sets))
    return np.stack(values)


def _hooks(model, sets, replacement):
    """A hook of each layer that has a head of a set: in each text of a batch, it replaces those of
    one set."""
    hooks = []
    for layer, part in enumerate(structure(model)):
        heads = [[head for of, head in places if of == layer] for places in sets]
        if any(heads):
            hook = _replacing(heads, replacement.of(layer), part.heads)
            hooks.append(part.output_projection.register_forward_pre_hook(hook))
    return hooks


def _replacing(ablated, values, heads):
    """As of `ablation`, of several heads of each text: `ablated` are lists of them."""

    def hook(_, args):
        context = args[0].clone()
        cells = context.view(len(ablated), -1, heads, context.shape[-1] // heads)
        for place, some in enumerate(ablated):
            cells[place, :, some] = values[:, some].to(cells)
        return (context, *args[1:])

    return hook
