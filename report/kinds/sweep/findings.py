"""Findings of an article that compares models: which head, from which step on, in which model."""

import math
from dataclasses import dataclass

import numpy as np

from report.figures.parts.heads import Head, largest
from report.kinds.sweep.data import ModelHabits, SweepData


def context(data: SweepData) -> dict:
    """What templates of articles about many models use: see `report.kinds`."""
    return {"find": Findings(data)}


@dataclass(frozen=True)
class Rise:
    """Two checkpoints, one after the other, between which something grows most."""

    before: ModelHabits
    after: ModelHabits
    low: float
    """The value at the first of the two."""
    high: float


class Findings:
    """Numbers of a sweep, computed from its datasets when they are asked for.

    measure: one of `ModelHabits.measures`
    model: `ModelHabits`, default: the last checkpoint of the training
    """

    def __init__(self, data: SweepData) -> None:
        self.data = data

    @property
    def checkpoints(self) -> list[ModelHabits]:
        """The models of one training, by step."""
        return self.data.training

    @property
    def compared(self) -> list[ModelHabits]:
        """The other models."""
        return self.data.compared

    @property
    def first(self) -> ModelHabits:
        """The first checkpoint."""
        return self.checkpoints[0]

    @property
    def last(self) -> ModelHabits:
        """The last checkpoint."""
        return self.checkpoints[-1]

    def at(self, step: int) -> ModelHabits:
        """The checkpoint saved at a step, or the last one before it; the first where none is."""
        return [m for m in self.checkpoints if m.step <= max(step, self.first.step)][-1]

    def after(self, step: int) -> ModelHabits | None:
        """The first checkpoint saved after a step, None if there is none."""
        return next((model for model in self.checkpoints if model.step > step), None)

    def strongest(self, measure: str, model: ModelHabits | None = None) -> Head:
        """The `Head` of a model with the largest value."""
        return largest((model or self.last).habit(measure))

    def runner_up(self, measure: str, model: ModelHabits | None = None) -> Head:
        """The `Head` of a model with the second largest value."""
        values = np.array((model or self.last).habit(measure), float)
        top = largest(values)
        values[top.layer, top.head] = -np.inf
        return largest(values)

    def value(self, measure: str, head: Head, model: ModelHabits | None = None) -> float:
        """The value of one head, a `Head`, in a model."""
        return float((model or self.last).habit(measure)[head.layer, head.head])

    def mean(self, measure: str, model: ModelHabits | None = None) -> float:
        """The mean over all heads of a model."""
        return float((model or self.last).habit(measure).mean())

    def highest(self, measure: str, models: list[ModelHabits]) -> float:
        """The largest value of any head of some models."""
        return max(float(model.habit(measure).max()) for model in models)

    def heads(self, measure: str, value: float, model: ModelHabits | None = None) -> int:
        """How many heads of a model reach a value."""
        return int(((model or self.last).habit(measure) >= value).sum())

    def layers(self, measure: str, value: float, model: ModelHabits | None = None) -> list[int]:
        """The layers with a head that reaches a value, list of int from 0."""
        reaching = (model or self.last).habit(measure) >= value  # [layer, head]
        return np.flatnonzero(reaching.any(axis=1)).tolist()

    def reached(self, measure: str, head: Head, value: float) -> ModelHabits | None:
        """The first checkpoint at which one head, a `Head`, reaches a value; None if none does."""
        return next((m for m in self.checkpoints if self.value(measure, head, m) >= value), None)

    def rise(self, measure: str) -> Rise:
        """The `Rise` of the largest value of any head, between neighbouring checkpoints."""
        return self._rise([float(model.habit(measure).max()) for model in self.checkpoints])

    def gain(self, model: ModelHabits | None = None) -> float:
        """Loss on random tokens after other ones, less that on the same tokens said a second time:
        nats a token."""
        model = model or self.last
        return model.loss("unrepeated") - model.loss("second")

    def rise_of_gain(self) -> Rise:
        """The `Rise` of `gain`."""
        return self._rise([self.gain(model) for model in self.checkpoints])

    def credulous(self) -> ModelHabits | None:
        """The checkpoint with the largest `surprise`; None if that is not above 0."""
        model = max(self.checkpoints, key=self.surprise)
        return model if self.surprise(model) > 0 else None

    def surprise(self, model: ModelHabits) -> float:
        """Loss on the control, the repeated tokens after other ones, less that on tokens said the
        first time: nats a token. Above 0, the model expects a repetition that does not come."""
        return model.loss("unrepeated") - model.loss("first")

    @property
    def guess(self) -> float:
        """Loss of a model to which all tokens are equally likely, nats a token."""
        return math.log(self.last.manifest["model"]["vocabulary"])

    def drills(self, step: int, model: ModelHabits | None = None) -> float | None:
        """Fraction of training sequences that are drills at a step; None if the model's recipe does
        not say."""
        recipe = (model or self.last).recipe
        alone = recipe.get("drills_only", 0)
        if step < alone:
            return 1.0
        try:
            falling = recipe["drill"] - recipe["drill_slope"] * (step - alone)
            return max(recipe["drill_late"], falling)
        except KeyError:
            return None

    def feeder(self, model: ModelHabits) -> Head | None:
        """The head below all induction heads that gives most to the token before, on random tokens.

        Induction heads are those with an induction score of 0.5 or more. None if there are none, or
        if one of them is in the first layer.
        """
        layers = self.layers("induction", 0.5, model)
        below = model.habit("previous_random")[: layers[0]] if layers else []
        return largest(below) if len(below) else None

    def peak(self, measure: str, upto: int) -> tuple[ModelHabits, Head]:
        """(checkpoint, `Head`) of the largest value of any head up to a step."""
        early = [model for model in self.checkpoints if model.step <= upto]
        model = max(early, key=lambda each: each.habit(measure).max())
        return model, largest(model.habit(measure))

    def least(self, measure: str) -> float:
        """The largest value of any head, in the compared model in which that is smallest."""
        return min(float(model.habit(measure).max()) for model in self.compared)

    def finished(self) -> ModelHabits | None:
        """The compared model with the shape and the recipe of the checkpoints and at least as many
        steps; None if there is none.

        Recipes are alike if they agree in all that both state, since later recipes state more.
        """
        last = self.last
        shape = (last.layers, last.heads, last.parameters)
        for model in self.compared:
            shared = model.recipe.keys() & last.recipe.keys()
            same = shared and all(model.recipe[key] == last.recipe[key] for key in shared)
            alike = (model.layers, model.heads, model.parameters) == shape
            if same and alike and (model.step or 0) >= last.step:
                return model
        return None

    def _rise(self, values):
        """The `Rise` of values, one a checkpoint."""
        steps = np.diff(values)
        at = int(np.argmax(steps))
        return Rise(*self.checkpoints[at : at + 2], values[at], values[at + 1])


NAMES = {"data": SweepData, "find": Findings}
"""Name in templates -> class of what it stands for; None: several, or a plain value."""
