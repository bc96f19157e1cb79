"""Heads sorted by value at each layer, line r joining the r-th values: figures 4 to 6.

A line is no head, and lines never cross; each point knows the real head it stands for.
"""

import altair
import numpy as np

from report.figures.parts import choices, theme, updates
from report.figures.parts.heads import LEAD, largest
from report.text import number, percent

ASPECT = 1.6
PHONE_ASPECT = 1.05
LEAST_BETWEEN_LAYERS = 0.01
"""Averages of layers that differ by less are not compared."""

SOURCES = {"passage": "this passage", "corpus": "many texts"}


def controls(data):
    return [choices.Switch("source", "Measured on", SOURCES, "passage")]


def caption(data, what):
    """How to read the lines, after a sentence that says `what` is counted."""
    joined = ""
    if data.layers > 1:
        joined = ", and a line joins the values of one rank from layer to layer: a line is no head"
    return (
        f"{what}\n{updates.without_first(data)} At each layer the heads are sorted by their "
        f"value{joined}; the highest has its number above it."
    )


def use(data):
    """What pointing at a value does."""
    return (
        "Point at a value to read which head has it, and to see where that head of that layer "
        "stands in the other figures of this section."
    )


def chart(data, name, title, measure, y_title, number, state):
    """The figure of one measure.

    measure: column of the table "heads"; number: format of its values
    """
    at = choices.at_state(controls(data), state)
    heads = altair.Chart(altair.NamedData("heads")).transform_filter("datum.source === source")
    x, y = layer_axis(data), _y(data, measure, y_title, number)
    rank = f"rank_{measure}"
    tooltip = [
        altair.Tooltip(f"{rank}:Q", title="rank (0 = lowest)"),
        altair.Tooltip("layer:Q", title="layer"),
        altair.Tooltip(f"{measure}:Q", title="value", format=number),
        altair.Tooltip("named:N", title="real head"),
    ]
    lines, *points = sorted_lines(data, heads, x, y, rank, tooltip)
    return theme.frame(
        altair.layer(lines, *points, *marked_head(heads, x, y)),
        name=name,
        description=f"{title}: {y_title}, by layer, heads sorted",
        controls=at,
        url="head_statistics.json",
        decode="tables",
        datasets=["heads"],
        shows={"heads": [["source", "=", "{source}"]]},
        params=[
            altair.param(name="source", value=at[0].value),
            *theme.marked("layer", "head"),
        ],
        walk=["layer", f"rank_{measure}"],
    )


def sorted_lines(data, table, x, y, rank, tooltip, most_layers=None):
    """Lines through values of one rank, points, and the name of the highest head of each layer.

    table: a chart of rows with layer, head and the field `rank`; tooltip: may use "named"
    most_layers: of all panels of a figure, whose heads are then named alike
    returns: list of charts, the lines first
    """
    colour = altair.Color(f"{rank}:Q", legend=None).scale(
        domain=[0, max(1, data.heads - 1)], **theme.ramp(theme.RANK_RAMP)
    )
    lines = table.mark_line(strokeWidth=1.6, opacity=0.75, aria=False)
    named = table.transform_calculate(named="'head ' + datum.head")
    points = named.mark_circle(
        size=altair.ExprRef("width > 500 ? 62 : 44"),
        opacity=1,
        stroke=altair.ExprRef("paper"),
        strokeWidth=0.8,
        aria=False,
    )
    around = named.mark_circle(size=420, color="transparent", aria=False)  # easy to hit
    return [
        lines.encode(x=x, y=y, color=colour, detail=f"{rank}:N"),
        around.encode(x=x, y=y, tooltip=tooltip),
        points.encode(x=x, y=y, color=colour, tooltip=tooltip),
        *_names(data, table, x, y, rank, most_layers or data.layers),
    ]


def _names(data, table, x, y, rank, most_layers):
    """The heads that stand highest: their numbers alone where layers are close to each other, of
    this panel or of another of its figure.

    A name stands above its point, and aside from a steep line that comes down to it from the layer
    before or goes up to the next one, as far as the names of neighbours leave room.
    """
    value = y.shorthand.removesuffix(":Q")
    room = f"width / {data.layers}"
    wide_enough = f"width / {most_layers} >= 46"
    named = (
        table.transform_filter(f"datum.{rank} === {data.heads - 1}")
        .transform_window(
            before=f"lag({value})", after=f"lead({value})", sort=[altair.SortField("layer")]
        )
        .transform_calculate(
            name="'head ' + datum.head",
            short="'' + datum.head",
            left=f"datum.before - datum.{value}",
            right=f"datum.after - datum.{value}",
            # the name at the first layer reaches neither into the axis nor into the next
            first=f"datum.layer === 0 && {room} >= 60 && {wide_enough}",
        )
    )
    aside = (
        f"(datum.layer === 0 || datum.layer === {data.layers - 1} ? 0 : "
        "datum.left > 2 * max(0, datum.right) ? 1 : datum.right > 2 * max(0, datum.left) ? -1 : 0)"
    )
    style = {
        "baseline": "bottom",
        "dy": -8,
        "fontSize": theme.TICK,
        "align": altair.ExprRef("datum.first ? 'left' : 'center'"),
    }
    return [
        mark.encode(x=x, y=y, text=text)
        for text, wide, most, shown in (
            ("name:N", 46, 22, wide_enough),
            ("short:N", 16, 8, f"!({wide_enough})"),
        )
        for mark in theme.halo(
            named.mark_text,
            **style,
            # the second layer's name keeps out of the first's, which begins at its point
            dx=altair.ExprRef(
                f"{aside} * clamp({room} - (datum.layer === 1 ? 20 : 0) - {wide}, 0, {most})"
            ),
            opacity=theme.only(f"{shown} && {room} >= 16"),
        )
    ]


def layer_axis(data, field="layer", around=0.25):
    """The channel of layers, with a tick for each; around: room at both ends, in layers."""
    return (
        altair.X(f"{field}:Q", title="layer (index from 0)")
        .scale(domain=[-around, data.layers - 1 + around], nice=False)
        .axis(values=list(range(data.layers)), format="d", grid=False)
    )


def _y(data, measure, title, number):
    largest = float(data.head_statistics[measure].max())
    return (
        altair.Y(f"{measure}:Q", title=title)
        .scale(domain=[0, max(largest * 1.1, 0.05)], nice=False)  # room for a name
        .axis(format=".0%" if "%" in number else ".2~f", tickCount=6)
    )


def marked_head(heads, x, y):
    """Layers that ring and name the head that the reader has marked in any figure."""
    here = "datum.layer === marked_layer && datum.head === marked_head"
    ring = theme.ring(heads, here, 190, 1.8)
    name = (
        heads.transform_filter(theme.either(here))
        .transform_calculate(
            named="'head ' + datum.head", edge="datum.layer > 0.7 * domain('x')[1]"
        )
        .mark_text(
            dx=altair.ExprRef("datum.edge ? -13 : 13"),
            align=altair.ExprRef("datum.edge ? 'right' : 'left'"),
            fontWeight=700,
            fontSize=theme.LABEL,
            aria=False,
        )
    )
    return ring.encode(x=x, y=y), name.encode(x=x, y=y, text="named:N")


def rows(data, **state):
    """The table "heads" as a list of dicts, for both sources whatever the state."""
    choices.at_state(controls(data), state)
    return {"heads": theme.records(data.head_statistics)}


def alt(data, what, measure, number, state):
    """Alt text that names the head and the layer with the largest value, and the median."""
    source = choices.values(controls(data), state)["source"]
    table = data.head_statistics
    here = table["source"] == source
    best = np.argmax(np.where(here, table[measure], -1))
    return (
        f"{what}, by layer, with the {data.heads} heads of each layer sorted, over "
        f"{SOURCES[source]}. The largest value is {table[measure][best]:{number}}, head "
        f"{table['head'][best]} of layer {table['layer'][best]}; the median of all heads is "
        f"{np.median(table[measure][here]):{number}}."
    )


def seen(data, measure, does, state):
    """The head with the largest value, what half of all heads stay below, and how layers differ.

    does: what a head does that has a value, a sentence with {head} and {value}
    """
    source = choices.values(controls(data), state)["source"]
    table = data.head_statistics
    values = table[measure][table["source"] == source].reshape(data.layers, data.heads)
    top = largest(values)
    said = does.format(head=top.label, value=_value(top.value, measure))
    if values.size == 1:
        return f"{said}."
    level = _near(values, top)
    middle = _value(float(np.median(values)), measure)
    said = f"{said}{level}; half of all {values.size} heads are at {middle} or below."
    means = values.mean(1)
    if data.layers == 1 or np.ptp(means) < LEAST_BETWEEN_LAYERS:
        return said
    high, low = int(means.argmax()), int(means.argmin())
    return (
        f"{said} The average is highest in layer {high} ({_value(means[high], measure)}) and "
        f"lowest in layer {low} ({_value(means[low], measure)})."
    )


def _near(values, top):
    """How many others are as high as the highest, but for a hundredth of its value."""
    if top.leads:
        return ""
    near = int(((top.value - values < LEAD * top.value) | (values == top.value)).sum()) - 1
    others = "another head comes" if near == 1 else f"{near} other heads come"
    return f" ({others} within a hundredth of that)"


def _value(value, measure):
    return number(value) if measure == "concentration" else percent(value)
