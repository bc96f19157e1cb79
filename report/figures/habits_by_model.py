"""The same habit in several models: every head of each, sorted at each layer."""

import altair
import numpy as np

from report.figures import _controls, _head_sorted, _sweep, _theme
from report.text import large, percent

ASPECT, PHONE_ASPECT = 1.35, 1.2
COLUMNS = 2


def title(data):
    return "One habit, several models"


def left_out(data):
    """Why this figure cannot be drawn, in one sentence; "" if it can."""
    if reason := _sweep.left_out(data):
        return reason
    return "" if len(data.compared) > 1 else "It compares models that are not of one training."


def caption(data):
    return (
        "A point is a head. At each layer the heads are sorted by their value, and a line joins "
        "the values of one rank, which colour tells: a line is no head. The highest head of a "
        "layer has its number at it. All panels have the same scale, so that models "
        "can be compared; they differ in more than size, as the text says."
    )


def controls(data):
    return [_controls.Switch("habit", "Looks at", _sweep.HABITS, "first_token")]


def panels(data):
    """Titles of the panels."""
    return [
        f"{model.label}, {large(model.parameters)} parameters"
        + (f", step {model.step:,}" if model.step is not None else "")
        for model in data.compared
    ]


def chart(data, panel=0, **state):
    at = _controls.at_state(controls(data), state)
    model = data.compared[panel]
    most = max(each.layers for each in data.compared)
    table = (
        altair.Chart(altair.NamedData("rows"))
        .transform_calculate(value="datum[habit]")
        .transform_window(
            order="row_number()",
            sort=[altair.SortField("value"), altair.SortField("head")],
            groupby=["layer"],
        )
        .transform_calculate(rank="datum.order - 1")
    )
    x = _head_sorted.layer_axis(model)
    y = altair.Y("value:Q", title=None)
    y = y.scale(domain=[0, 1.08], nice=False).axis(format=".0%", values=[0, 0.25, 0.5, 0.75, 1])
    tooltip = [
        altair.Tooltip("rank:Q", title="rank (0 = lowest)"),
        altair.Tooltip("layer:Q", title="layer"),
        altair.Tooltip("value:Q", title="value", format=".1%"),
        altair.Tooltip("named:N", title="real head"),
    ]
    return _theme.frame(
        altair.layer(
            *_head_sorted.sorted_lines(model, table, x, y, "rank", tooltip, most),
            *_head_sorted.marked_head(table, x, y),
            _theme.y_title(_controls.chosen("habit", _sweep.AXES)),
        ),
        name="habits_by_model",
        description=f"{title(data)}: {model.label}, by layer, heads sorted",
        controls=at,
        url=_sweep.ROWS,
        decode="tables",
        datasets=["rows"],
        tokens=None,
        params=[
            altair.param(name="habit", value=at[0].value),
            *_theme.marked("layer", "head"),
        ],
        walk=["layer", "rank"],
        model=_sweep.grouped(model.label),
    )


def rows(data, panel=0, **state):
    _controls.at_state(controls(data), state)
    return _sweep.head_rows(data.compared[panel])


def seen(data, **state):
    habit = _controls.values(controls(data), state)["habit"]
    means = [float(model.habit(habit).mean()) for model in data.compared]
    best = max(data.compared, key=lambda model: model.habit(habit).max())
    layer, head = _sweep.strongest(best, habit)
    most, least = (data.compared[int(find(means))] for find in (np.argmax, np.argmin))
    what = "of the tokens" if habit in _sweep.OFTEN else "of its probability"
    return (
        f"Looking at {_sweep.HABITS[habit]}: the average head does so with "
        f"{percent(max(means))} {what} in {most.label} and with {percent(min(means))} in "
        f"{least.label}. The most is {percent(best.habit(habit).max())}, L{layer}H{head} of "
        f"{best.label}."
    )


def alt(data, panel=0, **state):
    habit = _controls.values(controls(data), state)["habit"]
    model = data.compared[panel]
    values = model.habit(habit)
    layer, head = _sweep.strongest(model, habit)
    return (
        f"{model.label}, {_sweep.AXES[habit]}, by layer, with the {model.heads} heads of each "
        f"layer sorted. The largest value is {percent(values.max())}, L{layer}H{head}; the "
        f"median of all heads is {percent(float(np.median(values)))}."
    )
