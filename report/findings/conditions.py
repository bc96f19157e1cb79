"""What an article about conditions may say: shares, changes and peaks, with their spread.

Layers and heads count from 1 here, as in the filler study: in what templates ask for and in what
they are told. The datasets count from 0.
"""

import functools
from dataclasses import dataclass

import numpy as np

from report.datasets.formats.conditions import MEASURES
from report.errors import ReportError
from report.figures.parts import received
from report.findings.lines import FIRST, LineFindings

SAME = 0.01
"""Shares of a head that differ by less are told as one."""

ALIKE_WEIGHTS = 0.1
"""Average weights that differ by a smaller part are called about the same."""

ALIKE = 0.0005
"""Shares that differ by less are called the same: each was rounded to 0.0001."""


def context(data):
    """What templates of articles about conditions use: see `report.findings`."""
    return {"find": Findings(data), "prompts": data.models[0].manifest["prompts"]}


@dataclass(frozen=True)
class Value:
    """A mean over prompts and its standard error, which is NaN for a single prompt."""

    value: float
    error: float

    @property
    def known(self):
        """Whether it could be measured."""
        return self.value == self.value  # NaN is not

    @property
    def rest(self):
        """1 less it."""
        return Value(1 - self.value, self.error)


@dataclass(frozen=True)
class Against:
    """What single heads give to one condition and to another."""

    more: list
    """(place, share of the one, share of the other) of each; none if not all give the other more.
    """
    inner: list
    """The places where tokens of the one have the larger average weight all the same: what was
    added looks at itself."""
    level: list
    """The places where it is larger too, but about the same."""


class Findings(LineFindings):
    """Numbers of a study of conditions, computed from its datasets when they are asked for.

    model: index in the front matter's order, from 0; layer, head: from 1
    condition: name of one that adds a segment; rows: "mean" over the current tokens after it, or
        the "last" one
    """

    # --- Which panels there are

    def there(self, places):
        """Those of (model, layer, head) that were measured."""
        return [place for place in places if not self._lacking(*place)]

    def missing(self, places):
        """Why the others were not: list of clauses, "tiny has 4 heads, so there is no head 8"."""
        return list(dict.fromkeys(filter(None, (self._lacking(*place) for place in places))))

    def panels(self, places, lines, **options):
        """What a grid of those places that were measured is drawn of.

        lines: dict of condition to its label; options: see `report.figures.parts.received.panels`
        """
        return received.panels(self.data.models, self.there(places), lines, **options)

    def _lacking(self, model, layer, head):
        if model >= len(self.data.models):
            return f"there is no model {model + 1} in this study"
        found = self.data.models[model]
        for what, number, count in (("layer", layer, found.layers), ("head", head, found.heads)):
            if number > count:
                have = f"{count} {what}{'s' if count > 1 else ''}"
                measured = " measured" if what == "layer" else ""
                return f"{found.name} has {have}{measured}, so there is no {what} {number}"
        return ""

    # --- What was asked for, and what was measured

    def stand_ins(self, names):
        """Models measured in place of those the front matter asks for first.

        names: its `all_models`, such as "owner/large or small"
        returns: list of (name asked for, `ModelConditions`)
        """
        wanted = [name.split(" or ")[0].strip().partition("@")[0] for name in names]
        pairs = zip(wanted, names, self.data.models, strict=True)
        return [
            (first, model)
            for first, name, model in pairs
            if " or " in name and model.manifest["model"]["name"] != first
        ]

    @functools.cached_property
    def added(self):
        """Names of the conditions that add a segment to the first one, in order."""
        return [each.name for each in self.data.models[0].conditions if each.added]

    @functools.cached_property
    def kinds(self):
        """Those of them that add it at the same place as the first of them."""
        first = self.data.models[0].condition
        return [name for name in self.added if first(name).new[:1] == first(self.added[0]).new[:1]]

    def sample(self, condition, tokens=12, model=0):
        """The text of the first tokens that a condition adds, as they are shown."""
        text = self.data.models[model].condition(condition)
        said = "".join(text.tokens[place] for place in text.new[:tokens])
        return said + "…" * (len(text.new) > tokens)

    def slashes(self, condition="filler"):
        """How many slashes a condition adds, if it adds nothing else but the end of their line;
        else 0. Tokens may hold several of them."""
        text = self.data.models[0].condition(condition)
        said = "".join(text.tokens[place] for place in text.new).removesuffix("↵")
        return len(said) if said == "/" * len(said) else 0

    @functools.cached_property
    def crossings(self):
        """Merges over a boundary: list of (model's name, condition's label, prompts, one)."""
        found = []
        for model in self.data.models:
            for each in model.conditions:
                if each.crossings:
                    prompts = len({crossing["prompt"] for crossing in each.crossings})
                    found.append((model.name, each.label, prompts, each.crossings[0]))
        return found

    @property
    def same_length(self):
        """Whether all kinds have as many tokens, in every model."""
        return all(
            len({len(model.condition(name).new) for name in self.kinds}) == 1
            for model in self.data.models
        )

    @property
    def deep(self):
        """Whether every model has a second layer."""
        return all(model.layers > 1 for model in self.data.models)

    @property
    def by_distance(self):
        """Whether in every model scores depend on the distance of two tokens."""
        return all("position" in model.capabilities["terms"] for model in self.data.models)

    # --- What an added segment changes

    def head(self, model, layer, head, measure, condition="filler", rows="mean"):
        """A measure of one head as `Value`: lambda, taken (1 less it), total_variation or
        affine_error."""
        effects = self.data.models[model].effects
        at = effects["head"] == head - FIRST
        return self._value(effects, at, layer, measure, condition, rows)

    def layer(self, model, layer, measure, condition="filler", rows="mean"):
        """The same of the mean over a layer's heads; its error is the spread over prompts of it."""
        effects = self.data.models[model].layer_effects
        return self._value(effects, True, layer, measure, condition, rows)

    def layers(self, model, measure, condition="filler", rows="mean"):
        """`layer` of every layer measured, list of `Value`."""
        number = self.data.models[model].layers
        return [self.layer(model, n + FIRST, measure, condition, rows) for n in range(number)]

    def heads(self, model, layer, measure, condition="filler", rows="mean"):
        """`head` of every head of a layer, sorted: list of (`Value`, head from 1)."""
        number = self.data.models[model].heads
        found = [
            (self.head(model, layer, n + FIRST, measure, condition, rows), n + FIRST)
            for n in range(number)
        ]
        return sorted(found, key=lambda pair: pair[0].value)

    def most(self, measure, condition="filler"):
        """The head of all models and layers that has most: (`Value`, model, layer from 1)."""
        found = [
            (self.heads(model, layer + FIRST, measure, condition)[-1][0], model, layer + FIRST)
            for model, one in enumerate(self.data.models)
            for layer in range(one.layers)
        ]
        return max(found, key=lambda each: each[0].value)

    def kept(self, place, lines, rows="mean"):
        """What the old tokens keep of their average weight in one head: a fraction, as figures of
        lines say it.

        place: (model, layer, head); lines: the two conditions, dict of name to label
        """
        panel = self.panels([place], lines)
        styled = received.styled(panel, received.BLUE, received.RED)
        return received.kept(panel.places[0], styled, rows)

    def diluted(self, places, lines):
        """Whether old tokens keep more in every place than the tokens after what was added leave
        them, and of the last token, which is one of those, just that."""
        condition = list(lines)[-1]

        def over(place, rows):
            left = self.head(*place, "lambda", condition, rows).value
            return self.kept(place, lines, rows) - left

        return all(
            over(place, "mean") > SAME and abs(over(place, "last")) < SAME for place in places
        )

    def against(self, condition, other, places):
        """Two conditions as a figure of lines compares them, and as the tokens after them do.

        returns: `Against`
        """
        more, inner, level = [], [], []
        for place in places:
            taken = [self.head(*place, "taken", name).value for name in (condition, other)]
            if taken[0] >= taken[1]:
                return Against([], [], [])
            more.append((place, *taken))
            panel = self.panels([place], {condition: "", other: ""}).places[0]
            mine, theirs = (received.inside(panel, name, "mean") for name in (condition, other))
            if mine > (1 + ALIKE_WEIGHTS) * theirs:
                inner.append(place)
            elif mine >= theirs:
                level.append(place)
        return Against(more, inner, level)

    def even(self, model, condition="filler"):
        """What even attention would give to what a condition adds: share, mean over the current
        tokens after it and over prompts, where nothing is hidden by a window."""
        text = self.data.models[model].condition(condition)
        prompts_ending = -np.diff([*text.counts.tolist(), 0])  # at each position
        shares = len(text.new) / np.arange(text.new.stop + 1, len(text.counts) + 1)
        means = np.cumsum(shares) / np.arange(1, len(shares) + 1)
        ending = prompts_ending[text.new.stop :]
        return float((means * ending).sum() / ending.sum())

    def by_taken(self, model, layer=1):
        """The kinds by what they take in a layer, least first: list of (`Value`, label)."""
        known = self.data.models[model]
        found = [
            (self.layer(model, layer, "taken", name), known.condition(name).label)
            for name in self.kinds
        ]
        return sorted(found, key=lambda pair: pair[0].value)

    @functools.cached_property
    def alike(self):
        """Names of the models in whose first layer the pattern moves alike whatever is added, in
        every head; none where the kinds differ in length, or there is only one."""
        if not self.same_length or len(self.kinds) < 2:
            return []
        models = self.data.models
        return [one.name for n, one in enumerate(models) if self._differing(n, FIRST) < ALIKE]

    def _differing(self, model, layer):
        """How much the total variation of a head depends on the condition, at most."""
        heads = range(FIRST, self.data.models[model].heads + FIRST)
        values = [
            [self.head(model, layer, head, "total_variation", name).value for head in heads]
            for name in self.kinds
        ]
        return float(np.ptp(values, 0).max())

    def highest(self, place, conditions):
        """Which of those conditions that were measured has the highest peak in a head; the first
        one where the head was not.

        place: (model, layer, head)
        """
        known = [each for each in conditions if each in ("none", *self.added)]
        if not self.there([place]):
            return known[0]
        return max(known, key=lambda condition: self.peak(*place, condition).value)

    def _value(self, effects, at, layer, measure, condition, rows):
        column = "lambda" if measure == "taken" else measure
        if column not in MEASURES:
            raise ReportError(f"unknown measure {measure!r}; known: taken, {', '.join(MEASURES)}.")
        at = at & (effects["layer"] == layer - FIRST) & (effects["rows"] == rows)
        at = np.flatnonzero(at & (effects["condition"] == condition))
        if len(at) != 1:
            raise ReportError(
                f"there is no {measure} of condition {condition!r} in layer {layer}; layers and "
                f"heads count from {FIRST}, conditions that add a segment are: "
                f"{', '.join(self.added) or 'none'}."
            )
        found = Value(float(effects[column][at[0]]), float(effects[f"{column}_error"][at[0]]))
        return found.rest if measure == "taken" else found
