"""What an article may say about the numbers: heads, counts and comparisons, from the datasets.

Templates call these as `{{ find.strongest("first_token").label }}` and choose their sentences by
the values, so that prose stays true when the model or the passage changes. Its parts: attention of
every head, read once, and updates, what heads add to the hidden state.
"""

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np

from report.authored.later import or_later
from report.datasets.formats.attention import PLACED
from report.errors import ReportError
from report.figures.parts import score_terms
from report.figures.parts.heads import Head, HeadFindings, MagnitudeRatio, largest
from report.kinds.passage.data import PassageData, PassageModels
from report.kinds.passage.predicted import PredictedFindings
from report.kinds.prediction.data import of_passage

FEWEST_POINTS = 8
"""A median of fewer points than this is not quoted."""


class UpdateFindings:
    """The part of `report.kinds.passage.findings.Findings` that reads the update datasets.

    Magnitude: length of an update over that of the hidden state it is added to. Alignment, or
    orientation: the cosine of the two, between -1 and 1.
    """

    def __init__(self, data: PassageData) -> None:
        self.data = data

    def median_magnitude(self, layer: int) -> float:
        """Median over tokens and heads of a layer's update magnitude."""
        return float(np.median(self.data.updates(layer)["points"]["magnitude"]))

    def opposing(self, layer: int | None = None) -> float:
        """Fraction of updates (of a layer, or of all) that point against the hidden state."""
        alignment = self._per_token("alignment")
        return float(((alignment if layer is None else alignment[layer]) < 0).mean())

    def size_of_orientation(self, layer: int | None = None) -> float:
        """Mean over updates (of a layer, or of all) of their orientation without its sign, between
        0 and 1."""
        alignment = np.abs(self._per_token("alignment"))
        return float((alignment if layer is None else alignment[layer]).mean())

    @property
    def orientation_by_chance(self) -> float:
        """The same of random vectors: the mean size of the cosine of two of them, between 0 and 1.

        For d dimensions it is Γ(d/2) / (√π Γ((d+1)/2)), as the squared cosine of a random direction
        has a beta distribution with parameters 1/2 and (d-1)/2.
        """
        size = self.data.manifest["model"]["hidden_size"]
        return math.exp(math.lgamma(size / 2) - math.lgamma((size + 1) / 2)) / math.sqrt(math.pi)

    @functools.cached_property
    def first_token_updates_of_heads(self) -> list[MagnitudeRatio]:
        """Are updates shorter where the top target is the first token? Head by head, so that no
        head is compared with another.

        returns: one ratio for every head with at least `FEWEST_POINTS` points of either kind, the
            smallest first; token 0 is left out
        """
        shape = self.data.layers, self.data.heads
        found = [self.first_token_updates(*at) for at in np.ndindex(*shape)]
        return sorted(filter(None, found), key=lambda each: each.ratio)

    def first_token_updates(self, layer: int, head: int | None = None) -> MagnitudeRatio | None:
        """The same of one head, or of all heads of a layer together; None if the points of one kind
        are fewer than `FEWEST_POINTS`."""
        points = self.data.updates(layer)["points"]
        keep = points["token"] > 0
        if head is not None:
            keep &= points["head"] == head
        first = points["largest_target"][keep] == 0
        magnitude = points["magnitude"][keep]
        if min(first.sum(), (~first).sum()) < FEWEST_POINTS:
            return None
        at_first, elsewhere = np.median(magnitude[first]), np.median(magnitude[~first])
        return MagnitudeRatio(layer, float(at_first), float(elsewhere), head)

    def _column(self, name):
        layers = range(self.data.layers)
        return np.concatenate([self.data.updates(layer)["points"][name] for layer in layers])

    def _per_token(self, name):
        """A column of the update tables as [layer, head, token]."""
        return self._column(name).reshape(self.data.layers, self.data.heads, -1)


PLACES = ("first_token", "last_token", "previous_token", "next_token")
"""Targets that are told by their place."""

TERMS = ("content", "mixed", "bias", "position", *PLACED[1:])
"""The terms that can differ between the targets of a token."""


def summary(data) -> dict[str, np.ndarray]:
    """Numbers of every head over a passage of T tokens, from the shards of a `PassageData`.

    returns: dict of float [layer, head]:
        first_token: mean probability that tokens but the first give to it
        last_token: mean probability that tokens but the last give to it
        sink: what no token gets, mean over all tokens
        each of `TERMS`: mean over rows with two targets or more of the standard deviation
            of this term over the targets
        even_<place>: mean of what uniform attention gives to each of `PLACES`
    and largest_target: int [layer, head, T], the index of every token's top target
    """
    shape = (data.layers, data.heads)
    names = ("first_token", "last_token", "sink", *TERMS, *(f"even_{p}" for p in PLACES))
    found = {name: np.zeros(shape) for name in names}
    found["largest_target"] = np.zeros((*shape, data.length), int)
    for at in np.ndindex(*shape):
        attention = data.attention(*at)
        probability, seen = attention.probability, attention.visible.mask()
        found["largest_target"][at] = attention.largest_targets[:, 0]
        found["first_token"][at] = probability[1:, 0].mean()
        found["last_token"][at] = probability[:-1, -1].mean()
        found["sink"][at] = 0 if attention.sink is None else 1 - probability.sum(1).mean()
        for name in TERMS:
            if (term := score_terms.term(attention, name)) is not None:
                found[name][at] = _row_spread(term.matrix(), seen)
    return found


def _even(seen):
    """What uniform attention over what is seen, bool [query, key], gives to each of PLACES."""
    even = seen / seen.sum(1, keepdims=True)
    ways = even[1:, 0], even[:-1, -1], np.diagonal(even, -1), np.diagonal(even, 1)
    return dict(zip(PLACES, [way.mean() for way in ways], strict=True))


def _row_spread(matrix, seen):
    """Mean over rows with a choice of the standard deviation over the targets that are seen."""
    choice = seen.sum(1) > 1
    if not choice.any():
        return 0.0
    values, seen = matrix[choice], seen[choice]
    count = seen.sum(1)
    mean = (values * seen).sum(1) / count
    variance = ((values - mean[:, None]) ** 2 * seen).sum(1) / count
    return float(np.sqrt(variance).mean())


TIMES_EVEN = 4
"""How many times the share of uniform attention a habit must have, since a passage has only one
example of it a token."""

NEIGHBOURS = ("previous_token", "next_token")
"""Measures of how often a neighbour is the top target; no decoder has the last."""


def context(data: PassageData | PassageModels) -> dict:
    """What templates of articles about a passage use: see `report.kinds`.

    `compared` is a list with one entry per model: label, name, data and what `_of_one` gives. If
    there is only one model, its findings also stand by themselves. `predicted` is what figures of
    predictions are drawn of; None if that was not measured.
    """
    several = len(data.models) > 1
    labels = data.labels if several else [data.label]
    names = data.names if several else [""]
    compared = [
        {"label": label, "name": name, "data": one, **_of_one(one)}
        for label, name, one in zip(labels, names, data.models, strict=True)
    ]
    own = {} if several else _of_one(data)
    return {"compared": compared, "predicted": or_later(lambda: of_passage(data))} | own


def _of_one(data):
    return {
        "find": Findings(data),
        "terms": score_terms.names(data),
        "position": score_terms.position(data),
    }


@dataclass(frozen=True)
class Repeats:
    """What a head looks at most where the passage repeats itself, and where it does not.

    It repeats itself at a token if that and the one before stood next to each other already.
    """

    places: int
    """At how many tokens it does."""
    found: int
    """At how many of them the top target is the token that came next, an earlier time."""
    chance: float
    """At how many it would be, if top targets were picked at random."""
    others: int
    """How many other tokens there are, token 0 left out."""
    at_first: int
    """At how many of these the top target is the first token."""
    still_first: int
    """At how many of the `places` that are not `found`."""


class OneHead:
    """A head that an article follows through its figures."""

    def __init__(self, data: PassageData, layer: int, head: int) -> None:
        named = Head(layer, head, math.nan)
        self.layer, self.head = layer, head
        self.label, self.place, self.state = named.label, named.place, named.state
        self.data, self.attention = data, data.attention(layer, head)
        self.ids = [token.id for token in data.tokens]

    def gives(self, current: int, target: int) -> float:
        """The probability that a current token gives to a target; both are places in the passage,
        from 0."""
        return float(self.attention.probability[current, target])

    def top(self, current: int) -> int:
        """The place of the top target of a current token."""
        return int(self.attention.largest_targets[current, 0])

    def magnitude(self, current: int) -> float:
        """Length of the head's update at a token, as a share of the hidden state's."""
        points = self.data.updates(self.layer)["points"]
        here = (points["token"] == current) & (points["head"] == self.head)
        return float(points["magnitude"][here][0])

    @functools.cached_property
    def repeats(self) -> Repeats:
        """What the head does where the passage repeats itself, and elsewhere; see `Repeats`."""
        ids, tops = self.ids, self.attention.largest_targets[:, 0]
        pairs = list(itertools.pairwise(ids))  # pair n ends at token n + 1
        next_ones = [
            [at + 2 for at, pair in enumerate(pairs[: n - 1]) if n and pair == pairs[n - 1]]
            for n in range(len(ids))
        ]
        places = [n for n, ones in enumerate(next_ones) if ones]
        others = [n for n in range(1, len(ids)) if not next_ones[n]]
        return Repeats(
            places=len(places),
            found=sum(tops[n] in next_ones[n] for n in places),
            chance=sum(len(next_ones[n]) / (n + 1) for n in places),
            others=len(others),
            at_first=sum(int(tops[n] == 0) for n in others),
            still_first=sum(int(tops[n] == 0) for n in places),
        )


class Findings(UpdateFindings, HeadFindings):
    """Numbers of one article, computed from its datasets when they are asked for."""

    def looking(self, current: int, target: int) -> int:
        """How many heads have a target as the top target of a current token; both are places in
        the passage, from 0."""
        layers = (self.data.updates(layer)["points"] for layer in range(self.data.layers))
        return sum(
            int(((points["token"] == current) & (points["largest_target"] == target)).sum())
            for points in layers
        )

    def head(self, layer: int, head: int) -> OneHead:
        """A head that the article follows; both count from 0.

        raises: ReportError if the model has no such head
        """
        if not (0 <= layer < self.data.layers and 0 <= head < self.data.heads):
            raise ReportError(
                f"there is no head {head} in layer {layer}; {self.data.label} has "
                f"{self.data.heads} in each of {self.data.layers} measured layers, from 0."
            )
        return OneHead(self.data, layer, head)

    def places(self, text: str) -> list[int]:
        """The places of all tokens of the passage with a text, such as " lamp", from 0.

        raises: ReportError if there is none
        """
        found = [n for n, token in enumerate(self.data.tokens) if token.label.strip() == text]
        if not found:
            raise ReportError(f"no token of the passage is {text!r}; there are words in pieces.")
        return found

    @functools.cached_property
    def opening(self) -> Head:
        """The head that a map opens at.

        The one that looks most at a neighbour, if that is a habit; else the one that looks most at
        the first token, if it does so for a tenth of the tokens; else the most decided one.
        """
        head = self.strongest(self.neighbour, "passage")
        if self.is_habit(head, self.neighbour):
            return head
        firsts = self.strongest("first_token")
        return firsts if firsts.value >= 0.1 else self.strongest("concentration")

    @functools.cached_property
    def neighbour(self) -> str:
        """The measure of the neighbour that a head of the passage looks at most: previous_token or
        next_token."""
        there = [measure for measure in NEIGHBOURS if measure in self.data.measures]
        return max(there, key=lambda measure: self.strongest(measure, "passage").value)

    @property
    def least_one_sided(self) -> Head:
        """The `Head` whose top targets in the passage differ most in kind.

        value: the fraction of tokens whose top target is of another kind than the commonest; kinds
            are the token itself, the first token, and both neighbours
        """
        kinds = [
            kind for kind in ("itself", "first_token", *NEIGHBOURS) if kind in self.data.measures
        ]
        values = [self.values(kind, "passage") for kind in kinds]
        return largest(1 - np.nanmax(values, axis=0))

    @property
    def choosing(self) -> list[str]:
        """The terms of a score that can choose between targets; [] if only scores are known."""
        return list(score_terms.choosing(self.data))

    @functools.cached_property
    def mean_probability(self) -> dict[str, np.ndarray]:
        """What each head gives to some targets over the passage: dict to float [layer, head].

        returns: first_token: mean over all tokens but token 0; last_token: mean over all but the
            last, 0 in a causal model; sink: what no token gets, mean over all tokens
        """
        return {name: self.attention[name] for name in ("first_token", "last_token", "sink")}

    @functools.cached_property
    def even_attention(self) -> dict[str, np.ndarray]:
        """What uniform attention would give to some targets: as `mean_probability`. No head's
        attention is read for it.

        returns: first_token, last_token, previous_token, next_token -> float [layer, head]. A mean
            over the tokens that can have such a target of 1 / number of visible targets, or of 0
            where a window hides it. By chance, it would be the top target just as often
        """
        shape = self.data.layers, self.data.heads
        even = {name: np.zeros(shape) for name in PLACES}
        shares: dict[bytes, dict[str, float]] = {}  # heads that see the same have the same
        for at in np.ndindex(*shape):
            seen = self.data.visible(*at)
            key = seen.first.tobytes() + seen.last.tobytes()
            if key not in shares:
                shares[key] = _even(seen.mask())
            for name, share in shares[key].items():
                even[name][at] = share
        return even

    def is_habit(self, head: Head, measure: str) -> bool:
        """Whether a head has a neighbour measure for most tokens, and not by chance.

        If tokens and targets are few, some head always reaches one half by chance.
        """
        return bool(head.value >= self._least_habit(measure)[head.layer, head.head])

    @functools.cached_property
    def term_spreads(self) -> dict[str, np.ndarray]:
        """How much each term varies between the targets of a token: dict of term to [layer, head].

        Has those of `choosing` that vary in some head. The standard deviation over the targets of a
        row, averaged over rows with at least two targets. A term that is the same for all targets
        does not affect the probabilities.
        """
        spreads = {name: self.attention[name] for name in TERMS if name in self.choosing}
        return {name: spread for name, spread in spreads.items() if (spread > 1e-9).any()}

    def leading_term(self, name: str) -> int:
        """How many heads vary most in this term."""
        names = list(self.term_spreads)
        if name not in names:
            return 0
        stacked = np.stack([self.term_spreads[key] for key in names])
        return int((stacked.argmax(0) == names.index(name)).sum())

    def _least_habit(self, measure):
        return np.maximum(0.5, TIMES_EVEN * self.even_attention[measure])

    @functools.cached_property
    def predicted(self) -> PredictedFindings | None:
        """What heads do to the next tokens of the passage, if that was measured."""
        data = of_passage(self.data)
        return None if data is None else PredictedFindings(data)

    @functools.cached_property
    def attention(self) -> dict[str, np.ndarray]:
        """What all heads attend to, as `report.kinds.passage.findings.summary` gives it."""
        return summary(self.data)


NAMES = {
    "data": PassageData,
    "find": Findings,
    **dict.fromkeys(("compared", "predicted", "terms", "position")),
}
"""Name in templates -> class of what it stands for; None: several, or a plain value.

Of several models, `data` is a `PassageModels`; of the others only `compared` and `predicted` are
there."""
