"""What each head writes for what it reads, and whether that is a copy, from the weights alone.

    W_U . gain of the last norm . W_O W_V . norm . (e + F(e))

is what a head adds to the logits of all tokens when it reads one, as in `report.effects.successor`,
but that the token's embedding e stays beside F(e), what the first feed-forward layer makes of it
alone: models differ in which of both says what token it is. Heads of the first layer read e. No
text is read. So all else is left out that a text would add: layers between, other tokens, how much
attention the head gives, biases, and the scale of the last norm, which is above zero and changes no
order. Logits are given in standard deviations over the vocabulary, from its mean, which no scale
changes.

A head copies a word if the word's own token is among the `TOP` that gain most, and suppresses it if
it is among the `TOP` that lose most. Its scores are the shares of words of which it does. A word
whose logits are all equal is neither. Heads of the first layer have none: they read something else.

The control is the mean over all other pairs of words: whether the token of one is among those that
gain most, or lose most, when the head reads the other. A head that raises the same tokens whatever
it reads has as much there.
source: Wang et al. 2022, "Interpretability in the Wild", 3.1 (arXiv 2211.00593), `TOP` as there;
suppression: McDougall et al. 2023, "Copy Suppression" (arXiv 2310.04625)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.effects.replay import NUMBERS
from report.effects.successor import directions, effective_embeddings, embeddings, require_readers

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

TOP = 5


@dataclass(frozen=True)
class Copying:
    """What each head writes when it reads each of some words.

    gained, lost: int64 [layers, heads, words, TOP], ids of tokens, those that gain or lose most
        first
    gained_by, lost_by: float64, the same shape, their logits less the mean over the vocabulary, in
        standard deviations; 0 where all are equal
    copies, suppresses: float64 [2, words, layers, heads], 1 or 0: whether a word's own token is
        among those; then, of all other words, the share whose tokens are. NaN in the first layer
    """

    gained: np.ndarray
    lost: np.ndarray
    gained_by: np.ndarray
    lost_by: np.ndarray
    copies: np.ndarray
    suppresses: np.ndarray


def copying(
    loaded: "LoadedModel",
    token_ids: Sequence[int],
    done: Callable[[int], object] = lambda layer: None,
) -> Copying:
    """What the heads of a model write when they read words; token_ids: two or more, all different.

    done: called with the number of layers that are done
    raises: ReportError as `report.effects.successor.succession` does for a model
    """
    parts, ids = require_readers(loaded), list(token_ids)
    first = embeddings(loaded, ids)
    states = first + effective_embeddings(loaded, ids)
    weight = parts.output.weight.detach()
    spread = _spread(weight)
    found = []
    for layer in range(len(parts.layers)):
        given = directions(loaded, layer, states if layer else first)
        each = [_strongest(head, weight, spread) for head in given]
        found.append([torch.stack(one).cpu().numpy() for one in zip(*each, strict=True)])
        done(layer + 1)
    gained, gained_by, lost, lost_by = (np.stack(one) for one in zip(*found, strict=True))
    hits = [_hits(*one, ids) for one in ((gained, gained_by), (lost, -lost_by))]
    return Copying(gained, lost, gained_by, lost_by, *hits)


def _strongest(update, weight, spread):
    """Tokens and logits that gain most, then those that lose most: [words, TOP] each.

    update: float64 [words, hidden_size]; spread: of `_spread`
    """
    mean, covariance = spread
    middle = update @ mean
    scale = ((update @ covariance) * update).sum(-1).clamp(min=0).sqrt()
    unit = torch.where(scale > 0, 1 / scale, 0)[:, None]
    found = []
    for few in (unit * update).split(max(1, NUMBERS // len(weight))):
        logits = few.to(weight.dtype) @ weight.T
        best, worst = (logits.topk(min(TOP, len(weight)), -1, largest=way) for way in (True, False))
        found.append((best.indices, best.values, worst.indices, worst.values))
    best, best_by, worst, worst_by = (torch.cat(one) for one in zip(*found, strict=True))
    middle = (unit[:, 0] * middle)[:, None]
    return best, best_by.double() - middle, worst, worst_by.double() - middle


def _spread(weight):
    """Mean and covariance of the rows of the unembedding, float64 [size] and [size, size]."""
    size, blocks = weight.shape[1], weight.split(max(1, NUMBERS // weight.shape[1]))
    mean = sum((block.double().sum(0) for block in blocks), weight.new_zeros(size).double())
    mean = mean / len(weight)
    products = weight.new_zeros(size, size).double()
    for block in blocks:
        centred = block.double() - mean
        products += centred.T @ centred
    return mean, products / len(weight)


def _hits(tokens, by, ids):
    """Which words' own tokens are among tokens, and of how many others: see `Copying.copies`.

    tokens, by: [layers, heads, words, TOP]; by: above 0 where they count
    """
    number = len(ids)
    among = np.zeros((*tokens.shape[:3], number), bool)
    for place, token in enumerate(ids):
        among[..., place] = ((tokens == token) & (by > 0)).any(-1)
    own = among.diagonal(axis1=2, axis2=3).astype(float)
    both = np.stack([own, (among.sum(-1) - own) / (number - 1)])
    both[:, 0] = np.nan
    return np.moveaxis(both, 3, 1)
