"""What an article about regions may say: which heads come back, to what, and what that is for."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from report.datasets.formats.regions import FAR
from report.figures.parts.heads import Head, largest, ranks
from report.kinds.regions.data import Region, RegionsData


def context(data: RegionsData) -> dict:
    """What templates of articles about regions use: `find`."""
    return {"find": Findings(data)}


LEVEL = 0.95
"""Part of the sets of random heads that an interval has."""


@dataclass(frozen=True)
class Rise:
    """The loss on the answer without the receiver heads, beside random heads of their layers."""

    receivers: float
    """By how much it rises without them, nats a token."""
    random: float
    """The same without as many random heads of each layer, the mean over the sets."""
    low: float
    """Where the middle `level` of the sets begin."""
    high: float
    """And where they end."""
    level: float
    """0.95."""
    at_least: int
    """Sets without which it rises as much as without the receivers, or more."""
    sets: int
    """How many there are."""

    @property
    def outside(self) -> str:
        """ "above" or "below" the interval, or "" inside it."""
        if self.receivers > self.high:
            return "above"
        return "below" if self.receivers < self.low else ""


@dataclass(frozen=True)
class Look:
    """What a head gives to a fact in a long text, where its answer is predicted."""

    fact: float
    """The probability on all tokens of the fact, the mean over facts and depths."""
    place: float
    """The same on its place while it stands elsewhere."""
    error: float
    """Standard error of the difference of both, over facts and depths."""


@dataclass(frozen=True)
class Answered:
    """The loss on the answers, nats a token."""

    given: float
    """The mean over facts and depths."""
    absent: float
    """The same where the fact is left out of the text."""


class Findings:
    """Numbers of one text."""

    def __init__(self, data: RegionsData) -> None:
        self.data = data

    @property
    def receivers(self) -> list[Head]:
        """The receiver heads with their unevenness, the most uneven first."""
        return [self.head(*place) for place in self.data.receivers]

    def head(self, layer: int, head: int) -> Head:
        """A head by its place, with its unevenness."""
        return Head(layer, head, float(self.data.of_heads("unevenness")[layer, head]))

    def value(self, column: str, at: Head) -> float:
        """A number of one head; column: as of `data.of_heads`."""
        return float(self.data.of_heads(column)[at.layer, at.head])

    def strongest(self, column: str) -> Head:
        """The head with most of a number; column: as of `data.of_heads`."""
        return largest(self.data.of_heads(column))

    def median(self, column: str) -> float:
        """What half of all heads that have a number stay below; NaN if none has one."""
        values = self.data.of_heads(column)
        known = values[~np.isnan(values)]
        return float(np.median(known)) if known.size else float("nan")

    def most_received(self, at: Head) -> Region:
        """The region that a head comes back to most, of those that have a score.

        raises: ValueError if none has one
        """
        return self.data.regions[int(np.nanargmax(self.data.received()[at.layer, at.head]))]

    def received(self, at: Head, region: Region) -> float:
        """What a region receives of a head, over what is to be expected."""
        return float(self.data.received()[at.layer, at.head, region.index])

    def most_given(self, at: Head, region: Region) -> float:
        """The largest share of its attention that one of those at least four later gives to a
        region.

        raises: ValueError if none is so late
        """
        shares = self.data.between(at.layer, at.head)
        return float(shares[region.index + FAR :, region.index].max())

    @property
    def others(self) -> list[Head]:
        """All heads that are no receiver heads, and have an unevenness."""
        values = self.data.of_heads("unevenness")
        known = np.argwhere(~np.isnan(values)).tolist()
        return [self.head(*at) for at in known if tuple(at) not in self.data.receivers]

    def come_back_to(self, heads: Sequence[Head]) -> list[tuple[Region, int]]:
        """Regions that some heads come back to most, with how many heads do; the most first."""
        regions = [self.most_received(at).index for at in heads]
        pairs = [(self.data.regions[at], regions.count(at)) for at in sorted(set(regions))]
        return sorted(pairs, key=lambda pair: -pair[1])

    @property
    def agreement(self) -> float:
        """Rank correlation over heads of the unevenness by even regions with that by odd ones: 1 if
        both halves of the text call the same heads uneven; NaN for fewer than 3 heads."""
        halves = np.stack([self.data.of_heads(f"unevenness_{half}") for half in ("even", "odd")])
        halves = halves.reshape(2, -1)
        halves = halves[:, ~np.isnan(halves).any(0)]
        if halves.shape[1] < 3 or (np.ptp(halves, axis=1) == 0).any():
            return float("nan")
        return float(np.corrcoef([ranks(values) for values in halves])[0, 1])

    @property
    def finders(self) -> list[Head]:
        """The heads chosen by the first fact, with how much more of their attention a fact gets
        than its place, over all facts and lengths; the most first."""
        score = self.data.needle_score()
        return [Head(*at, float(score[at])) for at in self.data.finders]

    def looks(self, at: Head, length: int) -> Look:
        """What a head does at one of the lengths, by its place in their list."""
        place = at.layer, at.head, length
        columns = "answer", "answer_elsewhere", "answer_error"
        return Look(*(float(self.data.needle_heads(column)[place]) for column in columns))

    def at_depths(self, at: Head, length: int) -> np.ndarray:
        """What a head gives to a fact at each depth, at one of the lengths."""
        return self.data.needle_depths("answer")[at.layer, at.head, length]

    def above(self, share: float, tokens: str = "answer") -> int:
        """Heads that give a fact so much more than its place, or more; tokens: "answer" or
        "question", from which they look."""
        return int((self.data.needle_score(tokens) >= share).sum())

    @property
    def agreement_of_looks(self) -> float:
        """Rank correlation over heads of how much more a fact gets, from the tokens at which its
        answer is predicted, with that from the tokens of the question."""
        both = (self.data.needle_score(tokens).ravel() for tokens in ("answer", "question"))
        return float(np.corrcoef([ranks(values) for values in both])[0, 1])

    def answered(self, length: int) -> Answered:
        """The loss on the answers with and without the fact, at one of the lengths."""
        losses = self.data.needle_losses()[:, length]
        return Answered(float(losses[:, :-1].mean()), float(losses[:, -1].mean()))

    def rise_without(self, length: int) -> Rise:
        """What the loss on the answers but the first is without the finders, at one of the
        lengths."""
        values, _ = self.data.needle_rises()
        return _rise(float(values[length, 0]), values[length, 1:])

    def rise_error(self, length: int) -> float:
        """The standard error of that rise, over depths and facts."""
        return float(self.data.needle_rises()[1][length, 0])

    def rise(self, by: str = "mean") -> Rise:
        """What the loss on the answer is without the receiver heads; by: "mean" or "zero".

        raises: ReportError if heads could not be replaced
        """
        return _rise(*self.data.rises(by))


def _rise(value, random):
    low, high = np.quantile(random, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    number = int((random >= value).sum())
    return Rise(value, float(random.mean()), float(low), float(high), LEVEL, number, len(random))


NAMES = {"data": RegionsData, "find": Findings}
"""Name in templates -> class of what it stands for."""
