"""What an article about conditions may say: shares, changes and peaks, with their spread.

Its parts: effects (what an added segment changes), lines (what a head gives to every position) and
answers (whether what was added helps them).
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from report.datasets.formats.conditions import MEASURES
from report.errors import ReportError
from report.figures.parts import answered, received, received_numbers
from report.figures.parts.heads import Head
from report.kinds.conditions.answers import Cell, Interval, ModelAnswers
from report.kinds.conditions.data import ConditionsData


@dataclass(frozen=True)
class Difference:
    """What a filler of a length changes about the answers."""

    cell: Cell
    interval: Interval
    measure: str

    @property
    def said(self) -> str:
        """In words, with its interval."""
        return answered.in_words(self.interval, self.measure)

    @property
    def helps(self) -> bool:
        """Whether its interval lies above 0."""
        return self.interval.low > 0

    @property
    def harms(self) -> bool:
        """Whether it lies below."""
        return self.interval.high < 0


@dataclass(frozen=True)
class Kind:
    """Questions of a kind, in the attended cell of a model."""

    name: str
    share: float
    """What their answers give to the filler, mean."""
    gain: float
    """How much more probable the filler makes the right answer, mean, in nats."""
    correlation: Interval
    """Of both, over the questions."""


class AnswerFindings:
    """The part of `report.kinds.conditions.findings.Findings` that reads answers.

    one: of `answers`; measure: "log_probability" or "right"
    """

    def __init__(self, data: ConditionsData) -> None:
        self.data = data

    @property
    def answers(self) -> Sequence[ModelAnswers]:
        """The models that were asked questions; none if that was not measured."""
        return self.data.answers

    @functools.cached_property
    def chats(self) -> list[str]:
        """Names of the models that read the prompts in their chat template."""
        return [
            model.name
            for model in self.data.models
            if any(name.startswith("template ") for name in model.conditions[0].segments)
        ]

    def differences(self, one: ModelAnswers, measure: str) -> list[Difference]:
        """The `Difference` of every condition and length, in order."""
        return [
            Difference(
                cell,
                answered.scaled(one.difference(measure, cell.name, cell.tokens), measure),
                measure,
            )
            for cell in one.cells
        ]

    def by_kind(self, one: ModelAnswers) -> list[Kind]:
        """Each `Kind` of questions, in order; what answers give to a filler must be measured."""
        at = one.attended.name, one.attended.tokens
        return [
            Kind(
                kind,
                one.mean("share", *at, kind).value,
                one.difference("log_probability", *at, kind).value,
                one.correlation(kind),
            )
            for kind in dict.fromkeys(one.kinds.tolist())
        ]


@dataclass(frozen=True)
class Peak:
    """The position that receives most from a head."""

    position: int
    token: str
    """Its label in the first prompt."""
    value: float
    inside: bool
    """Whether it lies in what was added."""


class LineFindings:
    """The part of `report.kinds.conditions.findings.Findings` that reads lines by position.

    model: index in the front matter's order, from 0; layer, head: from 0
    condition: name of any condition; reduction: "mean" over the current tokens, or the "last" one
    """

    def __init__(self, data: ConditionsData) -> None:
        self.data = data

    def peak(
        self,
        model: int,
        layer: int,
        head: int,
        condition: str,
        cut: bool = False,
        reduction: str = "mean",
    ) -> Peak:
        """The `Peak` of a line, over the positions that all prompts have.

        cut: whether the added segment is cut out; positions are then those of the rest
        """
        text, values = self._line(model, layer, head, condition, cut, reduction)
        position = int(np.nanargmax(values))
        place = int(text.positions[position]) if cut else position
        return Peak(position, text.tokens[place], float(values[position]), place in text.new)

    def peaks(self, places: "list[Place]", condition: str) -> list[Peak]:
        """The `peak` of each head."""
        return [self.peak(*place, condition) for place in places]

    def weights(self, places: "list[Place]", condition: str) -> list[float]:
        """Of each head, the mean weight of the positions that a condition adds."""
        heads = [received.Place(self.data.models[model], *at) for model, *at in places]
        return [received_numbers.inside(head, condition, "mean") for head in heads]

    def kept(self, places: "list[Place]", condition: str) -> list[float]:
        """Of each head, the weight under a condition of the positions that the first one has too,
        as a fraction of their weight under the first."""
        names = [self.data.models[0].conditions[0].name, condition]
        panels = received.panels(self.data.models, places, names)
        lines = received.styled(panels, received.BLUE, received.RED)
        return [received_numbers.weight_ratio(each, lines, "mean") for each in panels.places]

    def gaining(self, places: "list[Place]", condition: str) -> int:
        """In how many places of these heads a position that all prompts have gets more under a
        condition than under the first one."""
        first, count = self.data.models[0].conditions[0].name, 0
        for place in places:
            lines = (self._line(*place, name, True, "mean")[1] for name in (first, condition))
            before, after = lines
            count += int((after > before).sum())  # NaN is not
        return count

    def _line(self, model, layer, head, condition, cut, reduction):
        known = self.data.models[model]
        text = known.condition(condition)
        values = known.received(layer, head)[condition][reduction][0]
        values = np.where(text.counts == known.prompts, values, np.nan)
        return text, text.aligned(values) if cut else values


@dataclass(frozen=True)
class Value:
    """A mean over prompts and its standard error, which is NaN for a single prompt."""

    value: float
    error: float

    @property
    def known(self) -> bool:
        """Whether it could be measured."""
        return self.value == self.value  # NaN is not

    @property
    def rest(self) -> "Value":
        """1 minus this value."""
        return Value(1 - self.value, self.error)


class EffectFindings:
    """The part of `report.kinds.conditions.findings.Findings` that reads the effects of conditions.

    model: index in the front matter's order, from 0; layer, head: from 0
    measure: lambda (what the old tokens keep), taken (1 minus lambda), total_variation or
        affine_error
    condition: name of one that adds a segment, default: the first of them
    rows: "mean" over the current tokens after it, or the "last" one
    """

    def __init__(self, data: ConditionsData) -> None:
        self.data = data

    @functools.cached_property
    def added(self) -> list[str]:
        """Names of the conditions that add a segment to the first one, in order."""
        return [each.name for each in self.data.models[0].conditions if each.added]

    def head(
        self,
        model: int,
        layer: int,
        head: int,
        measure: str,
        condition: str | None = None,
        rows: str = "mean",
    ) -> Value:
        """A measure of one head."""
        effects = self.data.models[model].effects
        at = effects["head"] == head
        return self._value(effects, at, layer, measure, condition, rows)

    def layer(
        self, model: int, layer: int, measure: str, condition: str | None = None, rows: str = "mean"
    ) -> Value:
        """A measure of a layer: the mean over its heads, with its error over prompts."""
        effects = self.data.models[model].layer_effects
        return self._value(effects, True, layer, measure, condition, rows)

    def layers(
        self, model: int, measure: str, condition: str | None = None, rows: str = "mean"
    ) -> list[Value]:
        """The same of every layer measured."""
        number = self.data.models[model].layers
        return [self.layer(model, n, measure, condition, rows) for n in range(number)]

    def heads(
        self, model: int, layer: int, measure: str, condition: str | None = None, rows: str = "mean"
    ) -> list[tuple[Value, int]]:
        """(`Value`, head) of every head of a layer, sorted by value."""
        number = self.data.models[model].heads
        found = [(self.head(model, layer, n, measure, condition, rows), n) for n in range(number)]
        return sorted(found, key=lambda pair: pair[0].value)

    def most(self, measure: str, condition: str | None = None) -> tuple[Head, int]:
        """The head that has the largest value of all models: (`Head`, model).

        As everywhere, a `Head` counts from 0: `{{ find.most("taken")[0].label }}` is "L5H2".
        """
        found = [
            (Head(layer, head, most.value), model)
            for model, one in enumerate(self.data.models)
            for layer in range(one.layers)
            for most, head in self.heads(model, layer, measure, condition)[-1:]
        ]
        return max(found, key=lambda each: each[0].value)

    def chosen(self, condition: str | None) -> str:
        """The condition of that name, or the first one that adds a segment.

        raises: ReportError if none does
        """
        if condition is None and not self.added:
            raise ReportError(
                "no condition of this study adds a segment to the prompt; add one with `before`."
            )
        return condition or self.added[0]

    def _value(self, effects, at, layer, measure, condition, rows):
        condition = self.chosen(condition)
        column = "lambda" if measure == "taken" else measure
        if column not in MEASURES:
            raise ReportError(f"unknown measure {measure!r}; known: taken, {', '.join(MEASURES)}.")
        at = at & (effects["layer"] == layer) & (effects["rows"] == rows)
        at = np.flatnonzero(at & (effects["condition"] == condition))
        if len(at) != 1:
            raise ReportError(
                f"there is no {measure} of condition {condition!r} in layer {layer}; layers and "
                f"heads count from 0, conditions that add a segment are: "
                f"{', '.join(self.added) or 'none'}."
            )
        found = Value(float(effects[column][at[0]]), float(effects[f"{column}_error"][at[0]]))
        return found.rest if measure == "taken" else found


Place = tuple[int, int, int]
"""(model, layer, head), all from 0."""

ALIKE = 0.0005
"""Shares that differ by less are called the same: each was rounded to 0.0001."""


def context(data: ConditionsData) -> dict:
    """What templates of articles about conditions use: see `report.kinds`."""
    return {"find": Findings(data), "prompts": data.models[0].manifest["prompts"]}


class Findings(EffectFindings, LineFindings, AnswerFindings):
    """Numbers of a study of conditions, computed from its datasets when they are asked for.

    model: index in the front matter's order, from 0; layer, head: from 0
    condition: name of one that adds a segment, default: the first of them
    rows: "mean" over the current tokens after it, or the "last" one
    """

    # --- Which panels there are

    def there(self, places: list[Place]) -> list[Place]:
        """Those of (model, layer, head) that were measured."""
        models = self.data.models
        return [
            (model, layer, head)
            for model, layer, head in places
            if model < len(models) and layer < models[model].layers and head < models[model].heads
        ]

    def shown(self, places: list[Place]) -> list[Place]:
        """What figures show for (model, layer, head) of the study.

        A model that has not all heads that the study names is shown by as many of its own: those
        of the first layer named that give most to what is added. Models and layers that were not
        measured are left out.
        """
        found = []
        for model in dict.fromkeys(model for model, *_ in places):
            if model >= len(self.data.models):
                continue
            known = self.data.models[model]
            named = [(layer, head) for one, layer, head in places if one == model]
            heads = {head for _, head in named}
            if max(heads) >= known.heads:
                most = self.heads(model, named[0][0], "taken")[-len(heads) :]
                layers = dict.fromkeys(layer for layer, _ in named)
                named = [(layer, head) for layer in layers for head in sorted(h for _, h in most)]
            found += [(model, layer, head) for layer, head in named if layer < known.layers]
        return found

    @property
    def compared(self) -> list[str]:
        """Names of the first condition and of the first that adds a segment to it, or else of the
        second one."""
        first, *others = (each.name for each in self.data.models[0].conditions)
        return [first, self.chosen(None) if self.added or not others else others[0]]

    def panels(
        self, places: list[Place], lines: dict[str, str] | Sequence[str], **options: Any
    ) -> received.Panels:
        """What a grid of lines shows, for those places that were measured.

        lines: names of conditions, or a dict of name to label
        options: see `report.figures.parts.received.panels`
        raises: ReportError if there is no condition of that name
        """
        for name in lines:
            self.data.models[0].condition(name)
        options = {"noun": self.data.noun} | options
        return received.panels(self.data.models, self.there(places), lines, **options)

    def panels_by_model(
        self, places: list[Place], lines: dict[str, str] | Sequence[str], **options: Any
    ) -> received.Panels | received.PanelsByModel:
        """The same with a switch that leads from model to model, each with its own place."""
        there = self.there(places)
        return received.by_model([self.panels([place], lines, **options) for place in there])

    # --- What was asked for, and what was measured

    @functools.cached_property
    def kinds(self) -> list[str]:
        """Names of those that add it at the same place as the first of them."""
        first = self.data.models[0].condition
        return [name for name in self.added if first(name).new[:1] == first(self.added[0]).new[:1]]

    def sample(self, condition: str, tokens: int = 12, model: int = 0) -> str:
        """The text of the first tokens that a condition adds, as pages show it."""
        text = self.data.models[model].condition(condition)
        said = "".join(text.shown[place] for place in text.new[:tokens])
        return said + "…" * (len(text.new) > tokens)

    @property
    def over_edges(self) -> str:
        """Which tokens lie over the edge of two segments: sentences; "" if none does."""
        names = [each.name for each in self.data.models[0].conditions]
        return received.over_edges(self.data.models, names).strip()

    @property
    def same_length(self) -> bool:
        """Whether in every model all kinds have the same number of tokens."""
        return all(
            len({len(model.condition(name).new) for name in self.kinds}) == 1
            for model in self.data.models
        )

    def even(self, model: int, condition: str | None = None) -> float:
        """The share that uniform attention would give to what a condition adds.

        A mean over the current tokens after it and over prompts; NaN where windows hide some of
        the prompt in the first layer, as how much is not kept.
        """
        known = self.data.models[model]
        text = known.condition(self.chosen(condition))
        # what all current tokens give to a position beside what those give that see it
        received = [known.received(0, head)[text.name] for head in range(known.heads)]
        seeing, every = (sum(one[over][0] for one in received) for over in ("mean", "all"))
        if every[0] < 0.9 * seeing[0]:
            return float("nan")
        one_way = every[-1] * len(text.counts) <= 1.5 * seeing[-1]
        prompts_ending = -np.diff([*text.counts.tolist(), 0])  # at each position
        first = min(place for place in text.positions if place >= text.new.stop)
        shares = len(text.new) / np.arange(first + 1, len(text.counts) + 1)
        # in an encoder, each of a prompt's tokens sees all of it
        means = np.cumsum(shares) / np.arange(1, len(shares) + 1) if one_way else shares
        ending = prompts_ending[first:]
        return float((means * ending).sum() / ending.sum())

    def moved_less(self, condition: str) -> bool:
        """Whether in the first layer of every model a condition moves less attention between the
        old tokens than the first one that adds something."""
        models = range(len(self.data.models))
        measure = "total_variation"
        pairs = [
            (self.layer(n, 0, measure, condition).value, self.layer(n, 0, measure).value)
            for n in models
        ]
        return all(there < here for there, here in pairs)

    @functools.cached_property
    def alike(self) -> list[str]:
        """Names of the models in whose first layer every head moves alike whatever is added.

        Empty if the kinds differ in length, or if there is only one.
        """
        if not self.same_length or len(self.kinds) < 2:
            return []
        models = self.data.models
        return [one.name for n, one in enumerate(models) if self._differing(n, 0) < ALIKE]

    def _differing(self, model, layer):
        """The most by which the total variation of a head depends on the condition."""
        heads = range(self.data.models[model].heads)
        values = [
            [self.head(model, layer, head, "total_variation", name).value for head in heads]
            for name in self.kinds
        ]
        return float(np.ptp(values, 0).max())

    def by_share(self, layer: int) -> list[list[str]]:
        """Of each model, the names of `kinds` by what they take in a layer, least first."""

        def taken(model):
            return lambda name: self.layer(model, layer, "taken", name).value

        return [sorted(self.kinds, key=taken(n)) for n in range(len(self.data.models))]


NAMES = {"data": ConditionsData, "find": Findings, "prompts": None}
"""Name in templates -> class of what it stands for; None: several, or a plain value."""
