"""Ablation: how much worse a prediction becomes without what a head writes.

A head's context, which enters the output projection, is put in the place of another: zeros; its
mean over a corpus; or what it was in another text. Later layers see the difference, so this is a
head's whole effect; they also repair some of it (arXiv 2307.15771), and the last norm does
(2402.15390). Resampling usually damages most (2408.17322).

Ablating a head of a layer changes nothing before that layer, so the pass starts from the hidden
states that were kept there, and the heads of a layer are texts of one batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.effects.anatomy import require_whole
from report.effects.asked import Asked, of_rows, rows_of
from report.effects.found import require_one_way
from report.effects.passing import kept, logits_of
from report.effects.replacing import Replacement, means
from report.effects.replay import NUMBERS, TOKENS, entering, last_states, logits_from
from report.models.attention.structure import structure

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


SAMPLED = 512
"""Tokens of a sample, about."""


@dataclass(frozen=True)
class Ablation:
    """By how much numbers fall when a head is ablated, at all tokens at once; float64.

    kind: "zero", "mean" or "resample"
    asked: the rows of `drop`
    drop: [rows, layers, heads], of what is asked, as the model computes it (capped)
    log_probability_drop: [layers, heads, T - 1], of the log probability of each next token, in
        nats: the rise of the loss. None where it was not asked for
    before: [rows], what is asked without ablation
    log_probability: [T - 1], of each next token without ablation, or None
    """

    kind: str
    asked: tuple[Asked, ...]
    drop: np.ndarray
    log_probability_drop: np.ndarray | None
    before: np.ndarray
    log_probability: np.ndarray | None

    @property
    def loss_rise(self) -> np.ndarray | None:
        """The mean rise of the loss over the text, float64 [layers, heads], in nats a token."""
        drops = self.log_probability_drop
        return None if drops is None else drops.mean(-1)


def ablation(
    loaded: "LoadedModel",
    token_ids: Sequence[int],
    asked: Sequence[Asked] = (),
    replacement: Replacement | None = None,
    loss: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Ablation:
    """Ablate every head of a model, one at a time.

    token_ids: the text
    asked: logits or differences whose fall is wanted; none if only the loss is
    replacement: what stands in the place of a head's context, see `replacing`; None: its mean
        over this text, without the first token
    loss: whether the log probability of every token of the text is wanted
    progress: called with (layers done, layers)
    raises: ReportError for an encoder, a model that is loaded in part, or a replacement that does
        not fit
    """
    states, replacement, reading = _begun(loaded, token_ids, asked, replacement, loss)
    model, parts = loaded.model, structure(loaded.model)
    before = reading.of(states["last"][None])
    found = []
    for layer in range(len(parts)):
        found.append(_layer(model, layer, states[layer], replacement, reading))
        if progress:
            progress(layer + 1, len(parts))
    drops = [one.cpu().numpy() for one in map(torch.stack, zip(*found, strict=True))]
    drop, logs = (base.cpu().numpy() - one for base, one in zip(before, drops, strict=True))
    known = before[1][0].cpu().numpy() if loss else None
    return Ablation(
        replacement.kind,
        tuple(asked),
        np.moveaxis(drop, -1, 0),
        logs if loss else None,
        before[0][0].cpu().numpy(),
        known,
    )


def _begun(loaded, token_ids, asked, replacement, loss):
    """The states that enter each layer, what replaces heads, and what is read of last states."""
    require_whole(loaded)
    model, parts = loaded.model, structure(loaded.model)
    length = len(token_ids)
    rows = rows_of(asked, length, _vocabulary(model)) if asked or not loss else []
    replacement = replacement or means(loaded, [token_ids])
    replacement.require_fits(loaded, length)
    wanted = {index: (part.module, "in") for index, part in enumerate(parts)}
    wanted["last"] = parts[-1].module, "out"
    with kept(wanted, length) as states:
        logits = logits_of(model, token_ids)
    require_one_way(model, list(token_ids), logits)
    return states, replacement, _Reading(model, token_ids, asked, rows, loss)


def sample_of(
    loaded: "LoadedModel",
    token_ids: Sequence[int],
    asked: Sequence[Asked] = (),
    replacement: Replacement | None = None,
    loss: bool = False,
) -> tuple[Callable[[], object], float]:
    """A little of what `ablation` does with the same arguments, and how many times as long that
    takes: some heads of the layer in the middle, which is as far from the end as all in the mean.

    raises: ReportError as `ablation`
    """
    states, replacement, reading = _begun(loaded, token_ids, asked, replacement, loss)
    parts = structure(loaded.model)
    middle = len(parts) // 2
    heads = torch.arange(parts[middle].heads)[: max(1, SAMPLED // len(token_ids))]
    some = middle, states[middle], replacement, reading, heads
    number = sum(part.heads for part in parts)
    return lambda: _layer(loaded.model, *some), number / len(heads)


def logits_at_once(loaded: "LoadedModel", length: int) -> int:
    """Of how many tokens logits are computed at once, at most, where each head of a text of so many
    tokens is ablated, those of a layer together, and all layers are read by the lens."""
    about = loaded.identity
    copies = max(about["num_attention_heads"], loaded.measured_layers)
    return max(length, min(copies * length, NUMBERS // about["vocabulary"]))


def by_layer(layers: int) -> list[int]:
    """How much of the work of `ablation` each layer is, in any unit: those after it are run
    again."""
    return [layers - layer + 1 for layer in range(layers)]


@dataclass(frozen=True, eq=False)
class _Reading:
    """What is read off last hidden states: what is asked, and the tokens' log probabilities."""

    model: torch.nn.Module
    token_ids: Sequence[int]
    asked: Sequence[Asked]
    rows: list[int]
    loss: bool

    def of(self, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """(float64 [texts, rows], float64 [texts, T - 1]; 0 wide where the loss is not wanted).

        states: float [texts, T, hidden_size]
        """
        texts = len(states)
        asked = self._read(
            states[:, self.rows].flatten(0, 1),
            lambda logits, places: of_rows(
                logits, [self.asked[place % len(self.rows)] for place in places]
            ),
        )
        if not self.loss:
            return asked.view(texts, -1), states.new_zeros(texts, 0, dtype=torch.float64)
        following = torch.as_tensor(self.token_ids[1:], device=states.device).repeat(texts)
        logs = self._read(
            states[:, :-1].flatten(0, 1),
            lambda logits, places: _log_probability(logits, following[places]),
        )
        return asked.view(texts, -1), logs.view(texts, -1)

    def _read(self, states, read):
        """What `read` makes of the logits of states [rows, hidden_size], some rows at a time."""
        few = max(1, NUMBERS // _vocabulary(self.model))
        found = [states.new_zeros(0, dtype=torch.float64)]
        for start in range(0, len(states), few):
            places = list(range(start, min(start + few, len(states))))
            found.append(read(logits_from(self.model, states[places]), places))
        return torch.cat(found)


def _log_probability(logits, tokens):
    picked = logits.gather(-1, tokens[:, None])[:, 0].double()
    return picked - logits.logsumexp(-1).double()


def _layer(model, layer, state, replacement, reading, heads=None):
    """What is read with each head of a layer ablated: ([heads, rows], [heads, T - 1]).

    heads: int, those that are; None: all
    """
    part, found = structure(model)[layer], []
    length, every = len(state), torch.arange(part.heads) if heads is None else heads
    for heads in every.split(max(1, TOKENS // length)):
        states = state[None].expand(len(heads), -1, -1)
        replaced = _replacing(heads, replacement.of(layer), part.heads)
        into = part.output_projection
        # entered first, as it may run the model
        with entering(model, layer, states), into.register_forward_pre_hook(replaced):
            last = last_states(model, reading.token_ids, len(heads))
        found.append(reading.of(last))
    return tuple(map(torch.cat, zip(*found, strict=True)))


def _replacing(ablated, values, heads):
    """A hook that replaces in each text of a batch the context of one head.

    ablated: int [texts], the heads; values: float [T or 1, heads, value_dim]
    """

    def hook(_, args):
        context = args[0].clone()
        cells = context.view(len(ablated), -1, heads, context.shape[-1] // heads)
        for place, head in enumerate(ablated.tolist()):
            cells[place, :, head] = values[:, head].to(cells)
        return (context, *args[1:])

    return hook


def _vocabulary(model):
    return model.get_output_embeddings().weight.shape[0]
