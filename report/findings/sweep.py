"""What an article that compares models may say: which head, from which step on, in which model."""

import math
from dataclasses import dataclass

import numpy as np

from report.figures.parts.heads import largest
from report.figures.parts.over_models import HABITS, OFTEN


def context(data):
    """What templates of articles about many models use: see `report.findings`."""
    return {"find": Findings(data)}


@dataclass(frozen=True)
class Rise:
    """The two checkpoints in a row between which something grows most."""

    before: object
    """`ModelHabits`."""
    after: object
    low: float
    """The value at the first of the two."""
    high: float


@dataclass(frozen=True)
class Shared:
    """A habit that all compared models have heads for, more or less."""

    habit: str
    words: str
    """What such a head looks at."""
    least: float
    """What the strongest head of every model reaches."""

    @property
    def of(self):
        """What that is a fraction of."""
        return "of the tokens" if self.habit in OFTEN else "of its probability"


class Findings:
    """Numbers of a sweep, computed from its datasets when they are asked for.

    measure: a key of `report.datasets.formats.sweep.MEASURES`
    model: `ModelHabits`, default: the last checkpoint of the training
    """

    def __init__(self, data):
        self.data = data

    @property
    def checkpoints(self):
        """The models that are of one training, by step."""
        return self.data.training

    @property
    def compared(self):
        """The other models."""
        return self.data.compared

    @property
    def first(self):
        """The first checkpoint."""
        return self.checkpoints[0]

    @property
    def last(self):
        """The last checkpoint."""
        return self.checkpoints[-1]

    def at(self, step):
        """The checkpoint saved at a step, or the last one before it; the first where none is."""
        return [m for m in self.checkpoints if m.step <= max(step, self.first.step)][-1]

    def after(self, step):
        """The first checkpoint saved after a step, None if there is none."""
        return next((model for model in self.checkpoints if model.step > step), None)

    def strongest(self, measure, model=None):
        """The `Head` of a model with the largest value."""
        return largest((model or self.last).habit(measure))

    def runner_up(self, measure, model=None):
        """The `Head` of a model with the second largest value."""
        values = np.array((model or self.last).habit(measure), float)
        top = largest(values)
        values[top.layer, top.head] = -np.inf
        return largest(values)

    def value(self, measure, head, model=None):
        """The value of one head, a `Head`, in a model."""
        return float((model or self.last).habit(measure)[head.layer, head.head])

    def mean(self, measure, model=None):
        """The mean over all heads of a model."""
        return float((model or self.last).habit(measure).mean())

    def highest(self, measure, models):
        """The largest value of any head of some models."""
        return max(float(model.habit(measure).max()) for model in models)

    def heads(self, measure, value, model=None):
        """How many heads of a model reach a value."""
        return int(((model or self.last).habit(measure) >= value).sum())

    def layers(self, measure, value, model=None):
        """The layers that hold those heads, list of int."""
        found = (model or self.last).habit(measure) >= value
        return np.flatnonzero(found.any(axis=1)).tolist()

    def reached(self, measure, head, value):
        """The first checkpoint at which one head, a `Head`, reaches a value; None if none does."""
        return next((m for m in self.checkpoints if self.value(measure, head, m) >= value), None)

    def rise(self, measure):
        """The `Rise` of the largest value of any head."""
        return self._rise([float(model.habit(measure).max()) for model in self.checkpoints])

    def gain(self, model=None):
        """By how many nats a token random tokens are easier for having been said before."""
        model = model or self.last
        return model.loss("unrepeated") - model.loss("second")

    def rise_of_gain(self):
        """The `Rise` of that."""
        return self._rise([self.gain(model) for model in self.checkpoints])

    def credulous(self):
        """The checkpoint that loses most on tokens that are not repeated, above those said first;
        None if none loses more."""
        model = max(self.checkpoints, key=self.surprise)
        return model if self.surprise(model) > 0 else None

    def surprise(self, model):
        """By how many nats tokens that are not repeated are harder than those said first."""
        return model.loss("unrepeated") - model.loss("first")

    @property
    def guess(self):
        """Loss of a model that takes every token for equally likely, nats a token."""
        return math.log(self.last.manifest["model"]["vocabulary"])

    def lowest(self, of, since):
        """The checkpoint with the smallest loss from a checkpoint on."""
        later = [model for model in self.checkpoints if model.step >= since.step]
        return min(later, key=lambda model: model.loss(of))

    def drills(self, step, model=None):
        """Fraction of training sequences at a step that are drills, as the recipe of a model says;
        None if it does not."""
        recipe = (model or self.last).recipe
        try:
            falling = recipe["drill"] - recipe["drill_slope"] * step
            return max(recipe["drill_late"], falling)
        except KeyError:
            return None

    def feeder(self, model):
        """The `Head` of a model that gives most to the token before, among random tokens, in a
        layer below all heads that reach half of what came next; None if there is no such layer."""
        layers = self.layers("induction", 0.5, model)
        below = model.habit("previous_random")[: layers[0]] if layers else []
        return largest(below) if len(below) else None

    def peak(self, measure, upto):
        """(checkpoint, `Head`) of the largest value of any head up to a step."""
        early = [model for model in self.checkpoints if model.step <= upto]
        model = max(early, key=lambda each: each.habit(measure).max())
        return model, largest(model.habit(measure))

    def shared_habit(self):
        """Of the habits of heads, the one with the strongest head in the compared model where that
        is weakest: `Shared`."""
        found = [
            Shared(habit, words, min(float(one.habit(habit).max()) for one in self.compared))
            for habit, words in HABITS.items()
        ]
        return max(found, key=lambda each: each.least)

    def finished(self):
        """Of the compared models, the one with the shape and the recipe of the checkpoints, and no
        fewer steps; None if there is none.

        Recipes are alike if they agree in all that both tell: later ones have more numbers.
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
        steps = np.diff(values)
        at = int(np.argmax(steps))
        return Rise(*self.checkpoints[at : at + 2], values[at], values[at + 1])
