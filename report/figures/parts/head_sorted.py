"""Heads sorted by value at each layer; line r joins the r-th values of all layers.

Lines never cross, and a line is no head; each point knows the real head it stands for.

`figure` makes the figures of a measure in the dataset "heads": attending_to_itself,
attending_to_first_token and attention_concentration. Other figures take single layers of it.
"""

from dataclasses import dataclass

import altair
import numpy as np

from report.datasets.read.passage import PassageData
from report.figures.parts import choices, marking, theme, updates
from report.figures.parts.figure import Figure, of_other
from report.figures.parts.heads import LEAD, largest
from report.text import number, percent

LEAST_BETWEEN_LAYERS = 0.01
"""Averages of layers that differ by less are not compared."""

SOURCES = {"passage": "this passage", "corpus": "many texts"}


@dataclass(frozen=True)
class Measure:
    """A measure of heads, and the words for it."""

    column: str
    """Of the table "heads"."""
    title: str
    counted: str
    """What is counted, the first sentence of the caption."""
    axis: str
    """Title of the vertical axis, with its unit."""
    number: str
    """Format of a value, for d3 and for Python: ".1%"."""
    described: str
    """What is drawn, the beginning of the alt text."""
    does: str
    """What a head with much of it does: a sentence with {head} and {value}, without its full
    stop."""

    def written(self, value: float) -> str:
        """A value in a sentence."""
        return percent(value) if "%" in self.number else number(value)


def figure(shows: str, measure: Measure) -> Figure:
    """The figure of one measure."""
    return Figure(
        shows=shows,
        of=(PassageData,),
        title=lambda data: measure.title,
        caption=lambda data: _caption(data, measure),
        use=use,
        left_out=lambda data: of_other(data, "passage"),
        controls=controls,
        chart=lambda data, **state: _chart(data, measure, state),
        rows=rows,
        alt=lambda data, **state: _alt(data, measure, state),
        seen=lambda data, **state: _seen(data, measure, state),
    )


def controls(data: PassageData) -> list[choices.Switch]:
    """The switch between the passage and the corpus."""
    return [choices.Switch("source", "Measured on", SOURCES, "passage")]


def _caption(data, measure):
    joined = ""
    if data.layers > 1:
        joined = (
            ", and a line joins the values of one rank from layer to layer; it does not follow one "
            "head"
        )
    return (
        f"{measure.counted}\n{updates.without_first(data)} At each layer the heads are sorted by "
        f"their value{joined}. The highest has its number above it."
    )


def use(data: PassageData) -> str:
    """What pointing at a value does."""
    return (
        "Point at a value to read which head has it, and to see where that head of that layer "
        "stands in the other figures of this section."
    )


def _chart(data, measure, state):
    at = choices.at_state(controls(data), state)
    heads = altair.Chart(altair.NamedData("heads")).transform_filter("datum.source === source")
    x, y = layer_axis(data), _y(data, measure)
    rank = f"rank_{measure.column}"
    tooltip = [
        altair.Tooltip(f"{rank}:Q", title="rank (0 = lowest)"),
        altair.Tooltip("layer:Q", title="layer"),
        altair.Tooltip(f"{measure.column}:Q", title="value", format=measure.number),
        altair.Tooltip("named:N", title="real head"),
    ]
    lines, *points = sorted_lines(data, heads, x, y, rank, tooltip)
    return theme.frame(
        altair.layer(lines, *points, *marked_head(heads, x, y)),
        theme.Source("head_statistics.json", "tables", ["heads"]),
        description=f"{measure.title}: {measure.axis}, by layer, heads sorted",
        controls=at,
        shows={"heads": [["source", "=", "{source}"]]},
        params=[
            altair.param(name="source", value=at[0].value),
            *marking.marked("layer", "head"),
        ],
        walk=["layer", rank],
    )


def sorted_lines(
    data: choices.Heads,
    table: altair.Chart,
    x: altair.X,
    y: altair.Y,
    rank: str,
    tooltip: list[altair.Tooltip],
    most_layers: int | None = None,
) -> list[altair.Chart]:
    """Lines through values of one rank, points, and the name of the highest head of each layer.

    table: of rows with layer, head and the field `rank`; tooltip: may use the field "named"
    most_layers: of all panels of a figure, so that heads have names of one length in all of them
    returns: the lines first
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
        lines.encode(x=x, y=y, color=colour, detail=altair.Detail(f"{rank}:N")),
        around.encode(x=x, y=y, tooltip=tooltip),
        points.encode(x=x, y=y, color=colour, tooltip=tooltip),
        *_names(data, table, x, y, rank, most_layers or data.layers),
    ]


def _names(data, table, x, y, rank, most_layers):
    """The names of the highest heads.

    Where the layers of any panel of the figure are close together, a name is the number alone. A
    name stands above its point. It keeps aside from a steep line that comes down from the layer
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
            # the first name begins at its point where it would otherwise reach into the axis
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
        mark.encode(x=x, y=y, text=altair.Text(text))
        for text, wide, most, shown in (
            ("name:N", 46, 22, wide_enough),
            ("short:N", 16, 8, f"!({wide_enough})"),
        )
        for mark in theme.halo(
            named.mark_text,
            **style,
            # the name of layer 0 begins at its point, so that of layer 1 has less room
            dx=altair.ExprRef(
                f"{aside} * clamp({room} - (datum.layer === 1 ? 20 : 0) - {wide}, 0, {most})"
            ),
            opacity=theme.only(f"{shown} && {room} >= 16"),
        )
    ]


def layer_axis(data: choices.Heads, field: str = "layer", around: float = 0.25) -> altair.X:
    """The channel of layers, with a tick for each; around: room at both ends, in layers."""
    return (
        altair.X(f"{field}:Q", title="layer (index from 0)")
        .scale(domain=[-around, data.layers - 1 + around], nice=False)
        .axis(values=list(range(data.layers)), format="d", grid=False)
    )


def _y(data, measure):
    most = float(data.head_statistics[measure.column].max())
    return (
        altair.Y(f"{measure.column}:Q", title=measure.axis)
        .scale(domain=[0, max(most * 1.1, 0.05)], nice=False)  # room for a name
        .axis(format=".0%" if "%" in measure.number else ".2~f", tickCount=6)
    )


def marked_head(heads: altair.Chart, x: altair.X, y: altair.Y) -> tuple[altair.Chart, altair.Chart]:
    """Layers that ring and name the head that the reader has marked in any figure."""
    here = "datum.layer === marked_layer && datum.head === marked_head"
    ring = marking.ring(heads, here, 190, 1.8)
    name = (
        heads.transform_filter(marking.either(here))
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
    return ring.encode(x=x, y=y), name.encode(x=x, y=y, text=altair.Text("named:N"))


def rows(data: PassageData, **state: str) -> dict[str, list[dict]]:
    """The table "heads" as a list of dicts, for both sources whatever the state."""
    choices.at_state(controls(data), state)
    return {"heads": theme.records(data.head_statistics)}


def _alt(data, measure, state):
    """The head and the layer with the largest value, and the median."""
    source = choices.values(controls(data), state)["source"]
    table = data.head_statistics
    here = table["source"] == source
    values = table[measure.column]
    best = np.argmax(np.where(here, values, -1))
    return (
        f"{measure.described}, by layer, with the {data.heads} heads of each layer sorted, over "
        f"{SOURCES[source]}. The largest value is {values[best]:{measure.number}}, head "
        f"{table['head'][best]} of layer {table['layer'][best]}; the median of all heads is "
        f"{np.median(values[here]):{measure.number}}."
    )


def _seen(data, measure, state):
    """The head with the largest value, what half of all heads stay below, and how layers differ."""
    source = choices.values(controls(data), state)["source"]
    table, written = data.head_statistics, measure.written
    values = table[measure.column][table["source"] == source].reshape(data.layers, data.heads)
    top = largest(values)
    said = measure.does.format(head=top.label, value=written(top.value))
    if values.size == 1:
        return f"{said}."
    middle = written(float(np.median(values)))
    said += f"{_near(values, top)}; half of all {values.size} heads are at {middle} or below."
    means = values.mean(1)
    if data.layers == 1 or np.ptp(means) < LEAST_BETWEEN_LAYERS:
        return said
    high, low = int(means.argmax()), int(means.argmin())
    return (
        f"{said} The average is highest in layer {high} ({written(means[high])}) and "
        f"lowest in layer {low} ({written(means[low])})."
    )


def _near(values, top):
    """How many heads come within a hundredth of the highest; "" if that is well ahead."""
    if top.leads:
        return ""
    near = int(((top.value - values < LEAD * top.value) | (values == top.value)).sum()) - 1
    others = "another head comes" if near == 1 else f"{near} other heads come"
    return f" ({others} within a hundredth of that)"
