"""Logit lens: what a model would predict if its last norm came after an earlier layer.

    logits of a state = output . norm(state), with the scale of that state itself

Direct effects keep the scale that the norm has at the end; the two do not add up to each other.
States are those after the attention and after the feed-forward of each layer. Where both are
computed side by side, from one state, "after the attention" is that state with the attention added.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.effects.anatomy import anatomy
from report.effects.asked import Asked, rows_of
from report.effects.passing import kept, logits_of
from report.effects.replay import logits_from

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

MOST_LIKELY = 5


@dataclass(frozen=True)
class Lens:
    """What each state of each row would predict.

    Its states: the embedding, then for each layer the one after its attention and the one after
    its feed-forward; so state 0, and 2 * layer + 1 and 2 * layer + 2.
    positions: the rows, tokens from 0
    tokens: int64 [states, rows, MOST_LIKELY], the most likely next tokens, best first
    log_probabilities: float64 [states, rows, MOST_LIKELY], theirs
    asked: float64 [states, rows, tokens that a row asks about], log probabilities
    ranks: int64 [states, rows, tokens that a row asks about], 0 for the most likely token
    final: float [rows, vocabulary], the logits of the last state: the model's own
    """

    positions: tuple[int, ...]
    tokens: np.ndarray
    log_probabilities: np.ndarray
    asked: np.ndarray
    ranks: np.ndarray
    final: np.ndarray


def logit_lens(
    loaded: "LoadedModel",
    token_ids: Sequence[int],
    positions: Sequence[int],
    tokens: Sequence[Sequence[int]] = (),
) -> Lens:
    """What the states of a model predict at some tokens of a text.

    positions: tokens that predict, negative ones from the end
    tokens: for each of these the ids that it asks about, as many each; none: nothing is asked
    raises: ReportError as `direct_effects` does
    """
    vocabulary = anatomy(loaded).output.weight.shape[0]
    tokens = tokens or [()] * len(positions)
    asked = [
        Asked(position, token)
        for position, own in zip(positions, tokens, strict=True)
        for token in own or (0,)
    ]
    rows_of(asked, len(token_ids), vocabulary)
    rows = [position % len(token_ids) for position in positions]
    found, final = [], None
    for state in states_of(loaded, token_ids, rows):
        logits = logits_from(loaded.model, state)
        found.append(_said(logits.double().log_softmax(-1), tokens))
        final = logits
    columns = (torch.stack(one).cpu().numpy() for one in zip(*found, strict=True))
    return Lens(tuple(rows), *columns, final.float().cpu().numpy())


def states_of(
    loaded: "LoadedModel", token_ids: Sequence[int], rows: Sequence[int]
) -> list[torch.Tensor]:
    """The hidden states of some tokens, each float [rows, hidden_size], as in `Lens`."""
    parts = anatomy(loaded)
    wanted = {}
    for index, layer in enumerate(parts.layers):
        part = layer.part
        wanted["in", index] = part.module, "in"
        wanted["out", index] = part.module, "out"
        wanted["attention", index] = part.norm_after or part.output_projection, "out"
    with kept(wanted, len(token_ids), rows) as states:
        logits_of(loaded.model, token_ids)
    found = [states["in", 0]]
    for index, layer in enumerate(parts.layers):
        update = layer.part.residual_multiplier * states["attention", index]
        found += [states["in", index] + update, states["out", index]]
    return found


def _said(logs, tokens):
    """What `Lens` has of one state, from its log probabilities [rows, vocabulary]."""
    best = logs.topk(min(MOST_LIKELY, logs.shape[-1]), -1)
    index = torch.as_tensor(tokens, dtype=torch.long, device=logs.device).view(len(logs), -1)
    asked = logs.gather(-1, index)
    ranks = [(logs > one[:, None]).sum(-1) for one in asked.T]  # one at a time: they are long
    return best.indices, best.values, asked, torch.stack(ranks, -1) if ranks else index
