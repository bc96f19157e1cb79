"""What an article about conditions may say about lines: what a head gives to every position."""

from dataclasses import dataclass

import numpy as np

from report.datasets.read.conditions import ConditionsData


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
    """The part of `report.findings.conditions.Findings` that reads lines by position.

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

    def at(
        self,
        model: int,
        layer: int,
        head: int,
        condition: str,
        position: int,
        cut: bool = False,
        reduction: str = "mean",
    ) -> float | None:
        """The value of a line at a position, from 0; None where it has none."""
        values = self._line(model, layer, head, condition, cut, reduction)[1]
        known = position < len(values) and np.isfinite(values[position])
        return float(values[position]) if known else None

    def _line(self, model, layer, head, condition, cut, reduction):
        known = self.data.models[model]
        text = known.condition(condition)
        values = known.received(layer, head)[condition][reduction][0]
        values = np.where(text.counts == known.prompts, values, np.nan)
        return text, text.aligned(values) if cut else values
