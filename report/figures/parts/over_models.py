"""What figures over many models, or over the checkpoints of one, have in common."""

from itertools import pairwise

import altair
import numpy as np

from report.figures.parts import theme

HABITS = {
    "first_token": "the first token",
    "previous_token": "the token before",
    "previous_random": "the token before, among random ones",
    "induction": "what came next last time",
}
"""Measures of a head -> what a head looks at that has much of it."""

AXES = {
    "first_token": "share of tokens attending most to token 0",
    "previous_token": "share of tokens attending most to the token before",
    "previous_random": "mean probability on the token before",
    "induction": "mean probability on what came next",
}
"""The same -> what is measured, with its unit, for axes."""

COLOURS = {
    habit: theme.KINDS["the first token" if habit == "first_token" else "another token"][1:]
    for habit in HABITS
}
"""The same -> (colour on light, colour on dark)."""

OFTEN = ("first_token", "previous_token")
"""Those that count tokens; the others are means of probabilities."""

ROWS = "rows/all.json"
"""Where the rows of a figure are whose parts are chosen in the page."""


def left_out(data):
    """Why such a figure cannot be drawn, one sentence; "" if it can."""
    if getattr(data, "kind", None) != "sweep":
        return "It compares models that were measured for a sweep."
    return ""


def no_training(data):
    """The same of a figure over training steps."""
    if reason := left_out(data):
        return reason
    if not data.training:
        return "It needs checkpoints of one training that say after how many steps each was saved."
    return ""


def step_axis(steps):
    """The channel of training steps, closer together the later they are, with room for 0."""
    middle = max(1, sorted(steps)[len(steps) // 2])
    scale = {"type": "symlog", "constant": middle, "nice": False, "padding": 6}
    axis = {"format": ",d", "grid": False, "values": _ticks(steps), "labelOverlap": "greedy"}
    channel = altair.X("step:Q", title="training step").axis(**axis)
    return channel.scale(domain=[min(steps), max(steps)], **scale)


def along(steps):
    """Where steps lie on that axis: float [steps], from 0 to 1."""
    middle = max(1, sorted(steps)[len(steps) // 2])
    places = np.log1p(np.array(steps, float) / middle)
    return (places - places.min()) / (np.ptp(places) or 1)


def _ticks(steps):
    """Labelled steps: the ends, and between them those well beyond the one before."""
    first, *others, last = sorted(steps)
    found = [first]
    for step in others:
        if step - found[-1] >= last / 12 and last - step >= last / 9:
            found.append(step)
    return [*found, last]


def turn(data, said=""):
    """A rule where the recipe of a training changes what it drills: list of charts; [] if its
    checkpoints do not say, or lie on one side of it.

    said: what is written at its foot
    """
    step = changes_at(data)
    if step is None:
        return []
    at = altair.Chart(altair.InlineData([{"step": step, "said": said}]))
    soft = theme.themed(*theme.SOFT.values())
    x = altair.X("step:Q")
    rule = at.mark_rule(strokeWidth=1, opacity=0.5, color=soft, aria=False)
    if not said:
        return [rule.encode(x=x)]
    style = {"align": "left", "baseline": "bottom", "dx": 6, "dy": -5, "fontSize": theme.TICK}
    text = at.mark_text(color=soft, aria=False, **style)
    foot = altair.value(altair.ExprRef("height"))
    return [rule.encode(x=x), text.encode(x=x, y=foot, text="said:N")]


def changes_at(data):
    """The step at which other drills join the loops of random tokens, or None; see `turn`."""
    step = data.training[-1].recipe.get("loops_only")
    inside = step is not None and data.training[0].step < step < data.training[-1].step
    return step if inside else None


def strongest(model, measure):
    """(layer, head) of a model's largest value of a measure."""
    place = int(model.habit(measure).argmax())
    return divmod(place, model.heads)


def steepest(data):
    """Which checkpoint comes before the largest rise of the best score of what came next."""
    scores = [model.habit("induction").max() for model in data.training]
    rises = [b - a for a, b in pairwise(scores)]
    return max(range(len(rises)), key=rises.__getitem__, default=0)


def early(data, measure):
    """(layer, head) that is highest at any checkpoint before that rise, and the checkpoint."""
    before = data.training[: steepest(data) + 1]
    model = max(before, key=lambda each: each.habit(measure).max())
    return strongest(model, measure), model


def head_rows(model, **more):
    """A row a head of a model, list of dict: layer, head, its name and every habit."""
    habits = {habit: model.habit(habit) for habit in HABITS}
    return [
        more
        | {"layer": layer, "head": head, "named": f"L{layer}H{head}"}
        | {habit: float(values[layer, head]) for habit, values in habits.items()}
        for layer in range(model.layers)
        for head in range(model.heads)
    ]


def grouped(label):
    """What a page calls the heads of a model that it marks: those of other models are others."""
    return f"sweep {label}"
