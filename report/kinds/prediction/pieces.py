"""What datasets say of a prediction, piece by piece: words, parts, a lens, a head."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from report.datasets.formats import prediction_head
from report.text import isolated


@dataclass(frozen=True)
class Word:
    """A token of the vocabulary."""

    id: int
    label: str
    """What a figure shows for it: "␣Mary" would be " Mary"."""


@dataclass(frozen=True)
class Part:
    """Who wrote something into a hidden state.

    kind: "embedding", "head", "attention biases", "feed-forward", or "biases" for what norms and
        projections add to whatever they are given
    """

    kind: str
    layer: int | None = None
    head: int | None = None

    @property
    def label(self) -> str:
        """ "L3H1" for a head, "feed-forward 3", "embedding"."""
        if self.kind == "head":
            return f"L{self.layer}H{self.head}"
        return self.kind if self.layer is None else f"{self.kind} {self.layer}"


@dataclass(frozen=True)
class Lens:
    """What the hidden states of a text would predict if the last norm followed.

    States: the embedding, then of each layer the one after its attention and the one after its
    feed-forward; so state 0, and 2 * layer + 1 and 2 * layer + 2.
    """

    labels: tuple[str, ...]
    """[states]: "embedding", "layer 0, attention", "layer 0, feed-forward", ..."""
    tokens: np.ndarray
    """int [states, rows, best], ids of the most likely next tokens, best first."""
    log_probability: np.ndarray
    """float [states, rows, best], theirs, in nats."""
    target_log_probability: np.ndarray
    """float [states, rows], of the token that the row asks about."""
    target_rank: np.ndarray
    """int [states, rows], 0 for the most likely token."""
    other_log_probability: np.ndarray | None
    """float [states], of the token that the last row asks against; None if there is none."""
    other_rank: np.ndarray | None
    words: dict[int, str] = field(default_factory=dict)
    """Id -> label, of all tokens in `tokens`."""


@dataclass(frozen=True)
class Writes:
    """What a head would add to logits at the last row if all its attention were on one token.

    Logits less the mean over the vocabulary; the strongest first.
    """

    promoted: np.ndarray
    """int [sources, best], ids."""
    promoted_by: np.ndarray
    """float [sources, best], in logits."""
    suppressed: np.ndarray
    suppressed_by: np.ndarray
    words: dict[int, str]
    """Id -> label."""


@dataclass(frozen=True)
class Origins:
    """What a head's scores from the last row are made of, before softmax and before a cap."""

    parts: tuple[Part, ...]
    targets: range
    """The tokens that are looked at."""
    score: np.ndarray
    """float [targets]."""
    position: np.ndarray
    """float [targets], what ALiBi adds; 0 elsewhere."""
    by_query: np.ndarray
    """float [parts, targets]: what each part of the row's hidden state looks for; sums to
    score - position."""
    by_key: np.ndarray
    """float [parts, targets]: what each part of a target's hidden state is found by; the same."""


@dataclass(frozen=True)
class Head:
    """What one head does to the predictions of a text."""

    layer: int
    head: int
    effect: np.ndarray
    """float [rows, tokens], what a row's logit gets by way of each target; 0 after the row. Sums
    over targets to the head's direct effect."""
    probability: np.ndarray
    """float [rows, tokens], how much attention each target gets."""
    writes: Writes | None
    """Of a head in `PredictionData.shown_heads`."""
    origins: Origins | None


def words_of(told: Mapping[str, str]) -> dict[int, str]:
    """Id -> label."""
    return {int(token): isolated(label) for token, label in told.items()}


def writes_of(told: Mapping[str, Any] | None) -> Writes | None:
    """What a prediction-head/1 dataset says of it; None: nothing."""
    if told is None:
        return None
    return Writes(**prediction_head.decode_writes(told), words=words_of(told["words"]))


def origins_of(told: Mapping[str, Any] | None) -> Origins | None:
    """The same of its scores."""
    if told is None:
        return None
    names = zip(*(told["parts"][name] for name in ("kind", "layer", "head")), strict=True)
    targets = range(told["first"], told["first"] + told["targets"])
    parts = tuple(Part(*name) for name in names)
    return Origins(parts, targets, **prediction_head.decode_origins(told))
