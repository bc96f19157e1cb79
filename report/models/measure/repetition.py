"""Induction of all heads, and token losses, on a span of random tokens that is repeated."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from report.measurements.induction import (
    induction_probability,
    previous_token_probability,
    repeated_sequence,
    unrepeated_sequence,
)
from report.models.measure.loss import predicts, token_losses
from report.models.measure.passage import measure_passage

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

LENGTH = 64
"""Tokens in the repeated span; fewer where the context is shorter than two spans, or the vocabulary
has fewer than twice as many ordinary tokens."""
SEQUENCES = 8


@dataclass(frozen=True)
class Repetition:
    """Attention of all heads and losses on repeated random tokens, per sequence."""

    length: int
    """Tokens in the repeated span."""
    induction: np.ndarray
    """float64 [sequences, layers, heads], in [0, 1]; see `induction_probability`."""
    unrepeated: np.ndarray
    """The control: the same probabilities where the span follows a span of other tokens."""
    previous_token: np.ndarray
    """float64 [sequences, layers, heads], in [0, 1]; see `previous_token_probability`."""
    loss_first: np.ndarray | None
    """float64 [sequences], nats a token: over the first occurrence of the span, its first token
    left out. None for a model that does not predict the next token, or is loaded in part."""
    loss_second: np.ndarray | None
    """The same over the second occurrence."""
    loss_unrepeated: np.ndarray | None
    """The same over the span after other tokens."""

    @property
    def sequences(self) -> int:
        """Number of sequences."""
        return len(self.induction)


def repetition(loaded: "LoadedModel", progress: Callable[..., None] | None = None) -> Repetition:
    """Measure a model on `SEQUENCES` sequences, drawn from fixed seeds.

    progress: called with (sequences done, sequences)
    """
    length = span(loaded)
    measured = []
    for seed in range(SEQUENCES):
        repeated, unrepeated = _sequences(loaded, length, seed)
        seen, unseen = (head_probabilities(loaded, ids) for ids in (repeated, unrepeated))
        scores = induction_probability(seen, length), induction_probability(unseen, length)
        losses = _losses(loaded, repeated, unrepeated, length) if predicts(loaded) else [None] * 3
        measured.append((*scores, previous_token_probability(seen), *losses))
        if progress:
            progress(seed + 1, SEQUENCES)
    columns = [
        None if values[0] is None else np.stack(values) for values in zip(*measured, strict=True)
    ]
    return Repetition(length, *columns)


def span(loaded: "LoadedModel") -> int:
    """Tokens in the repeated span: `LENGTH`, or fewer to fit the context and the vocabulary."""
    limits = [loaded.identity["context"], loaded.identity.get("made_for")]
    rooms = [(limit - 1) // 2 for limit in limits if limit]
    return min(LENGTH, len(_ordinary(loaded)) // 2, *rooms)


def _ordinary(loaded):
    """Ids of the tokens that are not special, sorted."""
    tokenizer = loaded.tokenizer
    return np.setdiff1d(np.arange(len(tokenizer)), tokenizer.all_special_ids)


def head_probabilities(loaded: "LoadedModel", token_ids: list[int]) -> np.ndarray:
    """Attention probabilities on one short text: float64 [layers, heads, query, key]."""
    measured = measure_passage(loaded, token_ids, measures=())
    layers, heads = measured.largest_targets.shape[:2]
    return np.stack(
        [
            np.stack([measured.probability(layer, head) for head in range(heads)])
            for layer in range(layers)
        ]
    )


def _sequences(loaded, length, seed):
    """Token ids, lists of int: the repeated sequence, and its control."""
    tokenizer, ordinary = loaded.tokenizer, _ordinary(loaded)
    begin = tokenizer.bos_token_id
    begin = tokenizer.cls_token_id if begin is None else begin
    drawn = ordinary, length, ordinary[0] if begin is None else begin, seed
    return repeated_sequence(*drawn).tolist(), unrepeated_sequence(*drawn).tolist()


def _losses(loaded, repeated, unrepeated, length):
    """Mean losses of the span, nats a token: first and second occurrence, and in the control.

    The first token of the span is left out: nothing before predicts it.
    """
    seen, unseen = (token_losses(loaded.model, ids) for ids in (repeated, unrepeated))
    first, second = slice(1, length), slice(length + 1, 2 * length)  # token i is predicted at i - 1
    return seen[first].mean(), seen[second].mean(), unseen[second].mean()
