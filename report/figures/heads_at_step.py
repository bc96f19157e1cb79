"""All heads of one checkpoint at a time: a map of layers and heads, step by step."""

import altair
import numpy as np

from report.figures.parts import choices, grid, marking, over_models, theme
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.kinds.sweep.data import SweepData
from report.text import percent

EDGES = theme.PAPER["light"], theme.FAINT["dark"]
"""Lines between cells, (on light, on dark). On dark they are brighter than the page, because a cell
without a habit has nearly the page's colour."""


def title(data: SweepData) -> str:
    return "Head by head, step by step"


def left_out(data: SweepData) -> str:
    return over_models.no_training(data)


def boxes(data: SweepData) -> list[grid.Box]:
    """Cells are about as high as they are wide, up to a height that fits a window."""
    model = data.training[-1]
    wide = model.heads / model.layers
    return [grid.Box(min(2.4, max(1.15, 1.5 * wide)), min(1.6, max(0.85, wide)))]


def caption(data: SweepData) -> str:
    return (
        "A cell is a head; the stronger its colour, the stronger its habit. The scale is the same "
        "at all steps. Values of at least 10 % are written in."
    )


def use(data: SweepData) -> str:
    return "Move the slider to see heads take up a habit, and lose it again."


def controls(data: SweepData) -> list[Control | Switch]:
    steps = [f"{model.step:,}" for model in data.training]
    last = len(steps) - 1
    return [
        Control("at", "Training step", 0, last, last, labels=steps),
        Switch("habit", "Looks at", over_models.HABITS, "induction"),
    ]


def turns(shade: str) -> float:
    """The value from which on the text of a cell changes between black and white.

    The text has the colour with the larger contrast to the cell (WCAG 2).

    shade: "light" or "dark"
    """
    values = np.linspace(0, 1, 101)
    part = theme.shades(theme.SCORE_RAMP[shade], values) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    black = (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05)
    return round(float(values[np.argmax(black != black[0])]), 2)


def chart(data: SweepData, **state: int | str) -> altair.LayerChart:
    model = data.training[-1]
    table = (
        altair.Chart(altair.NamedData("rows"))
        .transform_filter("datum.at === at")
        .transform_calculate(value="datum[habit]")
    )
    x, y = _axes()
    return theme.frame(
        layered(
            _cells(table).encode(x=x, y=y),
            _values(table, model.heads).encode(x=x, y=y),
            _frame(table).encode(x=x, y=y),
        ),
        theme.Source(over_models.ROWS, "tables", ["rows"], tokens=None),
        description=f"{title(data)}: a map with a cell a head",
        shows={"rows": [["at", "=", "{at}"]]},
        params=[
            *choices.params(state),
            *marking.marked("layer", "head"),
        ],
        walk=["head", "layer"],
        model=over_models.grouped("training"),
    )


def _axes():
    x = altair.X("head:O", title="head (index from 0)").axis(
        labelAngle=0, ticks=False, domain=False, labelOverlap="greedy"
    )
    return x, altair.Y("layer:O", title="layer").axis(ticks=False)


def _cells(table):
    legend = theme.gradient(tickCount=3, format=".0%")
    colour = altair.Color("value:Q", legend=legend).scale(
        domain=[0, 1], **theme.ramp(theme.SCORE_RAMP)
    )
    tooltip = [
        altair.Tooltip("named:N", title="title"),
        altair.Tooltip("step:Q", title="training step", format=",d"),
        altair.Tooltip("value:Q", title="value", format=".1%"),
    ]
    mark = table.mark_rect(stroke=theme.themed(*EDGES), strokeWidth=1.5, aria=False)
    return mark.encode(color=colour, tooltip=tooltip)


def _values(table, heads):
    """The values that are written into cells, where these are wide enough."""
    light, dark = turns("light"), turns("dark")
    mark = table.transform_filter("datum.value >= 0.1").mark_text(
        fontSize=theme.TICK,
        fontWeight="bold",
        color=altair.ExprRef(
            f"datum.value >= (dark ? {dark} : {light}) === dark ? 'black' : 'white'"
        ),
        opacity=theme.only(f"width / {heads} >= 26"),
        aria=False,
    )
    return mark.encode(text=altair.Text("value:Q", format=".0%"))


def _frame(table):
    """A frame around the cell of the head that the reader marks."""
    here = marking.either(marking.HEAD)
    return table.transform_filter(here).mark_rect(
        filled=False, stroke=altair.ExprRef("ink"), strokeWidth=2.4, aria=False
    )


def rows(data: SweepData, **state: int | str) -> Rows:
    return [
        row
        for at, model in enumerate(data.training)
        for row in over_models.head_rows(model, at=at, step=model.step)
    ]


def seen(data: SweepData, **state: int | str) -> str:
    model, habit = data.training[state["at"]], state["habit"]
    values = model.habit(habit)
    layer, head = over_models.strongest(model, habit)
    half = int((values >= 0.5).sum())
    none = f"no head of {values.size} reaches half"
    some = f"{half} of {values.size} heads reach half"
    return (
        f"After {model.step:,} steps, {some if half else none}; L{layer}H{head} has the most, "
        f"{percent(values.max())}."
    )
