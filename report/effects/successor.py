"""Which heads turn a word of an ordered list into the next one, by the weights alone.

    W_U . gain of the last norm . W_O W_V . norm . F(e)

is what a head's OV circuit adds to the logits when it reads a token: e is the token's embedding,
and F(e) its effective embedding, what the first feed-forward layer makes of the embedding alone. A
head is right where the logit of the next word is above those of all other words of the list, the
word itself among them; its score is the share of words of which it is right. Norms before have the
scale that they have for F(e) alone; that of the last norm, and of one after the attention, are left
out, since numbers above zero do not change which logit is the highest. Biases are left out, those
of norms too: a head writes what comes of them whatever it reads. Heads of the first layer read no
feed-forward layer, so they have no score.

The control is the mean over all other orders of the same words: a head whose highest logit is that
of another word is right in one of n - 1 of them.
source: Gould et al. 2023, "Successor Heads" (arXiv 2312.09230)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.effects.anatomy import Anatomy, anatomy
from report.effects.frozen import centre
from report.effects.reads import (
    CaughtError,
    at_once,
    instead,
    projections,
    run_to_hook,
    what_enters,
)
from report.effects.replay import gives_tuples
from report.errors import ReportError
from report.measurements.precision import tolerance
from report.models.attention.modes import hooked
from report.models.attention.probe import architecture
from report.models.attention.self_check import checked
from report.models.text.ordered import OrderedList

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


@dataclass(frozen=True)
class Succession:
    """Of which steps heads are right; float64 [steps, layers, heads] each, NaN in the first layer.

    right: 1 or 0; by_chance: the mean over all other orders of the same words
    """

    right: np.ndarray
    by_chance: np.ndarray


def succession(
    loaded: "LoadedModel",
    lists: Sequence[OrderedList],
    done: Callable[[int], object] = lambda layer: None,
) -> Succession:
    """Of which steps of some lists the OV circuits of a model's heads are right.

    done: called with the number of layers that are done
    raises: ReportError as `checked` and `anatomy` do; for a model of one layer, one whose attention
        shows scores alone, or whose positions cannot be told from its embeddings
    """
    parts = require_readers(loaded)
    states = [effective_embeddings(loaded, each.token_ids) for each in lists]
    steps = sum(len(each.steps) for each in lists)
    found = np.full((2, steps, len(parts.layers), parts.heads), np.nan)
    done(1)
    for layer in range(1, len(parts.layers)):
        both = [
            _of_list(_logits(loaded, layer, state, each.token_ids), each)
            for state, each in zip(states, lists, strict=True)
        ]
        found[:, :, layer] = np.concatenate(both, axis=1)
        done(layer + 1)
    return Succession(*found)


def _of_list(logits, words):
    """Whether heads are right, and how often in other orders: float64 [2, steps, heads].

    logits: float64 [heads, words that are read, words]
    """
    now, after = np.array(words.steps).T
    logits = logits[:, now]
    first, second = logits.topk(2, -1).values.unbind(-1)
    chosen = torch.where(first > second, logits.argmax(-1), -1).numpy()
    another = (chosen >= 0) & (chosen != now)
    return np.stack([chosen == after, another / (len(words.token_ids) - 1)]).swapaxes(1, 2)


def require_readers(loaded: "LoadedModel") -> Anatomy:
    """The parts of a model in which heads read what a feed-forward layer makes of a word.

    raises: ReportError as `succession` does for a model
    """
    checked(loaded)
    parts = anatomy(loaded)
    if len(parts.layers) < 2:
        raise ReportError(
            f"model '{loaded.identity['name']}' has one layer, so no head reads what its "
            "feed-forward layer makes of a word; take one of more layers"
        )
    return parts


def _logits(loaded, layer, states, token_ids):
    """What each head adds to the logits of words when it reads them, but for numbers above zero.

    states: float [words, hidden_size]; returns: float64 [heads, words that are read, words]
    """
    output = anatomy(loaded).output.weight.detach()[list(token_ids)].double()
    return (directions(loaded, layer, states) @ output.T).cpu()


def directions(loaded: "LoadedModel", layer: int, states: torch.Tensor) -> torch.Tensor:
    """What the heads of a layer hand to the unembedding when they read states, but for numbers
    above zero: float64 [heads, states, hidden_size].

    states: float [states, hidden_size], what enters the layer
    raises: ReportError as `projections` does
    """
    parts = anatomy(loaded)
    of_layer, part = parts.layers[layer], parts.layers[layer].part
    shift = what_enters(loaded, layer, torch.zeros_like(states[:1]))
    values = [
        projections(loaded, layer, what_enters(loaded, layer, few) - shift)[2]
        for few in states.split(at_once(loaded))
    ]
    value = torch.cat(values, 1)
    value = value.repeat_interleave(part.heads // len(value), 0)
    weight = part.output_weight().double().unflatten(1, (part.heads, -1))
    update = torch.einsum("hwv,dhv->hwd", value, weight) * part.residual_multiplier
    if of_layer.norm_after is not None:
        shape = of_layer.norm_after
        update = shape.gain * centre(update, shape.centred)
    last, factor = parts.norm_shape, parts.scale * parts.norm_factor
    return factor * (last.gain * centre(update, last.centred))


def effective_embeddings(loaded: "LoadedModel", token_ids: Sequence[int]) -> torch.Tensor:
    """What the first feed-forward layer makes of embeddings alone, float [tokens, hidden_size].

    raises: ReportError as `embeddings` does
    """
    parts, states = anatomy(loaded).layers[0], embeddings(loaded, token_ids)
    part = parts.part

    def nothing(_, __, output):
        return torch.zeros_like(output)

    def catch(_, __, output):
        raise CaughtError(output[0] if isinstance(output, tuple) else output)

    hooks = [
        (part.norm_after or part.output_projection).register_forward_hook(nothing),
        parts.feed_forward.register_forward_hook(catch),
    ]
    with hooked(hooks):
        found = []
        for few in states.split(at_once(loaded)):
            with instead(part.module, few):
                found.append(run_to_hook(loaded, 0, few).reshape(few.shape))
    return parts.factor * torch.cat(found)


def embeddings(loaded: "LoadedModel", token_ids: Sequence[int]) -> torch.Tensor:
    """What enters the first layer for each token, less what is of its place, float [tokens, size].

    raises: ReportError where place and token are not summed
    """
    module, device = anatomy(loaded).layers[0].part.module, loaded.model.device
    gives_tuples(loaded.model)  # runs the model, which is not possible below
    few = at_once(loaded)
    if len(token_ids) > few:
        parts = [token_ids[at : at + few] for at in range(0, len(token_ids), few)]
        return torch.cat([embeddings(loaded, part) for part in parts])

    def catch(_, args, kwargs):
        raise CaughtError(args[0] if args else kwargs["hidden_states"])

    def entered(ids):
        hook = module.register_forward_pre_hook(catch, with_kwargs=True)
        with hooked([hook]):
            return run_to_hook(loaded, 0, torch.zeros(len(ids), 1, device=device), list(ids))[0]

    ahead, back = entered(token_ids), entered(token_ids[::-1])
    limit = tolerance(4, float(ahead.abs().max()), ahead.dtype)
    if float((ahead - back.flip(0)).abs().max()) <= limit:
        return ahead
    with torch.no_grad():
        of_token = loaded.model.get_input_embeddings()(torch.as_tensor(token_ids, device=device))
    if of_token.shape == ahead.shape:
        of_place = ahead - of_token, back - of_token.flip(0)
        if float((of_place[0] - of_place[1]).abs().max()) <= limit:
            return of_token
    raise ReportError(
        f"architecture {architecture(loaded.model)}: what enters its first layer is no sum of a "
        "token's embedding and its place's, so words have no embedding alone"
    )
