"""What an article may say about the numbers: heads, counts and comparisons, from the datasets.

Templates call these as `{{ find.strongest("first_token").label }}` and choose their sentences by
the values, so that prose stays true when the model or the passage changes.
"""

import functools
from dataclasses import dataclass

import numpy as np

from report.datasets.head_statistics import MEASURES
from report.errors import ReportError

FEWEST_POINTS = 8
"""A median of fewer points than this is not quoted."""


@dataclass(frozen=True)
class Head:
    """One head and a number that was found for it."""

    layer: int
    head: int
    value: float

    @property
    def label(self):
        """The usual short name, counting from 0: "L5H1"."""
        return head_label(self.layer, self.head)

    @property
    def state(self):
        """Where to set a figure's sliders to see it: `{{ figure("attention_map", **h.state) }}`."""
        return {"layer": self.layer, "head": self.head}


@dataclass(frozen=True)
class LayerRatio:
    """Median update magnitudes of a layer, by where the head looks most."""

    layer: int
    first_token: float
    """Where the largest target is the first token."""
    other: float
    """Where it is another token."""

    @property
    def ratio(self):
        """first_token / other."""
        return self.first_token / max(self.other, 1e-12)


def head_label(layer, head):
    """The usual short name of a head, counting from 0: "L5H1"."""
    return f"L{layer}H{head}"


class Findings:
    """Numbers of one article, computed from its datasets when they are asked for."""

    def __init__(self, data):
        self.data = data

    def values(self, measure, source="corpus"):
        """A measure of every head, float [layer, head].

        measure: itself, first_token, concentration (figures 4 to 6), or previous_token
            (fraction of the passage's tokens whose largest target is the token before)
        source: "passage" or "corpus"; previous_token is known for the passage alone
        """
        if measure == "previous_token":
            return self._previous_token
        if measure not in MEASURES:
            known = ", ".join([*MEASURES, "previous_token"])
            raise ReportError(f"unknown measure {measure!r}; known: {known}.")
        table = self.data.head_statistics
        return table[measure][table["source"] == source].reshape(self.data.layers, self.data.heads)

    def strongest(self, measure, source="corpus"):
        """The `Head` with the largest value of a measure."""
        return _argmax(self.values(measure, source))

    def count(self, measure, at_least, source="corpus"):
        """How many heads reach a value."""
        return int((self.values(measure, source) >= at_least).sum())

    def layer_means(self, measure, source="corpus"):
        """Mean over the heads of each layer, list of float [layer]."""
        return self.values(measure, source).mean(1).tolist()

    def trend(self, measure, source="corpus"):
        """How the mean over heads goes from layer to layer, as a verb phrase.

        returns: "rises", "falls" or "neither rises nor falls steadily"

        Steady means a rank correlation with the layer beyond 0.6 (Spearman).
        """
        means = np.array(self.layer_means(measure, source))
        if len(means) < 3 or np.ptp(means) == 0:
            return "neither rises nor falls steadily"
        correlation = np.corrcoef(_ranks(means), np.arange(len(means)))[0, 1]
        if abs(correlation) <= 0.6:
            return "neither rises nor falls steadily"
        return "rises" if correlation > 0 else "falls"

    @functools.cached_property
    def largest_target_shares(self):
        """Where the largest targets of the passage lie: fractions of all (token, head) pairs.

        returns: dict with itself, first_token, previous_token, other; token 0 left out; the
            token before is not counted again where it is token 0
        """
        target, token = self._column("largest_target"), self._column("token")
        itself, first = target == token, target == 0
        previous = (target == token - 1) & ~first
        keep = token > 0
        shares = {
            "itself": itself[keep].mean(),
            "first_token": first[keep].mean(),
            "previous_token": previous[keep].mean(),
        }
        return {name: float(share) for name, share in shares.items()} | {
            "other": float(1 - sum(shares.values()))
        }

    @functools.cached_property
    def mean_probability(self):
        """What each head gives to three kinds of target over the passage: dict to [layer, head].

        returns: itself, first_token, previous_token: mean probability over all tokens but token 0
        """
        shape = (self.data.layers, self.data.heads)
        means = {name: np.zeros(shape) for name in ("itself", "first_token", "previous_token")}
        for layer, head in np.ndindex(*shape):
            probability = self.data.attention(layer, head).probability
            means["itself"][layer, head] = np.diagonal(probability)[1:].mean()
            means["first_token"][layer, head] = probability[1:, 0].mean()
            means["previous_token"][layer, head] = np.diagonal(probability, -1).mean()
        return means

    @functools.cached_property
    def term_spreads(self):
        """How much each term varies between the targets of a token: dict of term to [layer, head].

        The standard deviation over the targets of a row, averaged over all rows with at least two
        targets. A term that is the same for all targets has no say in the probabilities.
        """
        shape = (self.data.layers, self.data.heads)
        spreads = {}
        for layer, head in np.ndindex(*shape):
            for name, term in self.data.attention(layer, head).terms.items():
                spreads.setdefault(name, np.zeros(shape))[layer, head] = _row_spread(term.matrix())
        return spreads

    def leading_term(self, name):
        """How many heads vary most in this term."""
        names = list(self.term_spreads)
        if name not in names:
            return 0
        stacked = np.stack([self.term_spreads[key] for key in names])
        return int((stacked.argmax(0) == names.index(name)).sum())

    def extreme_spread(self, name):
        """The `Head` in which a term varies most between targets."""
        return _argmax(self.term_spreads[name])

    def median_magnitude(self, layer):
        """Median over tokens and heads of a layer's update magnitude."""
        return float(np.median(self.data.updates(layer)["points"]["magnitude"]))

    @functools.cached_property
    def strongest_update(self):
        """The `Head` with the largest median update magnitude."""
        return _argmax(np.median(self._per_token("magnitude"), axis=2))

    def opposing(self, layer=None):
        """Fraction of updates (of a layer, or of all) that point against the hidden state."""
        alignment = self._per_token("alignment")
        return float(((alignment if layer is None else alignment[layer]) < 0).mean())

    @functools.cached_property
    def most_opposing(self):
        """The `Head` with the smallest mean alignment."""
        means = self._per_token("alignment").mean(2)
        found = _argmax(-means)
        return Head(found.layer, found.head, -found.value)

    @functools.cached_property
    def most_aligned(self):
        """The `Head` with the largest mean alignment."""
        return _argmax(self._per_token("alignment").mean(2))

    @functools.cached_property
    def first_token_updates(self):
        """Are updates shorter where the largest target is the first token? Compared layer by layer.

        returns: list of `LayerRatio`, one for each layer with at least 8 points of either kind,
            token 0 left out; the smallest ratio first
        """
        found = []
        for layer in range(self.data.layers):
            points = self.data.updates(layer)["points"]
            keep = points["token"] > 0
            first = points["largest_target"][keep] == 0
            magnitude = points["magnitude"][keep]
            if min(first.sum(), (~first).sum()) < FEWEST_POINTS:
                continue
            at_first, elsewhere = np.median(magnitude[first]), np.median(magnitude[~first])
            found.append(LayerRatio(layer, float(at_first), float(elsewhere)))
        return sorted(found, key=lambda each: each.ratio)

    @functools.cached_property
    def _previous_token(self):
        target = self._per_token("largest_target")
        token = np.arange(target.shape[2])
        return (target == token - 1)[:, :, 1:].mean(2)

    def _column(self, name):
        layers = range(self.data.layers)
        return np.concatenate([self.data.updates(layer)["points"][name] for layer in layers])

    def _per_token(self, name):
        """A column of the update tables as [layer, head, token]."""
        return self._column(name).reshape(self.data.layers, self.data.heads, -1)


def _argmax(values):
    layer, head = np.unravel_index(np.argmax(values), values.shape)
    return Head(int(layer), int(head), float(values[layer, head]))


def _ranks(values):
    """Rank of each value, float [n]; equal values share the mean of their ranks."""
    smaller = (values[:, None] > values).sum(1)
    equal = (values[:, None] == values).sum(1)
    return smaller + (equal - 1) / 2


def _row_spread(matrix):
    """Mean over rows (from the second) of the standard deviation over the lower triangle."""
    count = np.arange(1, len(matrix) + 1)
    lower = np.tril(matrix)
    mean = lower.sum(1) / count
    variance = (lower**2).sum(1) / count - mean**2
    return float(np.sqrt(np.maximum(variance, 0))[1:].mean())
