"""A measure of every head in one model, and how much it is another in the other."""

import json

import altair
import numpy as np

from report.datasets.formats import changes
from report.figures.parts import choices, head_points, marking, over_models, theme
from report.figures.parts.choices import Switch
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.figures.parts.layers import layered
from report.kinds.difference.data import DifferenceData
from report.text import count

ASPECT, PHONE_ASPECT = 1.6, 0.95

PARAM, OPENS = "up", "entropy"

UP = "by how much the measure changed"
"""Title of the vertical axis."""

NAMED = 3
"""Heads that changed most and are named."""

FIELDS = {
    "x": changes.REFERENCE,
    "change": changes.CHANGE,
    "error": changes.ERROR,
    "halves": changes.HALVES,
}
"""Field of a point -> column of a measure."""


def title(data: DifferenceData) -> str:
    return "What changed, head by head"


def caption(data: DifferenceData) -> str:
    return (
        "Heads above 0 gained, heads below 0 lost.\nA point is a head. To "
        f"the right is the measure in {data.reference}, upwards by how much it is more in the "
        "other model. Lines are a standard error over texts to each side. A grey cross is the same "
        "head where nothing changed but the texts: how far one half of them is from the other in "
        f"{data.reference}. Both models read the same texts, so a change may be certain and still "
        "smaller than that."
    )


def use(data: DifferenceData) -> str:
    return "Choose a measure. Point at a head to read it; click on it, and other figures show it."


def controls(data: DifferenceData) -> list[Switch]:
    options = {name: words.title for name, words in data.words.items()}
    opens = OPENS if OPENS in options else next(iter(options))
    return [Switch(PARAM, "Measure", options, opens)]


def chart(data: DifferenceData, **state: str) -> altair.LayerChart:
    table = _table(data)
    room = altair.Scale(zero=False, nice=False, padding=14)
    x = altair.X("x:Q", title=None, scale=room).axis(
        labelExpr=_format(data, "datum.value"), tickCount=theme.ticks_across()
    )
    y = altair.Y("change:Q", title=UP).scale(zero=True, nice=False, padding=18)
    y = y.axis(labelExpr=_format(data, "datum.value"), tickCount=6, minExtent=44)
    colour = head_points.colour(data)
    told, crossed = ([altair.Tooltip(f"{each}:N", title="title")] for each in ("told", "crossed"))
    soft = theme.themed(*theme.CONTEXT.values())
    crosses = table.mark_point(
        shape="cross", size=26, filled=True, color=soft, opacity=0.9, aria=False
    )
    zero = altair.Chart(altair.InlineData([{}])).mark_rule(opacity=0.5, aria=False)
    errors = table.mark_rule(strokeWidth=1.2, opacity=0.6, aria=False)
    points = table.mark_circle(
        size=altair.ExprRef("width > 500 ? 60 : 38"),
        opacity=0.95,
        stroke=altair.ExprRef("paper"),
        strokeWidth=0.8,
        aria=False,
    )
    own = {"x": altair.X("x:Q"), "y": altair.Y("change:Q")}
    return theme.frame(
        layered(
            crosses.encode(
                x=x,
                y=altair.Y("halves:Q", title=UP),
                tooltip=crossed,
            ),
            zero.encode(**theme.at(y=0)),
            errors.encode(x=altair.X("x:Q"), y=altair.Y("low:Q"), y2="high:Q", color=colour),
            points.encode(x=x, y=y, color=colour, tooltip=told),
            *_names(table),
            marking.ring(table, marking.HEAD, 170, 1.8).encode(**own),
            head_points.x_title(
                choices.chosen(PARAM, {name: words.axis for name, words in data.words.items()})
            ),
        ),
        theme.Source(over_models.ROWS, "tables", ["rows"], tokens=None),
        description=f"{title(data)}: a scatter plot, a point a head",
        params=[
            *choices.params(state),
            *marking.marked("layer", "head"),
        ],
    )


def _format(data, value, signed=""):
    """Expression: a value as text, in the format of the chosen measure."""
    formats = {
        name: f"{signed}.1~%" if "%" in words.number else f"{signed}.3~r"
        for name, words in data.words.items()
    }
    return f"format({value}, {json.dumps(formats)}[{PARAM}])"


def _table(data):
    """The rows with the fields of the chosen measure."""
    table = altair.Chart(altair.NamedData("rows")).transform_calculate(
        **{field: f"datum['{column.format('')}' + {PARAM}]" for field, column in FIELDS.items()}
    )
    titles = json.dumps({name: words.title for name, words in data.words.items()})
    values = (
        f"{_format(data, 'datum.x')} + ' → ' + {_format(data, 'datum.x + datum.change')} + "
        f"' (change ' + {_format(data, 'datum.change', '+')} + ' ± ' + "
        f"{_format(data, 'datum.error')} + ')'"
    )
    return table.transform_filter("isValid(datum.x) && isValid(datum.change)").transform_calculate(
        low="datum.change - datum.error",
        high="datum.change + datum.error",
        crossed="datum.named + ': two halves of the texts are apart by ' + "
        f"{_format(data, 'datum.halves', '+')}",
        told=f"datum.named + ': ' + {titles}[{PARAM}] + ' ' + {values}",
    )


def _names(table):
    """The names of the heads that changed most."""
    named = (
        table.transform_calculate(size="abs(datum.change)")
        .transform_window(place="row_number()", sort=[altair.SortField("size", order="descending")])
        .transform_filter(f"datum.place <= {NAMED}")
    )
    x = "scale('x', datum.x)"
    away_from_zero = {
        "align": altair.ExprRef(f"{x} < 30 ? 'left' : {x} > width - 30 ? 'right' : 'center'"),
        "baseline": altair.ExprRef("datum.change < 0 ? 'top' : 'bottom'"),
        "dy": altair.ExprRef("datum.change < 0 ? 7 : -6"),
    }
    return head_points.names(named, "x", "change", most=NAMED, **away_from_zero)


def rows(data: DifferenceData, **state: str) -> dict[str, Rows]:
    columns = {
        column.format(name): data.column(column, name)
        for name in data.words
        for column in FIELDS.values()
    }
    return {"rows": head_points.rows(data, columns)}


def seen(data: DifferenceData, **state: str) -> str:
    """The head that changed most, and in how many a change stands out."""
    name = state[PARAM]
    words, of = data.words[name], {f: data.column(c, name) for f, c in FIELDS.items()}
    size = np.nan_to_num(np.abs(of["change"]), nan=-1)
    layer, head = map(int, np.unravel_index(size.argmax(), size.shape))
    if size[layer, head] <= 0:
        return f"“{words.title}” is the same in all heads."
    before = float(of["x"][layer, head])
    now = before + float(of["change"][layer, head])
    clear = size > 2 * np.nan_to_num(of["error"], nan=np.inf)
    beyond = clear & (size > np.abs(of["halves"]))
    return (
        f"In {data.name}, “{words.title}” changed most in {head_label(layer, head)}, from "
        f"{words.as_text(before)} to {words.as_text(now)}. It changed by more than two standard "
        f"errors in {count(int(clear.sum()), 'head')} of {size.size}, and in "
        f"{int(beyond.sum())} of these by more than two halves of the texts are apart."
    )
