"""All that is told of one text: effects, what heads write, lens, ablations, origins of scores.

Every token but the last predicts the next token of the text; where something is asked at the last
token, it predicts that. What is asked at a token is a row.

Direct effects by target token: how much of a head's effect comes of each token it looks at.

    effect of token j = probability of j * (direction of the logit . what the head writes for j)

Summed over the targets this is the head's direct effect. A token that is looked at much may matter
little: then what it writes has nothing to do with the logit.

Logit lens: what a model would predict if its last norm came after an earlier layer.

    logits of a state = output . norm(state), with the scale of that state itself

Direct effects keep the scale that the norm has at the end; the two do not add up to each other.
States are those after the attention and after the feed-forward of each layer. Where both are
computed side by side, from one state, "after the attention" is that state with the attention added.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.effects.ablation import ablation
from report.effects.anatomy import anatomy
from report.effects.asked import MEAN, Asked, rows_of
from report.effects.direct import Direct, Directed, directed, effects_of
from report.effects.origins import Origins, origins_of_heads
from report.effects.passing import kept, logits_of
from report.effects.replacing import Replacement
from report.effects.replay import NUMBERS, logits_from
from report.effects.values import values_of
from report.effects.writes import Writes, writes_of_heads
from report.errors import ReportError
from report.measurements.precision import tolerance

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
    progress: Callable[[], object] = lambda: None,
) -> Lens:
    """What the states of a model predict at some tokens of a text.

    positions: tokens that predict, negative ones from the end
    tokens: for each of these the ids that it asks about, as many each; none: nothing is asked
    progress: called after every few states
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
    columns, done = (), 0
    states = torch.stack(states_of(loaded, token_ids, rows))
    for few in states.split(max(1, NUMBERS // (len(rows) * vocabulary))):  # a call takes its time
        for logits in logits_from(loaded.model, few.flatten(0, 1)).split(len(rows)):
            said = _said(logits.double().log_softmax(-1), tokens)
            # small tensors that stay between large ones that go would cost a gigabyte of memory
            columns = columns or [each.new_empty(len(states), *each.shape) for each in said]
            for column, each in zip(columns, said, strict=True):
                column[done] = each
            final = logits
            done += 1
        progress()
    columns = [column.cpu().numpy() for column in columns]
    return Lens(tuple(rows), *columns, final.float().cpu().numpy().copy())


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

    @property
    def size(self) -> int:
        """Bytes of both arrays."""
        return self.probability.nbytes + self.effects.nbytes


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


HEADS = 12
"""Heads of which it is told what they write, and what their scores are made of."""

EARLY, LATE = 6, 0.6
"""Where the layer of a sample is, one so-manieth; and heads that matter in the mean, 1 being the
last layer."""


@dataclass(frozen=True)
class Sentence:
    """What is told of a text.

    token_ids: [T]
    asked: the rows, one a token from the first on: its next token's logit less the mean of all;
        at the last token what was asked
    effects: direct effects at every row, by target
    lens: of all rows; each asks about its token, and the one that the last asks against, or its
        token again. None where only effects are told
    drops: "zero" or "mean" -> float64 [layers, heads], how much what is asked at the last row
        falls; where nothing was, how much the loss of the text rises, in nats a token
    before: what falls, without ablation: a logit difference, or the log probability a token
    writes, origins: (layer, head) -> of the last row
    """

    token_ids: tuple[int, ...]
    asked: tuple[Asked, ...]
    effects: ByTarget
    lens: Lens | None
    drops: dict[str, np.ndarray]
    before: float
    writes: dict[tuple[int, int], Writes]
    origins: dict[tuple[int, int], Origins]
    reasons: dict[str, str]


def rows(token_ids: Sequence[int], last: Asked | None) -> tuple[Asked, ...]:
    """What is asked at each token of a text: its next token, and `last` at the last one."""
    following = [Asked(place, token, MEAN) for place, token in enumerate(token_ids[1:])]
    return (*following, *([last] if last else ()))


def measure_sentence(
    loaded: "LoadedModel",
    token_ids: Sequence[int],
    last: Asked | None,
    replacements: Sequence[Replacement],
    progress: Callable[[], object] = lambda: None,
    lens: bool = True,
    layers: Callable[[], object] = lambda: None,
) -> Sentence:
    """Measure all that is told of a text but what single heads write.

    last: what is asked at the last token; None for a passage, of which only next tokens are
    replacements: what heads are ablated with
    progress: called after the effects, and after the lens
    lens: whether the logit lens is told of
    layers: called after each layer that is ablated, of each replacement
    raises: ReportError as `direct_effects` does
    """
    asked = rows(token_ids, last)
    effects = by_target(loaded, token_ids, asked)
    progress()
    seen = lens_of(loaded, token_ids, asked) if lens else None
    if lens:
        progress()
    drops, before = {}, 0.0
    for replacement in replacements:
        end = [last] if last is not None else []
        step, loss = (lambda *_: layers()), last is None
        found = ablation(loaded, token_ids, end, replacement, loss, step)
        drops[replacement.kind] = found.loss_rise if last is None else found.drop[0]
        before = float(found.log_probability.mean() if last is None else found.before[0])
    return Sentence(tuple(token_ids), asked, effects, seen, drops, before, {}, {}, {})


def lens_of(
    loaded: "LoadedModel",
    token_ids: Sequence[int],
    asked: Sequence[Asked],
    progress: Callable[[], object] = lambda: None,
) -> Lens:
    """The lens of all rows of a text; each asks about two tokens, which may be one.

    asked: the rows, one a token from the first on; progress, raises: as of `logit_lens`
    """
    tokens = [
        (one.token, one.against if isinstance(one.against, int) else one.token) for one in asked
    ]
    return logit_lens(loaded, token_ids, range(len(asked)), tokens, progress)


def heads_that_matter(sentences: Sequence[Sentence]) -> list[tuple[int, int]]:
    """The (layer, head) of the largest direct effect or drop in any of the texts, largest first.

    Each measure counts in units of its own largest value, so that none has all of them.
    """
    size = 0.0
    for sentence in sentences:
        measures = [sentence.effects.direct.heads[-1], *sentence.drops.values()]
        for one in map(np.abs, measures):
            size = np.maximum(size, one / max(float(one.max()), 1e-12))
    places = np.argsort(-size, axis=None, kind="stable")[:HEADS]
    return [tuple(map(int, np.unravel_index(place, size.shape))) for place in places]


def sample_of_heads(
    loaded: "LoadedModel", token_ids: Sequence[int]
) -> tuple[Callable[[], object], float]:
    """A little of what `with_heads` does, and how many times as long that takes, about, before it
    is known which heads matter.

    The origins of a head's scores take as many passes as there are parts before its layer, which is
    an early one here; heads that matter lie in some layers, most of them late ones.
    """
    layers, last = loaded.measured_layers, len(token_ids) - 2
    early, late = layers // EARLY, LATE * (layers - 1)
    several = layers * (1 - (1 - 1 / layers) ** HEADS)
    asked = loaded, token_ids, early, [0], last
    return lambda: origins_of_heads(*asked), several * (late + 1) / (early + 1)


def with_heads(
    loaded: "LoadedModel", sentence: Sentence, heads: Sequence[tuple[int, int]]
) -> Sentence:
    """The same with what chosen heads write, and what their scores are made of, at the last row.

    Where a model does not show the latter, `reasons` says why.
    """
    last, made_of, reasons = len(sentence.asked) - 1, {}, {}
    found = dict(zip(heads, writes_of_heads(loaded, sentence.token_ids, heads, last), strict=True))
    for layer in sorted({layer for layer, _ in heads}):
        own = [head for at, head in heads if at == layer]
        try:
            told = origins_of_heads(loaded, sentence.token_ids, layer, own, last)
        except ReportError as error:
            reasons["origins"] = str(error)
            break
        made_of |= {(layer, one.head): one for one in told}
    return replace(sentence, writes=found, origins=made_of, reasons=reasons)
