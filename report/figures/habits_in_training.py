"""How heads come by their habits: every head at every checkpoint of one training."""

import altair

from report.figures.parts import choices, over_models, theme
from report.text import percent

ASPECT, PHONE_ASPECT = 1.35, 1.2
COLUMNS = 2
PANELS = ("induction", "previous_random", "previous_token", "first_token")
TITLES = {
    "induction": "Looks at what came next last time",
    "previous_random": "Looks at the token before, among random ones",
    "previous_token": "Looks most at the token before, in texts",
    "first_token": "Looks most at the first token, in texts",
}


def title(data):
    return "How heads come by their habits"


def left_out(data):
    """Why this figure cannot be drawn, in one sentence; "" if it can."""
    return over_models.no_training(data)


def caption(data):
    manifest = data.training[-1].manifest
    sweep, corpus = manifest["sweep"], manifest["corpus"]
    early = data.training[over_models.steepest(data)].step
    more = ""
    if over_models.changes_at(data) is not None:
        more = (
            " The thin upright rule is where the training begins to drill other repetitions, too."
        )
    return (
        "A line is one head, followed from checkpoint to checkpoint. The coloured one ends "
        f"highest; the thinner one with a name was highest up to step {early:,}; the broken one is "
        "the mean of all heads. The first two panels are mean "
        f"probabilities over {sweep['sequences']} sequences of {sweep['length']} random tokens "
        "said twice, the others count the largest targets of the tokens of "
        f"{corpus['texts']} short texts; the first token of a text is left out.{more} Steps are "
        "drawn closer together the later they are."
    )


def use(data):
    return "Point at a head to see it in all panels."


def controls(data):
    return []


def panels(data):
    """Titles of the panels."""
    return [TITLES[habit] for habit in PANELS]


def chart(data, panel=0, **state):
    at = choices.at_state(controls(data), state)
    habit = PANELS[panel]
    steps = [model.step for model in data.training]
    x = over_models.step_axis(steps)
    y = altair.Y("value:Q", title=over_models.AXES[habit]).scale(domainMin=0, zero=True, nice=True)
    y = y.axis(format=".0%", tickCount=5)
    table = altair.Chart(altair.NamedData("rows"))
    heads = table.transform_filter("datum.layer !== null")
    ends = heads.transform_filter("datum.ends === 1")
    early = heads.transform_filter("datum.early === 1 && datum.ends === 0")
    mean = table.transform_filter("datum.layer === null")
    tooltip = [
        altair.Tooltip("named:N", title="head"),
        altair.Tooltip("step:Q", title="training step", format=",d"),
        altair.Tooltip("value:Q", title=_unit(habit), format=".1%"),
    ]
    mass = theme.themed(*theme.MASS.values())
    ink = altair.ExprRef("ink")
    colour = theme.themed(*over_models.COLOURS[habit])
    marked = heads.transform_filter(
        theme.either("datum.layer === marked_layer && datum.head === marked_head")
    )
    style = {"align": "right", "dx": -4, "dy": -10, "fontWeight": 700}
    names = theme.halo(ends.transform_filter("datum.highest === 1").mark_text, **style)
    names += theme.halo(
        early.transform_filter("datum.highest === 1").mark_text, align="right", dx=-4, dy=-8
    )
    last = f"datum.step === {steps[-1]}"
    means = theme.halo(
        mean.transform_filter(last).mark_text, align="right", dx=-4, dy=-9, fontSize=theme.TICK
    )
    around = table.mark_circle(size=90, color="transparent", aria=False)
    return theme.frame(
        altair.layer(
            *over_models.turn(data),
            heads.mark_line(strokeWidth=1, opacity=0.45, color=mass, aria=False).encode(
                x=x, y=y, detail="named:N"
            ),
            mean.mark_line(strokeWidth=1.8, strokeDash=[5, 3], color=ink, aria=False).encode(
                x=x, y=y
            ),
            early.mark_line(strokeWidth=1.4, opacity=0.75, color=ink, aria=False).encode(
                x=x, y=y, detail="named:N"
            ),
            ends.mark_line(strokeWidth=2.6, color=colour, aria=False).encode(
                x=x, y=y, detail="named:N"
            ),
            marked.mark_line(strokeWidth=2.2, color=ink, aria=False).encode(
                x=x, y=y, detail="named:N"
            ),
            marked.mark_circle(size=40, opacity=1, color=ink, aria=False).encode(x=x, y=y),
            around.encode(x=x, y=y, tooltip=tooltip),
            *(mark.encode(x=x, y=y, text="named:N") for mark in [*means, *names]),
        ),
        name="habits_in_training",
        description=f"{TITLES[habit]}, by training step: a line a head",
        controls=at,
        url=over_models.ROWS,
        decode="tables",
        datasets=["rows"],
        tokens=None,
        params=theme.marked("layer", "head"),
        walk=["step", "named"],
        model=over_models.grouped("training"),
    )


def _unit(habit):
    return "of tokens" if habit in over_models.OFTEN else "probability"


def rows(data, panel=0, **state):
    choices.at_state(controls(data), state)
    habit = PANELS[panel]
    layer, head = last = over_models.strongest(data.training[-1], habit)
    peak = max(data.training[1:], key=lambda model: model.habit(habit)[layer, head])
    first, early_peak = over_models.early(data, habit)
    found = []
    for model in data.training:
        values = model.habit(habit)
        for row in over_models.head_rows(model):
            place = row["layer"], row["head"]
            kept = {name: row[name] for name in ("layer", "head", "named")}
            named_at = peak if place == last else early_peak if place == first else None
            drawn = {"ends": place == last, "early": place == first, "highest": model is named_at}
            drawn = {name: int(value) for name, value in drawn.items()}
            found.append({"step": model.step, **kept, "value": row[habit], **drawn})
        mean = {"layer": None, "head": None, "named": "mean", "value": float(values.mean())}
        found.append({"step": model.step, **mean, "ends": 0, "early": 0, "highest": 0})
    return found


def seen(data, **state):
    scores = [model.habit("induction").max() for model in data.training]
    at = over_models.steepest(data)
    low, high = data.training[at : at + 2]
    means = [float(model.habit("first_token").mean()) for model in data.training]
    before, after = (_drawn(data, "induction", model) for model in (low, high))
    return (
        "In the first panel, the best head finds what came next with "
        f"{percent(scores[at])} at step {low.step:,} ({before}) and with {percent(scores[at + 1])} "
        f"at step {high.step:,} ({after}). In the last panel, the average head looks most at the "
        f"first token for {percent(means[at + 1])} of the tokens then, and for "
        f"{percent(means[-1])} at step {data.training[-1].step:,}."
    )


def _drawn(data, habit, model):
    """The best head of a checkpoint, and which of the lines it is."""
    place = over_models.strongest(model, habit)
    line = "one of the pale lines"
    if place == over_models.strongest(data.training[-1], habit):
        line = "the coloured line"
    elif place == over_models.early(data, habit)[0]:
        line = "the thinner line with a name"
    return "L{}H{}, {}".format(*place, line)


def alt(data, panel=0, **state):
    habit = PANELS[panel]
    first, last = data.training[0], data.training[-1]
    layer, head = over_models.strongest(last, habit)
    course = [float(model.habit(habit)[layer, head]) for model in data.training]
    half = next(
        model.step
        for model, value in zip(data.training, course, strict=True)
        if value >= max(course) / 2
    )
    return (
        f"{TITLES[habit]}: a line for each of {last.layers * last.heads} heads, step "
        f"{first.step:,} to step {last.step:,}. Highest at the end is L{layer}H{head}, "
        f"{percent(course[-1])} from {percent(course[0])} at first; it has half of its highest "
        f"value at step {half:,}. The mean of all heads ends at "
        f"{percent(float(last.habit(habit).mean()))}."
    )
