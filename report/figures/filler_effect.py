"""Which heads an addition to the prompt changes: all heads of all layers, panels of one.

The map and the panels beside it stand in one file because they are one figure, with one state.
"""

import altair
import numpy as np

from report.figures.parts import (
    choices,
    grid,
    marking,
    received,
    received_chart,
    received_difference,
    received_numbers,
    theme,
)
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.figures.parts.layers import layered
from report.figures.parts.received import Panels
from report.kinds.conditions.data import ModelConditions
from report.text import number, percent

COLUMNS = 2
"""The map, and both panels beside it."""

GRADIENT = "clamp(width * 0.4, 120, 260)"
"""Length of the bar of colours, in pixels, as a Vega expression."""

HEAT_RAMP = {
    "light": ["#e4e9e7", "#bdd6d2", "#7fb3b0", "#34808c", "#0d4a66"],
    "dark": ["#303744", "#2f4c5a", "#357585", "#5fa9ac", "#cdeee3"],
}


def title(data: Panels) -> str:
    return f"What changes with {received.named(data)}, head by head"


def measures(data: Panels) -> dict[str, str]:
    """What the colour shows -> what the reader reads."""
    return {
        "taken": f"share of the {data.noun}",
        "total_variation": "shift among the rest",
    }


def left_out(data: Panels) -> str:
    reason = received_chart.left_out(data, 2)
    if reason:
        return reason
    model = data.places[0].model
    if any(place.model is not model for place in data.places):
        return "It shows the heads of one model, but is given panels of several."
    condition = list(data.lines)[-1]
    if condition not in model.effects["condition"]:
        return f"What the condition {condition!r} adds to the prompt was not measured."
    return ""


def caption(data: Panels) -> str:
    model = data.places[0].model
    over = bands = ""
    if model.prompts > 1:
        over = f", averaged over {model.prompts} prompts"
        bands = f" Bands are one standard error over {model.prompts} prompts."
    shown = received.Y_TITLE.lower()
    return (
        f"A cell is a head. Its colour is the probability that goes to {received.named(data)}, or "
        "the shift among the rest: how much of the pattern on the other tokens moves once each "
        "pattern sums to 1 (total variation). Both "
        f"are means over the current tokens after what was added{over}. The lines are the "
        f"{shown} of each position in one head: the mean over the current tokens that see it. "
        f"{received.counted(data)}{bands}"
    )


def use(data: Panels) -> str:
    return (
        "Click on a cell, or choose it with the arrow keys and Enter, to see the lines of its "
        "head. The switch “Current tokens” shows what the last one alone does."
    )


def controls(data: Panels) -> list[Control | Switch]:
    place = data.places[0]
    model = place.model
    return [
        Control("layer", "Layer", 0, model.layers - 1, place.layer),
        Control("head", "Head", 0, model.heads - 1, place.head),
        Switch("measure", "Colour", measures(data), "taken", seldom=True),
        received.reduction_control(wide=True, mean="all"),
        received_difference.control(wide=True),
    ]


def boxes(data: Panels) -> list[grid.Box]:
    """The map, as high as its layers need, beside two panels. A phone has one panel, below the map:
    the first figure of an article is seen there in little more than one screen."""
    layers = data.places[0].model.layers
    wide, narrow = grid.GRID_WIDTH // 2, 360
    high = max(440, 120 + 48 * layers)
    heat_map = grid.Box(wide / high, narrow / (120 + 22 * layers), wide, tall=True)
    beside = wide / ((high - 100) / 2)
    panels = [grid.Box(beside, 2.4, wide, wide=wide_only) for wide_only in (False, True)]
    return [heat_map, *panels]


def panels(data: Panels) -> list[str]:
    """Titles: of the map the model, of both panels the head that is chosen."""
    model = data.places[0].model
    return [f"{model.name}, all heads", *[received_chart.followed(model)] * 2]


def legends(data: Panels) -> list[list[dict[str, str]]]:
    """Both panels share a legend; that of the map is in the chart."""
    without, with_it, span = received.legend(_lines(data), data.label)
    *switched, difference = received_difference.legend(_lines(data), [without])
    of_both = [{**entry, "wide": True} for entry in (with_it, span)]
    return [[], [*switched, difference, *of_both]]


def _lines(data):
    return received.styled(data, received.BLUE, received.RED)


def _panel(data, number, at):
    """Keywords of `received_numbers.rows` for a panel beside the map; at: layer, head from 0."""
    both, cut = _lines(data), number == 1
    place = received.Place(data.places[0].model, at["layer"], at["head"])
    return {"place": place, "lines": both if cut else both[1:], "cut": cut}


def chart(data: Panels, panel: int = 0, **state: int | str) -> altair.LayerChart:
    if panel == 0:
        return _map(data, state)
    span = received_chart.Span(data.label)
    panel = _panel(data, panel, state) | {"drawn": state["drawn"]}
    return received_chart.chart(**panel, noun=data.noun, span=span, follows=True)


def rows(data: Panels, panel: int = 0, **state: int | str) -> dict[str, Rows]:
    if panel == 0:
        return {"cells": cells(data.places[0].model, list(data.lines)[-1], state["reduction"])}
    return received_numbers.rows(**_panel(data, panel, state), reduction=state["reduction"])


def cells(model: ModelConditions, condition: str, over: str) -> Rows:
    """A row a head: layer, head, taken, total_variation and their standard errors.

    over: "mean" of the current tokens, or the "last" one; values that are not known are None
    """
    effects = model.effects
    here = (effects["condition"] == condition) & (effects["rows"] == over)
    table = {
        "layer": effects["layer"],
        "head": effects["head"],
        "taken": 1 - effects["lambda"],
        "taken_error": effects["lambda_error"],
        "total_variation": effects["total_variation"],
        "total_variation_error": effects["total_variation_error"],
    }
    records = theme.records({name: column[here] for name, column in table.items()})
    return [{n: None if np.isnan(v) else v for n, v in row.items()} for row in records]


def _map(data, state):
    model = data.places[0].model
    table = altair.Chart(altair.NamedData("cells"))
    measured = table.transform_calculate(
        value="measure === 'taken' ? datum.taken : datum.total_variation"
    ).transform_filter("isValid(datum.value)")
    x, y = _axes(model)
    legend = theme.gradient(gradientLength=altair.ExprRef(GRADIENT), tickCount=4, format=".2~f")
    colour = altair.Color("value:Q", legend=legend).scale(
        domainMin=0, nice=True, **theme.ramp(HEAT_RAMP)
    )
    cell = measured.mark_rect(aria=False).encode(x=x, y=y, color=colour)
    chosen = "datum.layer === layer && datum.head === head"
    return theme.frame(
        layered(
            cell,
            *_outline(table, x, y, marking.HEAD, [3, 2]),
            *_outline(table, x, y, chosen, [1, 0]),
            _legend_title(data),
        ),
        theme.Source(
            f"{model.address}effects.json",
            "effects",
            ["cells"],
            tokens=f"{model.address}conditions.json",
        ),
        description=f"{title(data)}: a heat map, a row a layer and a column a head",
        params=[
            *(altair.param(name=name, value=state[name]) for name in ("layer", "head", "measure")),
            *marking.marked("layer", "head"),
        ],
        condition=list(data.lines)[-1],
        points="heads",
        model=model.address,
        names=measures(data),
    )


def _legend_title(data):
    """What the colour says, as a text: the title of a legend cannot follow the switch."""
    said, bar, above = choices.chosen("measure", measures(data)), f"{GRADIENT} + 12", theme.ABOVE
    beside = "width > 400"  # else there is room above its bar only
    return theme.written(
        said,
        f"{beside} ? {bar} : 0",
        f"{beside} ? {-above - 14} : {-above - 32}",
        align="left",
        baseline="bottom",
        aria=False,
    )


def _axes(model):
    axis = {
        "labelAngle": 0,
        "domain": False,
        "ticks": False,
    }
    scale = altair.Scale(paddingInner=0.12, paddingOuter=0.12)
    x = altair.X("head:O", title="Head", scale=scale, axis=altair.Axis(**axis))
    y = altair.Y("layer:O", title="Layer", scale=scale, axis=altair.Axis(**axis))
    return x, y


def _outline(table, x, y, condition, dash):
    """A line around a cell, on a wider one of paper, so that it is seen on every colour."""
    cell = table.transform_filter(condition)
    styles = [{"stroke": "paper", "strokeWidth": 5}, {"stroke": "ink", "strokeWidth": 2}]
    return [
        cell.mark_rect(
            fill=None,
            stroke=altair.ExprRef(style["stroke"]),
            strokeWidth=style["strokeWidth"],
            strokeDash=dash if style["stroke"] == "ink" else [1, 0],
            aria=False,
        ).encode(x=x, y=y)
        for style in styles
    ]


def alt(data: Panels, panel: int = 0, **state: int | str) -> str:
    if panel > 0:
        return received_numbers.alt(**_panel(data, panel, state), reduction=state["reduction"])
    model, colour = data.places[0].model, measures(data)[state["measure"]]
    known = _known(data, state)
    which = "mean over the current tokens after it"
    if state["reduction"] == "last":
        which = "last current token"
    what = f"{model.layers} layers by {model.heads} heads of {model.name}"
    if not known:
        return f"Heat map of {what}: {colour}, {which}; nothing is known."
    top = max(known, key=lambda row: row[state["measure"]])
    values = [row[state["measure"]] for row in known]
    return (
        f"Heat map of {what}: {colour}, {which}. It goes from "
        f"{min(values):.2f} to {max(values):.2f}, the largest in {_called(top)}; "
        f"the median is {np.median(values):.2f}. The head whose lines are shown: {_called(state)}."
    )


def _known(data, at):
    """The cells whose colour is known at a state."""
    table = cells(data.places[0].model, list(data.lines)[-1], at["reduction"])
    return [row for row in table if row[at["measure"]] is not None]


def seen(data: Panels, **state: int | str) -> str:
    """The head with the largest value, what half of all heads stay below, and the head shown."""
    known = _known(data, state)
    if not known:
        return f"What changes with {received.named(data)} is known of no head."
    top = max(known, key=lambda row: row[state["measure"]])
    middle = float(np.median([row[state["measure"]] for row in known]))
    chosen = [
        row for row in known if (row["layer"], row["head"]) == (state["layer"], state["head"])
    ]
    value = percent if state["measure"] == "taken" else number
    said = f"The rest moves most in {_called(top)}"
    if state["measure"] == "taken":
        said = f"{_called(top)} gives most to {received.named(data)}"
    said += f": {value(top[state['measure']])}"
    if len(known) > 1:
        half = value(middle)
        half += "" if half.startswith("less") else " or less"
        said += f". In half of the {len(known)} heads it is {half}"
    over = received.straddling(data)
    if not chosen or chosen[0] is top:
        return f"{said}.{over}"
    return f"{said}. In the head drawn underneath it is {value(chosen[0][state['measure']])}.{over}"


def _called(row):
    return head_label(row["layer"], row["head"])
