"""Portraits of heads over many texts: how far they look, at which tokens, and how surely in which
texts. They can be merged, and do not depend on how the texts were divided."""

import base64
import functools
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from report.measurements.tally import Tally

STARTS = (0, 1, 2, 3, 4, 5, 9, 17, 33, 65, 129, 257)
"""Distances that a bin begins at. The first token of a text is a bin of its own before them."""

UNIT = 2.0**-24
"""Sums are whole numbers of it, so that their order does not matter."""

BEST = 3
"""Texts of a head that it is strongest in, of all."""

WINDOW = 96
"""Tokens of a text that are shown: of a longer one those where the head is strongest."""


@dataclass(frozen=True)
class TextPortrait:
    """What all heads look at in one text of T tokens. Its first token, where many heads rest,
    counts neither as one that looks nor as one that is looked at, but for the distances.

    strength: float [layer, head, T], the largest probability on another token than the first
    target: int [layer, head, T], that token; -1 where there is none
    received: float64 [layer, head, T], probability of all tokens together; even_received
        [layer, 1, T], that of even attention over what is visible
    distances: float64 [layer, head, bin], probability by distance, summed over tokens;
        even_distances [layer, 1, bin]; see `STARTS`
    """

    token_ids: list[int]
    strength: np.ndarray
    target: np.ndarray
    received: np.ndarray
    even_received: np.ndarray
    distances: np.ndarray
    even_distances: np.ndarray


@dataclass(frozen=True)
class Reading:
    """How a head reads a part of a text.

    score: mean strength over the text, in `UNIT`s
    start: the first token of the part
    strength: uint8 [tokens], in per cent; target: int32 [tokens], places in the text, or -1
    """

    score: int
    start: int
    strength: np.ndarray
    target: np.ndarray

    def as_json(self) -> list:
        """It as a list, every number as it is."""
        return [self.score, self.start, _packed(self.strength), _packed(self.target)]

    @classmethod
    def of_json(cls, values: list) -> "Reading":
        """What such a list holds."""
        score, start, strength, target = values
        return cls(score, start, _unpacked(strength, np.uint8), _unpacked(target, np.int32))


@dataclass
class Portraits:
    """Sums over texts, and the texts that are shown.

    layers, heads: of the model; rows: tokens but the first ones
    distances: int64 [layer, head, bin], even: [layer, 1, bin]; in `UNIT`s
    tokens: token id -> int64 [2 + layers + 2 layers heads]: texts with it, how often, what it gets
        of even attention in each layer, what it gets of each head, and how strong each head is at
        it; the last three in `UNIT`s
    readings: number of a text -> place of a head, layer x heads + head -> `Reading`
    texts: number of a text -> its token ids, for those of `readings`
    sample: numbers of texts that are read by all heads
    """

    starts: ClassVar = STARTS
    unit: ClassVar = UNIT
    layers: int
    heads: int
    distances: np.ndarray
    even: np.ndarray
    rows: int = 0
    tokens: dict[int, np.ndarray] = field(default_factory=dict)
    readings: dict[int, dict[int, Reading]] = field(default_factory=dict)
    texts: dict[int, list[int]] = field(default_factory=dict)
    sample: set[int] = field(default_factory=set)

    @classmethod
    def empty(cls, layers: int, heads: int) -> "Portraits":
        """Of no text."""
        each = np.zeros((layers, heads, len(STARTS) + 1), np.int64)
        return cls(layers, heads, each, each[:, :1].copy())

    def add(self, number: int, text: TextPortrait, sample: bool, tokens: bool, shown: bool) -> None:
        """Count a text.

        number: of the text; sample: whether all heads read it; tokens: whether its tokens count;
        shown: whether it may be among the texts that heads are shown with
        """
        self.rows += len(text.token_ids) - 1
        self.distances += _units(text.distances)
        self.even += _units(text.even_distances)
        if tokens:
            self._add_tokens(text)
        if shown:
            self._add_readings(number, text, sample)

    def _add_tokens(self, text):
        ids, place = np.unique(text.token_ids[1:], return_inverse=True)
        which = np.zeros((len(place), len(ids)))
        which[np.arange(len(place)), place] = 1
        parts = (text.even_received, text.received, text.strength.astype(float))
        summed = [(part[..., 1:] @ which).reshape(-1, len(ids)) for part in parts]
        number = np.stack([np.ones(len(ids)), which.sum(0)]).astype(np.int64)
        values = np.concatenate([number, _units(np.concatenate(summed))])
        for token, each in zip(ids.tolist(), values.T, strict=True):
            self.tokens[token] = self.tokens[token] + each if token in self.tokens else each.copy()

    def _add_readings(self, number, text, sample):
        strength = text.strength.reshape(self.layers * self.heads, -1)
        target = text.target.reshape(strength.shape)
        scores = _units(strength[:, 1:].mean(1, dtype=float))
        starts = _starts(strength)
        best = np.flatnonzero(scores >= self._least()).tolist()
        if not sample and not best:
            return
        read = self.readings[number] = {}
        for place in range(len(scores)) if sample else best:
            part = slice(int(starts[place]), int(starts[place]) + WINDOW)
            per_cent = np.rint(100 * strength[place, part]).astype(np.uint8)
            read[place] = Reading(int(scores[place]), part.start, per_cent, target[place, part])
        self.texts[number] = list(text.token_ids)
        if sample:
            self.sample.add(number)
        for place in best:
            self._rank(place, number)

    @functools.cached_property
    def _best(self):
        """Of each head the best texts: lists of (-score, number), the best first."""
        every: list[list] = [[] for _ in range(self.layers * self.heads)]
        for number, read in self.readings.items():
            for place, reading in read.items():
                every[place].append((-reading.score, number))
        return [sorted(each)[:BEST] for each in every]

    def _least(self):
        """What a text has to reach to be among the best: int64 [layers x heads]."""
        return np.array([-best[-1][0] if len(best) == BEST else 0 for best in self._best])

    def _rank(self, place, number):
        """Put a text among the best of a head, and forget which is not among them any more."""
        pair = -self.readings[number][place].score, number
        ranked = sorted({*self._best[place], pair})
        self._best[place] = ranked[:BEST]
        for _, other in ranked[BEST:]:
            self._forget(place, other)

    def _forget(self, place, number):
        if number in self.sample:
            return
        self.readings[number].pop(place, None)
        if not self.readings[number]:
            del self.readings[number], self.texts[number]

    def best(self, layer: int, head: int) -> list[int]:
        """The numbers of the texts that a head is strongest in, the strongest first."""
        return [number for _, number in self._best[layer * self.heads + head]]

    def merge(self, other: "Portraits") -> "Portraits":
        """Those of both, as if their texts had been measured together (a new object)."""
        tokens = dict(self.tokens)
        for token, values in other.tokens.items():
            tokens[token] = tokens[token] + values if token in tokens else values
        readings = {number: dict(read) for number, read in (self.readings | other.readings).items()}
        merged = Portraits(
            self.layers,
            self.heads,
            self.distances + other.distances,
            self.even + other.even,
            self.rows + other.rows,
            tokens,
            readings,
            self.texts | other.texts,
            self.sample | other.sample,
        )
        best = [{number for _, number in each} for each in merged._best]
        for number, places in [(number, [*read]) for number, read in readings.items()]:
            for place in places:
                if number not in best[place]:
                    merged._forget(place, number)
        return merged

    def as_json(self) -> dict[str, Any]:
        """All of it as JSON, every number as it is."""
        ids = np.array([*self.tokens], np.int64)
        counted = np.array([*self.tokens.values()], np.int64)
        return {
            "shape": [self.layers, self.heads, self.rows],
            "distances": _packed(self.distances),
            "even": _packed(self.even),
            "tokens": [_packed(ids), _packed(counted)],
            "readings": {
                str(number): {str(place): reading.as_json() for place, reading in read.items()}
                for number, read in self.readings.items()
            },
            "texts": {str(number): ids for number, ids in self.texts.items()},
            "sample": sorted(self.sample),
        }

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> "Portraits":
        """What `as_json` gave."""
        layers, heads, rows = data["shape"]
        ids, counted = (_unpacked(part, np.int64) for part in data["tokens"])
        each = counted.reshape(len(ids), -1)
        return cls(
            layers,
            heads,
            _unpacked(data["distances"], np.int64).reshape(layers, heads, -1),
            _unpacked(data["even"], np.int64).reshape(layers, 1, -1),
            rows,
            dict(zip(ids.tolist(), each, strict=True)),
            {
                int(number): {int(p): Reading.of_json(reading) for p, reading in read.items()}
                for number, read in data["readings"].items()
            },
            {int(number): ids for number, ids in data["texts"].items()},
            set(data["sample"]),
        )


@dataclass
class PortraitTally(Tally):
    """A tally with portraits of the heads over the same texts, and the words of their tokens: each
    with "text", and "bytes" where that is not whole characters."""

    portraits: Portraits | None = None
    words: dict[int, dict[str, str]] = field(default_factory=dict)

    def merge(self, other: Tally) -> "PortraitTally":
        """The tally of both (a new object)."""
        both = super().merge(other)
        portraits, words = self.portraits.merge(other.portraits), self.words | other.words
        return PortraitTally(**vars(both), portraits=portraits, words=words)

    def as_json(self) -> dict[str, Any]:
        """The portrait-batch/2 dataset, but for its seal."""
        words = {str(token): word for token, word in self.words.items()}
        more = {"portraits": self.portraits.as_json(), "words": words}
        return super().as_json() | {"schema": SCHEMA} | more

    @classmethod
    def of_json(cls, data: dict[str, Any]) -> "PortraitTally":
        """The tally that such a dataset holds, every number as it was."""
        words = {int(token): word for token, word in data["words"].items()}
        portraits = Portraits.of_json(data["portraits"])
        return cls(**vars(Tally.of_json(data)), portraits=portraits, words=words)


SCHEMA = "portrait-batch/2"


def _units(values):
    return np.rint(values / UNIT).astype(np.int64)


def _starts(strength):
    """Of each head where the part of `WINDOW` tokens begins in which it is strongest."""
    length = strength.shape[1]
    if length <= WINDOW:
        return np.zeros(len(strength), np.int64)
    summed = np.cumsum(_units(strength), axis=1)
    summed = np.concatenate([np.zeros((len(strength), 1), np.int64), summed], 1)
    return np.argmax(summed[:, WINDOW:] - summed[:, :-WINDOW], axis=1)


def _packed(values: Iterable) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(values).tobytes())).decode()


def _unpacked(text, kind):
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), kind)
