"""What figures over many models, or over the checkpoints of one, have in common."""

from collections.abc import Sequence
from itertools import pairwise

import altair
import numpy as np

from report.figures.parts import theme
from report.kinds.sweep.data import ModelHabits, SweepData
from report.measures import shipped

OFTEN = ("first_token", "previous_token")
"""Measures that count tokens; the others are means of probabilities on random tokens."""

HABITS = {name: shipped()[name].looks_at for name in OFTEN} | {
    "previous_random": "the token before, among random ones",
    "induction": "what came next last time",
}
"""Measures of a head -> what heads with a high value look at."""

AXES = {name: shipped()[name].axis for name in OFTEN} | {
    "previous_random": "mean probability on the token before",
    "induction": "induction score (mean probability)",
}
"""Measures of a head -> title of an axis, with its unit."""

COLOURS = {
    habit: theme.KINDS["the first token" if habit == "first_token" else "another token"][1:]
    for habit in HABITS
}
"""Measures of a head -> (colour on light, colour on dark)."""

SOFT = theme.themed(*theme.SOFT.values())
WORDS = {"baseline": "bottom", "fontSize": theme.TICK}
"""The style of words at a rule or a band."""

ROWS = "rows/all.json"
"""Address of the rows of a figure whose controls choose among them in the page."""


def no_training(data: SweepData) -> str:
    """Why a figure over training steps cannot be drawn, one sentence; "" if it can."""
    if not data.training:
        return "It needs checkpoints of one training that say after how many steps each was saved."
    return ""


def step_axis(steps: Sequence[int]) -> altair.X:
    """The channel of training steps, closer together the later they are, with room for 0."""
    middle = max(1, sorted(steps)[len(steps) // 2])
    scale = {"type": "symlog", "constant": middle, "nice": False, "padding": 6}
    axis = {"format": ",d", "grid": False, "values": _ticks(steps), "labelOverlap": "greedy"}
    channel = altair.X("step:Q", title="training step (later ones closer together)").axis(**axis)
    return channel.scale(domain=[min(steps), max(steps)], **scale)


def along(steps: Sequence[int]) -> np.ndarray:
    """Where steps lie on that axis: float [steps], from 0 to 1."""
    middle = max(1, sorted(steps)[len(steps) // 2])
    places = np.log1p(np.array(steps, float) / middle)
    return (places - places.min()) / (np.ptp(places) or 1)


def _ticks(steps):
    """Labelled steps: both ends, and between them steps that keep well apart."""
    first, *others, last = sorted(steps)
    ticks = [first]
    for step in others:
        if step - ticks[-1] >= last / 12 and last - step >= last / 9:
            ticks.append(step)
    return [*ticks, last]


def turn(data: SweepData, y: str = "height - 5") -> list[altair.Chart]:
    """A rule at the step at which the recipe of a training changes what it drills.

    y: the height of its words, an expression in pixels
    returns: its layers; none if `changes_at` knows no such step
    """
    step = changes_at(data)
    if step is None:
        return []
    at = altair.Chart(altair.InlineData([{"step": step, "said": "more drills"}]))
    x = altair.X("step:Q")
    rule = at.mark_rule(strokeWidth=1, opacity=0.5, color=SOFT, aria=False)
    text = at.mark_text(color=SOFT, aria=False, align="left", dx=6, **WORDS)
    return [rule.encode(x=x), text.encode(x=x, **theme.place(y=y), text=altair.Text("said:N"))]


def jump(data: SweepData) -> list[altair.Chart]:
    """A band between the checkpoints between which the best induction score rises most, and its
    steps to its left, at the top."""
    low, high = (model.step for model in data.training[steepest(data) :][:2])
    band = {"low": low, "high": high, "said": f"steps {low:,} to {high:,}"}
    at = altair.Chart(altair.InlineData([band]))
    x = altair.X("low:Q")
    text = at.mark_text(color=SOFT, aria=False, align="right", dx=-4, **WORDS)
    return [
        at.mark_rect(opacity=0.16, color=SOFT, aria=False).encode(x=x, x2="high:Q"),
        text.encode(x=x, **theme.place(y="12"), text=altair.Text("said:N")),
    ]


def changes_at(data: SweepData) -> int | None:
    """The step at which other drills join the loops of random tokens.

    None if the checkpoints do not say, or all lie on one side of it.
    """
    step = data.training[-1].recipe.get("loops_only")
    inside = step is not None and data.training[0].step < step < data.training[-1].step
    return step if inside else None


def strongest(model: ModelHabits, measure: str) -> tuple[int, int]:
    """(layer, head) of a model's largest value of a measure."""
    place = int(model.habit(measure).argmax())
    return divmod(place, model.heads)


def steepest(data: SweepData) -> int:
    """Index of the checkpoint after which the best induction score rises most.

    The induction score is the mean probability on what came next last time.
    """
    scores = [model.habit("induction").max() for model in data.training]
    rises = [b - a for a, b in pairwise(scores)]
    return max(range(len(rises)), key=rises.__getitem__, default=0)


def early(data: SweepData, measure: str) -> tuple[tuple[int, int], ModelHabits]:
    """The (layer, head) with the largest value up to that checkpoint, and the checkpoint of it."""
    before = data.training[: steepest(data) + 1]
    model = max(before, key=lambda model: model.habit(measure).max())
    return strongest(model, measure), model


def head_rows(model: ModelHabits, **more: int) -> list[dict]:
    """A row for each head of a model: layer, head, named and every habit; and `more`."""
    habits = {habit: model.habit(habit) for habit in HABITS}
    return [
        more
        | {"layer": layer, "head": head, "named": f"L{layer}H{head}"}
        | {habit: float(values[layer, head]) for habit, values in habits.items()}
        for layer in range(model.layers)
        for head in range(model.heads)
    ]


def grouped(label: str) -> str:
    """The name under which a page marks the heads of a model, and those of no other model."""
    return f"sweep {label}"
