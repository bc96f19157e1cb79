"""What an article may say about the numbers: heads, counts and comparisons, from the datasets.

Templates call these as `{{ find.strongest("first_token").label }}` and choose their sentences by
the values, so that prose stays true when the model or the passage changes.
"""

import functools

import numpy as np

from report.datasets.formats.head_statistics import MEASURES
from report.errors import ReportError
from report.figures.parts import score_terms
from report.figures.parts.heads import largest
from report.findings.attention import PLACES, TERMS, summary
from report.findings.updates import UpdateFindings

LEAST_CHANGE = 0.01
"""Means of a measure, which is between 0 and 1, that differ by less neither rise nor fall."""

STEP_BACK = 0.1
"""Of all that a mean rises or falls over the layers, what single layers may lose of it again."""

TIMES_EVEN = {"habit": 4, "sink": 2}
"""How far beyond even attention a habit is, of which a passage has one example a token, and a sink,
which is an average of probabilities."""

NEIGHBOURS = {"previous_token": -1, "next_token": 1}
"""Targets that only a passage is asked for -> how far they are from the current token."""


def context(data):
    """What templates of articles about a passage use: see `report.findings`.

    `compared` is a list with an entry a model, of its label, name, data and what `_of_one` gives;
    where there is one model, its findings stand by themselves too.
    """
    several = len(data.models) > 1
    labels = data.labels if several else [data.label]
    names = data.names if several else [""]
    compared = [
        {"label": label, "name": name, "data": one, **_of_one(one)}
        for label, name, one in zip(labels, names, data.models, strict=True)
    ]
    return {"compared": compared} | ({} if several else _of_one(data))


def _of_one(data):
    return {
        "find": Findings(data),
        "terms": score_terms.names(data),
        "position": score_terms.position(data),
    }


class Findings(UpdateFindings):
    """Numbers of one article, computed from its datasets when they are asked for."""

    least_lead = 0.05
    """Mean probability by which a largest target is ahead of the second at least, to lead it."""

    def values(self, measure, source="corpus"):
        """A measure of every head, float [layer, head].

        measure: itself, first_token, concentration (figures 4 to 6), or previous_token or
            next_token (fraction of the passage's tokens whose largest target is the token before
            or after, of those that have one)
        source: "passage" or "corpus"; previous_token and next_token: of the passage, always
        """
        if measure in NEIGHBOURS:
            return self._neighbour(NEIGHBOURS[measure])
        if measure not in MEASURES:
            known = ", ".join([*MEASURES, *NEIGHBOURS])
            raise ReportError(f"unknown measure {measure!r}; known: {known}.")
        table = self.data.head_statistics
        return table[measure][table["source"] == source].reshape(self.data.layers, self.data.heads)

    def strongest(self, measure, source="corpus"):
        """The `Head` with the largest value of a measure."""
        return largest(self.values(measure, source))

    def count(self, measure, at_least, source="corpus"):
        """How many heads reach a value."""
        return int((self.values(measure, source) >= at_least).sum())

    def narrow(self, measure, at_least, source="corpus"):
        """How many of those heads have a largest target that hardly leads the second."""
        reach = self.values(measure, source) >= at_least
        return int((reach & (self.values("concentration", source) < self.least_lead)).sum())

    def layer_means(self, measure, source="corpus"):
        """Mean over the heads of each layer, list of float [layer]."""
        return self.values(measure, source).mean(1).tolist()

    def hardly_leading(self, source="corpus"):
        """The first layers in which the largest target of the average head hardly leads the second:
        list of int, up to the first layer in which it does."""
        means = self.layer_means("concentration", source)
        leads = [layer for layer, mean in enumerate(means) if mean >= self.least_lead]
        return list(range(leads[0] if leads else len(means)))

    def trend(self, measure, source="corpus"):
        """How the mean over heads goes from layer to layer, as a verb phrase.

        returns: "rises", "falls", "goes up and down" or "hardly changes"

        It rises where no layer lies below one before it by more than `STEP_BACK` of the whole way.
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

    def turns(self, measure, source="corpus"):
        """Where a mean that goes up and down is farthest from both ends of the layers.

        returns: dict of "high" and "low" to (layer, mean), each only where an inner layer is beyond
            the first and the last by `LEAST_CHANGE` or more
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
    def largest_target_shares(self):
        """Where the largest targets of the passage lie: fractions of all (token, head) pairs.

        returns: dict with itself, first_token, previous_token, next_token, other; token 0 left
            out; the token before is not counted again where it is token 0
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
    def mean_probability(self):
        """What each head gives to some targets over the passage: dict to float [layer, head].

        returns: first_token: mean probability over all tokens but token 0; last_token: over all
            but the last, 0 in a causal model; sink: what no token gets, over all tokens
        """
        return {name: self.attention[name] for name in ("first_token", "last_token", "sink")}

    def most_given(self, target, least=0):
        """The `Head` that gives most to a target of `mean_probability`, of those that give it at
        least so much, and more than even attention would; least: 0 for all heads."""
        kept = self.beyond_even(target, least) if least else True
        return largest(self.mean_probability[target] * kept)

    @functools.cached_property
    def even_attention(self):
        """What even attention would give to some targets over the passage: as `mean_probability`.

        returns: dict of first_token, last_token, previous_token, next_token to float [layer, head]:
            mean over the tokens that can have such a target of 1 / number of visible targets, or
            of 0 where a window hides it; so often would it be the largest target by chance
        """
        return {name: self.attention[f"even_{name}"] for name in PLACES}

    def is_habit(self, head, measure):
        """Whether a `Head` of a neighbour measure has it for most tokens, and not by chance.

        Of few tokens, each with few targets, some head always has half by chance.
        """
        even = self.even_attention[measure][head.layer, head.head]
        return bool(head.value >= max(0.5, TIMES_EVEN["habit"] * even))

    def beyond_even(self, target, least, mean=False):
        """Heads that give a target of `mean_probability` much more than even attention would.

        target: "first_token" or "last_token"; least: what they give it at least
        mean: ask it of the mean over all heads instead
        returns: bool [layer, head], or one bool
        """
        given, even = self.mean_probability[target], self.even_attention[target]
        if mean:
            given, even = given.mean(), even.mean()
        return given >= np.maximum(least, TIMES_EVEN["sink"] * even)

    @functools.cached_property
    def term_spreads(self):
        """How much each term varies between the targets of a token: dict of term to [layer, head].

        Of content, bias and position those that vary in some head. The standard deviation over
        the targets of a row, averaged over all rows with at least two targets. A term that is the
        same for all targets has no say in the probabilities.
        """
        return {name: self.attention[name] for name in TERMS if (self.attention[name] > 1e-9).any()}

    def leading_term(self, name):
        """How many heads vary most in this term."""
        names = list(self.term_spreads)
        if name not in names:
            return 0
        stacked = np.stack([self.term_spreads[key] for key in names])
        return int((stacked.argmax(0) == names.index(name)).sum())

    def layers_without(self, name):
        """Layers in which a term that others have is the same for all targets, list of int."""
        none = (self.term_spreads[name] <= 1e-9).all(1)
        return np.flatnonzero(none).tolist()

    def extreme_spread(self, name):
        """The `Head` in which a term varies most between targets."""
        return largest(self.term_spreads[name])

    @functools.cached_property
    def windows(self):
        """Layers whose tokens do not see all that they could: dict of layer to most targets seen.

        Only where it shows in this passage; a window longer than the passage hides nothing.
        """
        windows = {n: self.data.visible(n, 0).window for n in range(self.data.layers)}
        return {layer: window for layer, window in windows.items() if window is not None}

    def _neighbour(self, step):
        target = self.attention["largest_target"]
        at = target == np.arange(self.data.length) + step
        return (at[:, :, 1:] if step < 0 else at[:, :, :-1]).mean(2)

    @functools.cached_property
    def attention(self):
        """What all heads attend to, as `report.findings.attention.summary` gives it."""
        return summary(self.data)
