"""Where a head's scores come from: which earlier parts its queries and keys are made of.

With the norms before the attention frozen, and those of queries and keys, a score is a sum over
pairs of parts of the hidden state that enters the layer:

    score_ij = sum over a, b of scale * (query of part a at i) . (key of part b at j) + position_ij

Parts are the embedding, and every earlier layer's heads, attention biases and feed-forward; and the
biases of norms and projections. position_ij is ALiBi. Rotary positions are inside: queries and keys
are rotated ones. The sum is the score before a cap.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.effects.anatomy import anatomy
from report.effects.asked import Asked, rows_of
from report.effects.frozen import shape_of
from report.effects.parts import Part, parts_before
from report.effects.reads import Stopping, instead, run_to_hook
from report.effects.replay import gives_tuples
from report.effects.writes import require_head
from report.errors import ReportError
from report.measurements.decomposition import score
from report.measurements.factors import Scores
from report.measurements.precision import summed_by, tolerance
from report.models.attention.capture import attached
from report.models.attention.modes import hooked, run_as_it_is, unchanged
from report.models.attention.probe import architecture
from report.models.attention.structure import structure

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel


@dataclass(frozen=True)
class Origins:
    """The scores of one head from one token, by the parts that they are made of; float64.

    layer, head: of it; row: the token that looks, from 0
    parts: names; the last is "biases"
    targets: the tokens that it sees, from 0
    query: [parts, head_dim], of each part at the row, multiplied by the model's scale
    key: [parts, targets, head_dim], of each part at each target
    position: [targets], ALiBi; 0 elsewhere
    score: [targets], as the model computes it, before a cap
    """

    layer: int
    head: int
    row: int
    parts: tuple[Part, ...]
    targets: range
    query: np.ndarray
    key: np.ndarray
    position: np.ndarray
    score: np.ndarray

    def pairs(self, target: int) -> np.ndarray:
        """[parts of the query, parts of the key] for a target token; sums to score - position."""
        return self.query @ self.key[:, self.targets.index(target)].T

    @property
    def by_query(self) -> np.ndarray:
        """[parts, targets]: what each part of the row's hidden state looks for."""
        return self.query @ self.key.sum(0).T

    @property
    def by_key(self) -> np.ndarray:
        """[parts, targets]: what each part of a target's hidden state is found by."""
        return np.einsum("d,ptd->pt", self.query.sum(0), self.key)


def origins_of_heads(
    loaded: "LoadedModel",
    token_ids: Sequence[int],
    layer: int,
    heads: Sequence[int],
    position: int = -1,
) -> list[Origins]:
    """Which parts the scores of heads of a layer, from one token, are made of.

    position: the token that looks, negative ones from the end
    raises: ReportError as `direct_effects` does; for a model that shows no queries and keys; or
        where they are not linear in the hidden state, as when they are clipped
    Several heads cost no more than one.
    """
    for head in heads:
        require_head(anatomy(loaded), layer, head)
    row = rows_of([Asked(position, 0)], len(token_ids), 1)[0]
    parts, written, state = parts_before(loaded, token_ids, layer)
    with _asking(loaded, token_ids, layer) as ask:
        whole = ask(state, frozen=False)
        nothing = ask(torch.zeros_like(state))
        each = [ask(one.to(state.dtype)) for one in written]
    names = (*parts, Part("biases"))
    asked = (_of_head(whole, nothing, each, head) for head in heads)
    return [
        _told(loaded, (layer, head, row), names, whole, found)
        for head, found in zip(heads, asked, strict=True)
    ]


def _told(loaded, place, parts, whole, found):
    """The `Origins` of a head; found: its query and key, see `_of_head`."""
    (layer, head, row), (query, key) = place, found
    _require_linear(loaded, layer, whole, head, query, key)
    visible = whole.range()
    targets = range(int(visible.first[row]), int(visible.last[row]) + 1)
    alibi = torch.zeros(query.shape[1], dtype=torch.float64)
    if whole.position is not None:
        alibi = whole.position[head].double()
    seen = slice(targets.start, targets.stop)
    return Origins(
        layer,
        head,
        row,
        parts,
        targets,
        (whole.scale * query[:, row]).cpu().numpy(),
        key[:, seen].cpu().numpy(),
        alibi[seen].cpu().numpy(),
        score(whole)[head, row, seen].double().cpu().numpy(),
    )


@contextmanager
def _asking(loaded, token_ids, layer) -> Iterator:
    """A function that gives the `Factors` of a layer for a hidden state, float [T, hidden_size].

    The first time, on the hidden state itself, the layer's norms run as they are, and are frozen.
    """
    model, norms = loaded.model, {}
    module = structure(model)[layer].module
    factor = loaded.identity["alibi_factor"]
    gives_tuples(model)  # runs the model, which is not possible below

    def ask(state, frozen=True):
        with instead(module, state), _frozen(norms) if frozen else _watching(module, norms):
            factors, _ = run_to_hook(loaded, layer, state, list(token_ids), run_as_it_is)
        return _told_apart(model, layer, factors)

    # once for all that is asked: every pass is of the same text
    with attached(model, Stopping(), [layer], factor), unchanged(model):
        yield ask


@contextmanager
def _watching(module, norms):
    """Within the context, `norms` is filled: module -> Frozen, for every norm that runs in it."""
    inner = [
        one
        for one in module.modules()
        if "norm" in type(one).__name__.lower() and not list(one.children())
    ]
    seen = {}

    def keep(one, args, output):
        seen.setdefault(one, (args[0].detach().clone(), output.detach().clone()))

    try:
        with hooked([one.register_forward_hook(keep) for one in inner]):
            yield
    finally:
        names = {one: name for name, one in module.named_modules()}
        for one, (before, after) in seen.items():
            norms[one] = shape_of(one, before).frozen(before, after, f"the norm '{names[one]}'")


def _frozen(norms):
    """Within the context, norms have the scales that they had."""

    def replace(one, args, _):
        frozen = norms[one]
        return (frozen.part(args[0]) + frozen.shift).to(args[0].dtype)

    return hooked([one.register_forward_hook(replace) for one in norms])


def _told_apart(model, layer, factors):
    if isinstance(factors, Scores):
        raise ReportError(
            f"architecture {architecture(model)}, layer {layer}: its attention modules show no "
            "more than their scores, so queries and keys cannot be told by their origins"
        )
    return factors


def _of_head(whole, nothing, each, head):
    """Query and key of one head, float64 [parts + 1, T, head_dim]; last what is there anyway."""
    shared = whole.heads // len(whole.key)

    def column(name, place):
        bias = getattr(nothing, name)[place].double()
        own = [getattr(one, name)[place].double() - bias for one in each]
        return torch.stack([*own, bias])

    return column("query", head), column("key", head // shared)


def _require_linear(loaded, layer, whole, head, query, key):
    """Stop where the parts' queries or keys do not sum to the head's.

    raises: ReportError
    """
    shared = whole.heads // len(whole.key)
    summed = summed_by([structure(loaded.model)[layer].module], len(query[0]))
    for name, parts, own in (
        ("queries", query, whole.query[head]),
        ("keys", key, whole.key[head // shared]),
    ):
        off = float((parts.sum(0) - own.double()).abs().max())
        most = tolerance(summed, float(parts.abs().sum(0).max()), own.dtype)
        if not off <= most:
            raise ReportError(
                f"layer {layer}, head {head}: its {name} are not the sum of what parts of the "
                f"hidden state make of them (off by {off:.3g}, allowed is {most:.3g}), as where "
                "they are clipped; their origins cannot be told"
            )
