"""What an article about conditions may say about answers: whether what was added helps them."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from report.datasets.read.answers import Cell, Interval, ModelAnswers
from report.datasets.read.conditions import ConditionsData
from report.figures.parts import answered


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


class AnswerFindings:
    """The part of `report.findings.conditions.Findings` that reads answers.

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
