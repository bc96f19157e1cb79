"""How heads come by their habits: every head at every checkpoint of one training."""

import altair

from report.figures.parts import choices, marking, over_models, theme
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.kinds.sweep.data import SweepData
from report.text import percent

ASPECT, PHONE_ASPECT = 1.5, 1.05

ROWS = "rows/{habit}.json"
"""Address of rows."""


def title(data: SweepData) -> str:
    return "How heads come by their habits: {habit}"


def left_out(data: SweepData) -> str:
    return over_models.no_training(data)


def caption(data: SweepData) -> str:
    manifest = data.training[-1].manifest
    sweep, corpus = manifest["sweep"], manifest["corpus"]
    early = data.training[over_models.steepest(data)].step
    ruled = over_models.changes_at(data) is not None
    rule = " At the upright rule, other drills begin." if ruled else ""
    return (
        "A line is one head, from checkpoint to checkpoint. The coloured one ends "
        f"highest; the thinner one with a name was highest up to step {early:,}; the broken one is "
        "the mean of all heads. In the grey band the highest induction score rises most."
        f"{rule} What came next last time, and the token before among random ones, are mean "
        f"probabilities over {sweep['sequences']} sequences of {sweep['length']} random tokens "
        f"said twice; the others count the top targets of the tokens of {corpus['texts']} short "
        "texts, the first of each left out."
    )


def use(data: SweepData) -> str:
    return "Point at a head to follow it, also through what else it looks at."


def controls(data: SweepData) -> list[Control | Switch]:
    return [Switch("habit", "Looks at", over_models.HABITS, "induction")]


def chart(data: SweepData, **state: int | str) -> altair.LayerChart:
    steps = [model.step for model in data.training]
    x = over_models.step_axis(steps)
    y = altair.Y("value:Q", title=None).scale(domain=[0, _highest(data)], nice=True)
    y = y.axis(format=".0%", tickCount=5)
    table, named = altair.Chart(altair.NamedData("rows")), altair.Text("named:N")
    return theme.frame(
        layered(
            *over_models.jump(data),
            *over_models.turn(data, "12"),
            *(mark.encode(x=x, y=y) for mark in _lines(table)),
            *(mark.encode(x=x, y=y, text=named) for mark in _names(table, steps[-1])),
            theme.y_title(choices.chosen("habit", over_models.AXES)),
        ),
        theme.Source(ROWS, "tables", ["rows"], tokens=None),
        description="How heads come by their habits: a line a head, by training step",
        params=[
            *choices.params(state),
            *marking.marked("layer", "head"),
        ],
        walk=["step", "named"],
        model=over_models.grouped("training"),
    )


HEADS = "datum.layer !== null"
MEAN = "datum.layer === null"
ENDS = "datum.ends === 1"
"""Rows of the head that is highest at the end."""
EARLY = "datum.early === 1 && datum.ends === 0"
"""Rows of the head that was highest early, if that is another one."""


def _lines(table):
    """Lines of all heads, of their mean and of the heads that stand out, and points to point at."""
    heads = table.transform_filter(HEADS)
    mean = table.transform_filter(MEAN)
    marked = heads.transform_filter(marking.either(marking.HEAD))
    ink = altair.ExprRef("ink")
    mass, pale = theme.themed(*theme.MASS.values()), altair.ExprRef("dark ? 0.75 : 0.55")
    colours = {habit: theme.themed(*both) for habit, both in over_models.COLOURS.items()}
    first, other = (colours[habit].to_dict()["expr"] for habit in ("first_token", "induction"))
    colour = altair.ExprRef(f"habit === 'first_token' ? ({first}) : ({other})")
    lines = [
        heads.mark_line(strokeWidth=1, opacity=pale, color=mass, aria=False),
        mean.mark_line(strokeWidth=1.8, strokeDash=[5, 3], color=ink, aria=False),
        heads.transform_filter(EARLY).mark_line(
            strokeWidth=1.4, opacity=0.75, color=ink, aria=False
        ),
        heads.transform_filter(ENDS).mark_line(strokeWidth=2.6, color=colour, aria=False),
        marked.mark_line(strokeWidth=2.2, color=ink, aria=False),
    ]
    tooltip = [
        altair.Tooltip("named:N", title="title"),
        altair.Tooltip("step:Q", title="training step", format=",d"),
        altair.Tooltip("value:Q", title="value", format=".1%"),
    ]
    around = table.mark_circle(size=90, color="transparent", aria=False)  # easy to hit
    each = altair.Detail("named:N")
    return [
        *(line if line is lines[1] else line.encode(detail=each) for line in lines),
        marked.mark_circle(size=40, opacity=1, color=ink, aria=False),
        around.encode(tooltip=tooltip),
    ]


def _names(table, last):
    """Names at the mean's last step, and where the heads that stand out are highest."""
    heads = table.transform_filter(HEADS)
    mean = table.transform_filter(MEAN).transform_filter(f"datum.step === {last}")
    ends, early = (
        heads.transform_filter(which).transform_filter("datum.highest === 1")
        for which in (ENDS, EARLY)
    )
    return [
        *theme.halo(mean.mark_text, align="right", dx=-4, dy=-9, fontSize=theme.TICK),
        *theme.halo(ends.mark_text, align="right", dx=-4, dy=-10, fontWeight=700),
        *theme.halo(early.mark_text, align="right", dx=-4, dy=-8),
    ]


def _highest(data):
    """The largest value of any head and habit."""
    habits = over_models.HABITS
    return max(float(model.habit(habit).max()) for model in data.training for habit in habits)


def rows(data: SweepData, **state: int | str) -> Rows:
    habit = state["habit"]
    layer, head = last = over_models.strongest(data.training[-1], habit)
    peak = max(data.training[1:], key=lambda model: model.habit(habit)[layer, head])
    first, early_peak = over_models.early(data, habit)
    records = []
    for model in data.training:
        values = model.habit(habit)
        for row in over_models.head_rows(model):
            place = row["layer"], row["head"]
            kept = {name: row[name] for name in ("layer", "head", "named")}
            named_at = peak if place == last else early_peak if place == first else None
            drawn = {"ends": place == last, "early": place == first, "highest": model is named_at}
            drawn = {name: int(value) for name, value in drawn.items()}
            records.append({"step": model.step, **kept, "value": row[habit], **drawn})
        mean = {"layer": None, "head": None, "named": "mean", "value": float(values.mean())}
        records.append({"step": model.step, **mean, "ends": 0, "early": 0, "highest": 0})
    return records


def seen(data: SweepData, **state: int | str) -> str:
    """Which heads are highest where the induction score rises most, and which lines they are; of
    other habits, which head is highest in the end."""
    habit = state["habit"]
    if habit != "induction":
        return f"Looking at {over_models.HABITS[habit]}: {_ending(data, habit)}."
    at = over_models.steepest(data)
    low, high = data.training[at : at + 2]
    (first, line), (then, next_line) = (_drawn(data, "induction", model) for model in (low, high))
    layer, head = first
    named = f"L{layer}H{head} (head {head} of layer {layer}; both count from 0), {line}"
    after = "before and after" if then == first else "before"
    other = "" if then == first else "; after, that of L{}H{}, {}".format(*then, next_line)
    return (
        f"The highest induction score rises most between step {low.step:,} and step "
        f"{high.step:,}. It is that of {named}, {after}{other}."
    )


def _ending(data, habit):
    """Which head is highest in the end, and what it was at first."""
    first, last = data.training[0], data.training[-1]
    at = over_models.strongest(last, habit)
    values = (percent(float(model.habit(habit)[at])) for model in (first, last))
    return "L{}H{} ends highest, from {} to {}".format(*at, *values)


def _drawn(data, habit, model):
    """The best head of a checkpoint, as layer and head, and which of the lines it is."""
    place = over_models.strongest(model, habit)
    line = "one of the pale lines"
    if place == over_models.strongest(data.training[-1], habit):
        line = "the coloured line"
    elif place == over_models.early(data, habit)[0]:
        line = "the thinner line with a name"
    return place, line


def alt(data: SweepData, **state: int | str) -> str:
    habit = state["habit"]
    first, last = data.training[0], data.training[-1]
    at = over_models.strongest(last, habit)
    course = [float(model.habit(habit)[at]) for model in data.training]
    half = next(
        model.step
        for model, value in zip(data.training, course, strict=True)
        if value >= max(course) / 2
    )
    return (
        f"{over_models.AXES[habit]}: a line for each of {last.layers * last.heads} heads, step "
        f"{first.step:,} to step {last.step:,}. {_ending(data, habit)}; it has half of its highest "
        f"value at step {half:,}. The mean of all heads ends at "
        f"{percent(float(last.habit(habit).mean()))}."
    )
