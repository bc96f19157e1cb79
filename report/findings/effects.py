"""What an article about conditions may say about effects: what an added segment changes."""

import functools
from dataclasses import dataclass

import numpy as np

from report.datasets.formats.conditions import MEASURES
from report.datasets.read.conditions import ConditionsData
from report.errors import ReportError
from report.figures.parts.heads import Head


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
    """The part of `report.findings.conditions.Findings` that reads the effects of conditions.

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
