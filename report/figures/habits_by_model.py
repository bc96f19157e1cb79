"""The same habit in several models: every head of each, sorted at each layer."""

import altair
import numpy as np

from report.figures.parts import choices, marking, over_models, rank_lines, theme
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.kinds.sweep.data import SweepData
from report.text import large, percent

ASPECT, PHONE_ASPECT = 1.35, 1.2
COLUMNS = 2


def title(data: SweepData) -> str:
    return "One habit, several models"


def left_out(data: SweepData) -> str:
    return "" if len(data.compared) > 1 else "It compares models that are not of one training."


def caption(data: SweepData) -> str:
    return (
        "A point is a head. Lines join the highest of each layer, the second highest, and so on. "
        "At each layer the heads are sorted by their value, and a line joins the values of one "
        "rank. The highest head of a layer has its name beside it, or its number where there is "
        "less room. All panels have the same scale."
    )


def controls(data: SweepData) -> list[Control | Switch]:
    return [Switch("habit", "Looks at", over_models.HABITS, "first_token")]


def panels(data: SweepData) -> list[str]:
    return [
        f"{model.label}, {large(model.parameters)} parameters"
        + (f", step {model.step:,}" if model.step is not None else "")
        for model in data.compared
    ]


def chart(data: SweepData, panel: int = 0, **state: str) -> altair.LayerChart:
    model = data.compared[panel]
    most_layers = max(compared.layers for compared in data.compared)
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
    x = rank_lines.layer_axis(model)
    y = altair.Y("value:Q", title=None)
    y = y.scale(domain=[0, 1.08], nice=False).axis(format=".0%", values=[0, 0.25, 0.5, 0.75, 1])
    table, tooltip = rank_lines.told(table, model.heads, "rank", "value", ".1%")
    return theme.frame(
        layered(
            *rank_lines.sorted_lines(model, table, x, y, "rank", tooltip, most_layers),
            *rank_lines.marked_head(table, x, y),
            theme.y_title(choices.chosen("habit", over_models.AXES)),
        ),
        theme.Source(over_models.ROWS, "tables", ["rows"], tokens=None),
        description=f"{title(data)}: {model.label}, by layer, heads sorted",
        params=[
            *choices.params(state),
            *marking.marked("layer", "head"),
            marking.found(),
        ],
        walk=["layer", "rank"],
        model=over_models.grouped(model.label),
    )


def rows(data: SweepData, panel: int = 0, **state: str) -> Rows:
    return over_models.head_rows(data.compared[panel])


def seen(data: SweepData, **state: str) -> str:
    habit = state["habit"]
    means = [float(model.habit(habit).mean()) for model in data.compared]
    best = max(data.compared, key=lambda model: model.habit(habit).max())
    layer, head = over_models.strongest(best, habit)
    most, least = (data.compared[int(which(means))] for which in (np.argmax, np.argmin))
    what = "of tokens" if habit in over_models.OFTEN else "of probability"
    return (
        f"Highest is L{layer}H{head} of {best.label}, {percent(best.habit(habit).max())}. These "
        f"are shares {what} that go to {over_models.HABITS[habit]}. An average head has most in "
        f"{most.label}, {percent(max(means))}, and least in {least.label}, {percent(min(means))}."
    )


def alt(data: SweepData, panel: int = 0, **state: str) -> str:
    habit = state["habit"]
    model = data.compared[panel]
    values = model.habit(habit)
    layer, head = over_models.strongest(model, habit)
    return (
        f"{model.label}, {over_models.AXES[habit]}, by layer, with the {model.heads} heads of each "
        f"layer sorted. The largest value is {percent(values.max())}, L{layer}H{head}; the "
        f"median of all heads is {percent(float(np.median(values)))}."
    )
