"""Protocols of what is written into files, so that nothing here imports torch.

The classes that fit are in `report.measurements` and `report.models`, under the same names.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np


class Term(Protocol):
    """One summand of a head's scores; see `DecodedTerm` for `name`, `per` and `values`."""

    name: str
    per: str
    values: np.ndarray
    pair: tuple[np.ndarray, np.ndarray] | None
    """Query and key [T, n] whose product a "cell" term is; None for other terms."""


class Ranges(Protocol):
    """Which targets each token may attend to: int [T], both ends included."""

    first: np.ndarray
    last: np.ndarray


class Factors(Protocol):
    """What the scores of one layer are made of, and how they enter the softmax.

    Where scores alone are known there are only the first two. The others are explained in
    `report.measurements.factors`; arrays may be tensors.
    """

    softcap: float | None
    sink: np.ndarray | None
    """float [head], or None."""
    query: np.ndarray
    key: np.ndarray
    unrotated_query: np.ndarray | None
    unrotated_key: np.ndarray | None
    query_bias: np.ndarray | None
    key_bias: np.ndarray | None
    position: np.ndarray | None
    scale: float
    query_place: np.ndarray | None
    mixed: bool


class HeadStatistics(Protocol):
    """Averages of all heads over some texts, each float [layer, head], in [0, 1]."""

    itself: np.ndarray
    first_token: np.ndarray
    previous_token: np.ndarray
    concentration: np.ndarray


class PassageMeasurement(Protocol):
    """One passage through one model (L layers, H heads, T tokens)."""

    largest_targets: np.ndarray
    """int [L, H, T, 11]."""
    marker_count: np.ndarray
    """int [L, H, T]."""
    statistics: HeadStatistics
    factors: Sequence[Factors]
    magnitude: np.ndarray | None
    """float [L, H, T], as the other three; None where updates cannot be measured."""
    alignment: np.ndarray | None
    raw_magnitude: np.ndarray | None
    raw_alignment: np.ndarray | None

    def visible(self, layer: int) -> Ranges: ...

    def terms(self, layer: int, head: int) -> Sequence[Term]: ...

    def probability(self, layer: int, head: int) -> np.ndarray: ...


class Repetition(Protocol):
    """Random tokens said twice; arrays are float [sequence, layer, head]."""

    sequences: int
    induction: np.ndarray
    unrepeated: np.ndarray
    previous_token: np.ndarray


class Spread(Protocol):
    """Values over prompts."""

    count: np.ndarray
    """int [position], how many prompts have it."""
    mean: np.ndarray
    standard_error: np.ndarray


class Crossing(Protocol):
    """A token over the boundary of two segments."""

    token: int
    text: str
    before: str
    after: str


class SegmentedText(Protocol):
    """A prompt as the model reads it."""

    tokens: Sequence[dict]
    """Its tokens, each with "text" and perhaps "bytes"."""
    texts: dict[str, str]
    """Name of a segment -> its text."""

    def span(self, name: str) -> range: ...


class ConditionStatistics(Protocol):
    """One condition over all prompts (L layers, H heads, P positions)."""

    name: str
    label: str
    prompts: int
    first: SegmentedText
    """Of the first prompt."""
    received: Spread
    """[3, L, H, P], in the order of REDUCTIONS."""
    compared: Spread | None
    """[3, 2, L, H], in the order of MEASURES and ROWS; None without an added segment."""
    of_layers: Spread | None
    """[3, 2, L], the same of whole layers."""
    positions: Sequence[int]
    crossings: Sequence[tuple[int, Crossing]]
    """Each with the number of its prompt."""
