"""Paths into a head: what an earlier part wrote, as the head reads it by its Q, its K or its V.

In the corrupted run of a `patching.Pair`, a receiver gets a hidden state to which the difference of
what a sender writes in the two runs was added; all other heads and feed-forward layers are as they
were, so only the direct path counts, by the residual stream. Only the queries, the keys or the
values that the receiver makes of that state are taken, at all tokens; its norm has the scale of the
new state. What the receiver then hands on is put in the place of its context, and everything after
it is computed again. An edge is the share of the way from the corrupted run to the clean one.

With all that enters the receiver in the clean run, and in Q, K and V at once, that is what patching
the receiver does.
source: Wang et al. 2022, arXiv 2211.00593, path patching; Goldowsky-Dill et al. 2023, 2304.05969
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch

from report.effects.parts import Part, parts_before
from report.effects.patching import Pair
from report.effects.reads import Stopping, instead, run_to_hook
from report.effects.replay import gives_tuples
from report.effects.sentence import EARLY, LATE
from report.errors import ReportError
from report.measurements.factors import Factors, Scores
from report.measurements.precision import summed_by, tolerance
from report.models.attention.capture import attached
from report.models.attention.kernel import streaming_attention
from report.models.attention.probe import architecture
from report.models.attention.structure import structure

CHANNELS = ("Q", "K", "V")
"""By which a head reads: its queries, its keys, its values."""

ALL = "QKV"
"""By all three."""


@dataclass(frozen=True)
class Into:
    """What a receiver is told; float64, shares of the way between the two runs.

    layer, head: of the receiver
    senders: all that was written before its layer; what both runs write alike has edges of 0
    edges: [channels, senders]
    whole: [channels + 1], by each channel, and by all, with all that enters it in the clean run
    """

    layer: int
    head: int
    senders: Sequence[Part]
    edges: np.ndarray
    whole: np.ndarray


def into(
    pair: Pair,
    receivers: Sequence[tuple[int, int]],
    progress: Callable[[int, int], None] | None = None,
) -> list[Into]:
    """Every edge from an earlier part into some heads.

    receivers: (layer, head) each
    progress: called with (receivers done, receivers)
    returns: one a receiver, layer by layer
    raises: ReportError as `direct_effects` does; or for a model that shows no queries and keys, or
        whose contexts are not those of its queries, keys and values
    """
    found: list[Into] = []
    for layer in sorted({layer for layer, _ in receivers}):
        heads = sorted(head for at, head in receivers if at == layer)
        for each in _into_layer(pair, layer, heads):
            found.append(each)
            if progress:
                progress(len(found), len(receivers))
    return found


def sample_of(pair: Pair, receivers: int) -> tuple[Callable[[], object], float]:
    """A little of what `into` does of so many heads that matter, and a random one of the layer of
    each, and how many times as long that takes, about, before it is known which these are.

    It takes as many passes as there are parts before a head's layer, which is an early one here.
    """
    layers = pair.loaded.measured_layers
    early, late = layers // EARLY, LATE * (layers - 1)
    heads = [(early, head) for head in range(min(2, structure(pair.loaded.model)[early].heads))]
    return lambda: into(pair, heads), receivers * (late + 1) / (early + 1)


@dataclass(frozen=True)
class _Read:
    """What a layer makes of a hidden state."""

    factors: Factors
    value: torch.Tensor

    def of(self, head: int) -> tuple[Factors, torch.Tensor]:
        """That of one head, in float64."""
        key_head = head // (self.factors.heads // len(self.value))
        return self.factors.head(head), self.value[key_head : key_head + 1].double()


def _into_layer(pair, layer, heads) -> Iterator[Into]:
    ids = [run.token_ids for run in (pair.clean, pair.corrupted)]
    (names, clean, _), (_, corrupted, state) = (
        parts_before(pair.loaded, each, layer) for each in ids
    )
    written = clean - corrupted
    differ = [place for place, each in enumerate(written) if each.any()]
    with _reading(pair, layer) as read:
        own, whole = read(state), read(pair.clean.states[layer])
        told = [read((state.double() + written[place]).to(state.dtype)) for place in differ]
    for head in heads:
        base = own.of(head)
        _require_same(pair, layer, head, _context(*base, layer))
        given = [each.of(head) for each in told]
        contexts = [_mixed(base, each, way, layer) for way in CHANNELS for each in given]
        contexts += [_mixed(base, whole.of(head), way, layer) for way in (*CHANNELS, ALL)]
        shares = _through(pair, layer, head, torch.stack(contexts))
        some, all_of_it = np.split(shares, [len(CHANNELS) * len(differ)])
        edges = np.zeros((len(CHANNELS), len(names)))
        edges[:, differ] = some.reshape(len(CHANNELS), -1)
        yield Into(layer, head, names, edges, all_of_it)


def _mixed(base, other, channels, layer):
    """The context of a head some of whose queries, keys and values are others: [T, value_dim]."""
    factors, value = base
    if "Q" in channels:
        factors = replace(factors, query=other[0].query)
    if "K" in channels:
        factors = replace(factors, key=other[0].key)
    return _context(factors, other[1] if "V" in channels else value, layer)


def _context(factors, value, layer):
    return streaming_attention(factors, value, layer=layer)[0]


def _through(pair, layer, head, contexts):
    """What putting contexts [texts, T, value_dim] in the place of a head's does, as shares."""
    run, heads = pair.corrupted, structure(pair.loaded.model)[layer].heads
    texts = run.contexts[layer][pair.start :].expand(len(contexts), -1, -1).clone()
    texts.unflatten(-1, (heads, -1))[:, :, head] = contexts[:, pair.start :].to(texts)
    return pair.shares(run, pair.of(run, layer, texts))


def _require_same(pair, layer, head, context):
    """Stop where a head's context is not what its queries, keys and values make.

    raises: ReportError
    """
    model = pair.loaded.model
    part, run = structure(model)[layer], pair.corrupted
    own = run.contexts[layer].unflatten(-1, (part.heads, -1))[:, head].double()
    off = float((context - own).abs().max()) if context.shape == own.shape else float("inf")
    summed = summed_by([part.module], pair.tokens)
    most = tolerance(summed, float(own.abs().max()) + 1, run.contexts[layer].dtype)
    if not off <= most:
        raise ReportError(
            f"architecture {architecture(model)}, layer {layer}, head {head}: what it hands on is "
            f"not its probabilities times its values (off by {off:.3g}), so what it reads by each "
            "cannot be told apart"
        )


@contextmanager
def _reading(pair, layer):
    """A function that gives the `_Read` of a layer for a hidden state, float [T, hidden_size]."""
    loaded, model = pair.loaded, pair.loaded.model
    module = structure(model)[layer].module
    gives_tuples(model)  # runs the model, which is not possible below

    def read(state):
        with instead(module, state):
            factors, value = run_to_hook(loaded, layer, state, list(pair.corrupted.token_ids))
        if isinstance(factors, Scores):
            raise ReportError(
                f"architecture {architecture(model)}, layer {layer}: its attention modules show "
                "no more than their scores, so what a head reads by its queries and keys cannot "
                "be told apart"
            )
        return _Read(factors, value)

    with attached(model, Stopping(), [layer], loaded.identity["alibi_factor"]):
        yield read
