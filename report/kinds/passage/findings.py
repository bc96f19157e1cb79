"""What an article may say about the numbers: heads, counts and comparisons, from the datasets.

Templates call these as `{{ find.strongest("first_token").label }}` and choose their sentences by
the values, so that prose stays true when the model or the passage changes. Its parts: attention of
every head, read once, and updates, what heads add to the hidden state.
"""

import functools

import numpy as np

from report.datasets.formats.attention import PLACED
from report.figures import alignment_vs_magnitude
from report.figures.parts import score_terms
from report.figures.parts.heads import Head, MagnitudeRatio, largest
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

    @functools.cached_property
    def raw_ratio(self) -> float | None:
        """How many times longer updates are before the norm that rescales them, as a median.

        None for a model without such a norm.
        """
        tables = [self.data.updates(layer)["points"] for layer in range(self.data.layers)]
        if "raw_magnitude" not in tables[0]:
            return None
        ratios = [t["raw_magnitude"] / np.maximum(t["magnitude"], 1e-9) for t in tables]
        return float(np.median(np.concatenate(ratios)))

    def median_magnitude(self, layer: int) -> float:
        """Median over tokens and heads of a layer's update magnitude."""
        return float(np.median(self.data.updates(layer)["points"]["magnitude"]))

    @functools.cached_property
    def strongest_update(self) -> Head:
        """The `Head` with the largest median update magnitude."""
        return largest(np.median(self._per_token("magnitude"), axis=2))

    def opposing(self, layer: int | None = None) -> float:
        """Fraction of updates (of a layer, or of all) that point against the hidden state."""
        alignment = self._per_token("alignment")
        return float(((alignment if layer is None else alignment[layer]) < 0).mean())

    def opposing_by_layer(self) -> tuple[tuple[int, float], tuple[int, float]]:
        """Two pairs (layer, fraction) of `opposing`: where it is largest, and where smallest.

        If most updates of all layers oppose the hidden state, the layer with the largest fraction
        comes first, else the one with the smallest.
        """
        found = [(layer, self.opposing(layer)) for layer in range(self.data.layers)]
        ordered = sorted(found, key=lambda each: each[1], reverse=self.opposing() > 0.5)
        return ordered[0], ordered[-1]

    @functools.cached_property
    def most_opposing(self) -> Head:
        """The `Head` with the smallest mean alignment."""
        means = self._per_token("alignment").mean(2)
        found = largest(-means)
        return Head(found.layer, found.head, -found.value)

    @functools.cached_property
    def most_aligned(self) -> Head:
        """The `Head` with the largest mean alignment."""
        return largest(self._per_token("alignment").mean(2))

    @functools.cached_property
    def mean_size_of_orientation(self) -> float:
        """Mean over all updates of their orientation without its sign, between 0 and 1."""
        return float(np.abs(self._per_token("alignment")).mean())

    @functools.cached_property
    def length_with_orientation(self) -> list[int]:
        """Where longer updates of a layer point: -1 against the hidden state, 1 along with it, 0
        if length says little. The caption of `alignment_vs_magnitude` says the same."""
        tables = [self.data.updates(layer)["points"] for layer in range(self.data.layers)]
        return [alignment_vs_magnitude.tendency(points)[0] for points in tables]

    @functools.cached_property
    def first_token_updates(self) -> list[MagnitudeRatio]:
        """Are updates shorter where the top target is the first token? Compared layer by layer.

        This also compares heads of a layer: those that look there often with those that do not.

        returns: one ratio for every layer with at least `FEWEST_POINTS` points of either kind, the
            smallest first; token 0 is left out
        """
        found = [self._first_token_ratio(layer) for layer in range(self.data.layers)]
        return sorted(filter(None, found), key=lambda each: each.ratio)

    @functools.cached_property
    def first_token_updates_of_heads(self) -> list[MagnitudeRatio]:
        """The same head by head, so that no head is compared with another."""
        shape = self.data.layers, self.data.heads
        found = [self._first_token_ratio(*at) for at in np.ndindex(*shape)]
        return sorted(filter(None, found), key=lambda each: each.ratio)

    def _first_token_ratio(self, layer, head=None):
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
        for name, share in _even(seen).items():
            found[f"even_{name}"][at] = share
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


LEAST_CHANGE = 0.01
"""If means of a measure (between 0 and 1) differ by less, they neither rise nor fall."""

STEP_BACK = 0.1
"""The fraction of its whole rise that a mean may fall back by and still rise; and the reverse."""

TIMES_EVEN = {"habit": 4, "sink": 2}
"""How many times the share of uniform attention a habit or a sink must have. A habit needs more,
since a passage has only one example of it a token; a sink is an average of probabilities."""

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
    return {"compared": compared, "predicted": of_passage(data)} | own


def _of_one(data):
    return {
        "find": Findings(data),
        "terms": score_terms.names(data),
        "position": score_terms.position(data),
    }


class Findings(UpdateFindings):
    """Numbers of one article, computed from its datasets when they are asked for."""

    least_lead = 0.05
    """If the top target is ahead of the second by less (mean probability), it hardly leads."""

    def values(self, measure: str, source: str = "corpus") -> np.ndarray:
        """A measure of every head, float [layer, head]; NaN for a head that it does not apply to.

        measure: one of `data.measures`: those that ship and the publication's own, see "Measures"
        source: "passage" or "corpus"
        raises: ReportError for a measure that was not taken
        """
        table = self.data.measured(measure)
        return table[measure][table["source"] == source].reshape(self.data.layers, self.data.heads)

    def control(self, measure: str, source: str = "corpus") -> np.ndarray:
        """The same of even attention over what is visible, float [layer, head]."""
        return self._beside("even", measure, source)

    def error(self, measure: str, source: str = "corpus") -> np.ndarray:
        """Standard error of the mean over texts, float [layer, head]; NaN for a single text."""
        return self._beside("error", measure, source)

    def _beside(self, what, measure, source):
        table = self.data.measured(measure)
        values = table[f"{what}_{measure}"][table["source"] == source]
        return values.reshape(self.data.layers, self.data.heads)

    def strongest(self, measure: str, source: str = "corpus") -> Head:
        """The `Head` with the largest value of a measure."""
        return largest(self.values(measure, source))

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

    @property
    def choices(self) -> int:
        """How many terms can choose between targets."""
        return len(self.choosing)

    def count(self, measure: str, at_least: float, source: str = "corpus") -> int:
        """How many heads reach a value."""
        return int((self.values(measure, source) >= at_least).sum())

    def narrow(self, measure: str, at_least: float, source: str = "corpus") -> int:
        """How many of the heads that reach a value have a top target that hardly leads."""
        reach = self.values(measure, source) >= at_least
        return int((reach & (self.values("concentration", source) < self.least_lead)).sum())

    def layer_means(self, measure: str, source: str = "corpus") -> list[float]:
        """Mean over the heads of every layer; NaN where a measure applies to none."""
        values = self.values(measure, source)
        known = ~np.isnan(values)
        number = np.maximum(known.sum(1), 1)
        means = np.where(known, values, 0).sum(1) / number
        return np.where(known.any(1), means, np.nan).tolist()

    def hardly_leading(self, source: str = "corpus") -> list[int]:
        """The first layers in which, on average over heads, the top target hardly leads: all
        layers before the first one in which it leads."""
        means = self.layer_means("concentration", source)
        leads = [layer for layer, mean in enumerate(means) if mean >= self.least_lead]
        return list(range(leads[0] if leads else len(means)))

    def trend(self, measure: str, source: str = "corpus") -> str:
        """How the mean over heads goes from layer to layer, as a verb phrase.

        returns: "rises", "falls", "goes up and down" or "hardly changes"

        It rises if no layer lies below an earlier one by more than `STEP_BACK` of the whole way.
        """
        means = np.array(self.layer_means(measure, source))
        way = np.ptp(means)
        if way < LEAST_CHANGE:
            return "hardly changes"
        if (np.maximum.accumulate(means) - means).max() <= STEP_BACK * way:
            return "rises"
        if (means - np.minimum.accumulate(means)).max() <= STEP_BACK * way:
            return "falls"
        return "goes up and down"

    def turns(self, measure: str, source: str = "corpus") -> dict[str, tuple[int, float]]:
        """Where a mean that goes up and down is farthest from both ends of the layers.

        returns: "high" and "low" -> (layer, mean), only where an inner layer is beyond the first
            and the last layer by `LEAST_CHANGE` or more
        """
        if self.trend(measure, source) != "goes up and down":
            return {}
        means = self.layer_means(measure, source)
        ends = means[0], means[-1]
        high, low = max(means), min(means)
        found = {
            "high": (high, high - max(ends)),
            "low": (low, min(ends) - low),
        }
        return {
            name: (means.index(mean), mean)
            for name, (mean, beyond) in found.items()
            if beyond >= LEAST_CHANGE
        }

    @functools.cached_property
    def largest_target_shares(self) -> dict[str, float]:
        """Where the top targets of the passage lie: fractions of all (token, head) pairs.

        returns: itself, first_token, previous_token, next_token, other. Token 0 is left out as a
            current token. A previous token that is token 0 counts as the first token only
        """
        target = self.attention["largest_target"][:, :, 1:]
        token = np.arange(1, self.data.length)
        first = target == 0
        shares = {
            "itself": (target == token).mean(),
            "first_token": first.mean(),
            "previous_token": ((target == token - 1) & ~first).mean(),
            "next_token": (target == token + 1).mean(),
        }
        return {name: float(share) for name, share in shares.items()} | {
            "other": float(1 - sum(shares.values()))
        }

    @functools.cached_property
    def mean_probability(self) -> dict[str, np.ndarray]:
        """What each head gives to some targets over the passage: dict to float [layer, head].

        returns: first_token: mean over all tokens but token 0; last_token: mean over all but the
            last, 0 in a causal model; sink: what no token gets, mean over all tokens
        """
        return {name: self.attention[name] for name in ("first_token", "last_token", "sink")}

    def most_given(self, target: str, least: float = 0) -> Head:
        """The `Head` that gives most to a target of `mean_probability`.

        least: only heads that are `beyond_even` with it; 0: all heads
        """
        kept = self.beyond_even(target, least) if least else True
        return largest(self.mean_probability[target] * kept)

    @functools.cached_property
    def even_attention(self) -> dict[str, np.ndarray]:
        """What uniform attention would give to some targets: as `mean_probability`.

        returns: first_token, last_token, previous_token, next_token -> float [layer, head]. A mean
            over the tokens that can have such a target of 1 / number of visible targets, or of 0
            where a window hides it. By chance, it would be the top target just as often
        """
        return {name: self.attention[f"even_{name}"] for name in PLACES}

    def is_habit(self, head: Head, measure: str) -> bool:
        """Whether a head has a neighbour measure for most tokens, and not by chance.

        If tokens and targets are few, some head always reaches one half by chance.
        """
        return bool(head.value >= self._least_habit(measure)[head.layer, head.head])

    def habits(self, measure: str) -> np.ndarray:
        """Heads that have a neighbour measure for most tokens, and not by chance.

        measure: previous_token or next_token
        returns: bool [layer, head]
        """
        return self.values(measure, "passage") >= self._least_habit(measure)

    def beyond_even(self, target: str, least: float, mean: bool = False) -> np.ndarray | bool:
        """Heads that give a target of `mean_probability` much more than uniform attention would.

        target: "first_token" or "last_token"; least: a mean probability that they must reach
        mean: whether to judge the mean over all heads instead
        returns: bool [layer, head], or one bool
        """
        given, even = self.mean_probability[target], self.even_attention[target]
        if mean:
            given, even = given.mean(), even.mean()
        return given >= np.maximum(least, TIMES_EVEN["sink"] * even)

    @functools.cached_property
    def term_spreads(self) -> dict[str, np.ndarray]:
        """How much each term varies between the targets of a token: dict of term to [layer, head].

        Has those of `choosing` that vary in some head. The standard deviation over the targets of a
        row, averaged over rows with at least two targets. A term that is the same for all targets
        does not affect the probabilities.
        """
        spreads = {name: self.attention[name] for name in TERMS if name in self.choosing}
        return {name: spread for name, spread in spreads.items() if (spread > 1e-9).any()}

    @functools.cached_property
    def placed(self) -> dict[str, int]:
        """In how many heads of layer 0 each part of content and position varies most between
        targets: dict of its name to heads; {} where these parts are not known."""
        if PLACED[-1] not in self.data.terms:
            return {}
        leading = np.argmax([self.attention[name][0] for name in PLACED], axis=0)
        names = score_terms.names(self.data)
        return {names[name]: int((leading == n).sum()) for n, name in enumerate(PLACED)}

    def leading_term(self, name: str) -> int:
        """How many heads vary most in this term."""
        names = list(self.term_spreads)
        if name not in names:
            return 0
        stacked = np.stack([self.term_spreads[key] for key in names])
        return int((stacked.argmax(0) == names.index(name)).sum())

    def layers_without(self, name: str) -> list[int]:
        """Layers in which a term is the same for all targets, though it varies in other layers."""
        none = (self.term_spreads[name] <= 1e-9).all(1)
        return np.flatnonzero(none).tolist()

    def extreme_spread(self, name: str) -> Head:
        """The `Head` in which a term varies most between targets."""
        return largest(self.term_spreads[name])

    @functools.cached_property
    def windows(self) -> dict[int, int]:
        """Layers with a window: layer -> the most targets that a token sees.

        A window longer than the passage hides nothing and is left out.
        """
        windows = {n: self.data.visible(n, 0).window for n in range(self.data.layers)}
        return {layer: window for layer, window in windows.items() if window is not None}

    def _least_habit(self, measure):
        return np.maximum(0.5, TIMES_EVEN["habit"] * self.even_attention[measure])

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
