"""The figure of a measure of heads, as sorted lines or as a map.

The map has a column a layer and a row a head; the colour is the value, on the scale of the lines.
It stands beside them where a page has room; elsewhere a switch says which of the two is seen.
"""

import altair
import numpy as np

from report.datasets.formats.head_statistics import FILE
from report.figures.parts import choices, grid, marking, rank_lines, theme, updates
from report.figures.parts.choices import Switch
from report.figures.parts.figure import Figure, of_other
from report.figures.parts.heads import LEAD, largest
from report.figures.parts.layers import layered
from report.kinds.atlas.data import AtlasData
from report.kinds.difference.data import DifferenceData
from report.kinds.passage.data import PassageData
from report.measures import Measure

PARAM = "view"
VIEWS = {"lines": "sorted lines", "map": "map of heads"}

TITLES = ["Sorted at each layer: lines join ranks, not heads", "Map of heads"]
"""Of both panels."""

COLUMNS = 5
"""Of the grid: the lines take three, the map two."""

WIDTHS = 550, 362
HEIGHT = 350
"""Of both panels, in pixels."""

NARROW = 34
"""Pixels of a cell in which no value has room."""


def control() -> Switch:
    """The switch between the lines and the map, which are two looks of the same values.

    On a phone the page's script opens it at the map, whose cells can be pointed at.
    """
    return Switch(PARAM, "Drawn as", VIEWS, "lines", look=True)


def boxes() -> list[grid.Box]:
    """The room of the lines and of the map."""
    return [
        grid.Box(width / HEIGHT, 1.05, width, span, view)
        for width, span, view in zip(WIDTHS, (3, 2), VIEWS, strict=True)
    ]


def layers(
    data: choices.Heads,
    table: altair.Chart,
    value: str,
    most: float | None,
    number: str,
    tooltip: list[altair.Tooltip],
    shown: str = "true",
) -> altair.LayerChart:
    """The map.

    table: of rows with layer, head and the field `value`; most: end of the colours, which begin at
    0; None: they go from the lowest to the highest value; number: format of a value, or an
    expression of one that follows a control; tooltip: of each head; shown: expression, whether
    colours stand for the value
    """
    follows = not number.startswith((".", "+"))
    labels = {"labelExpr": f"format(datum.value, {number})"}
    cells, edges = cells_of(data, table)
    legend = theme.gradient(
        direction="horizontal",
        gradientOpacity=theme.only(shown),
        labelOpacity=theme.only(shown),
        gradientLength=altair.ExprRef("clamp(width * 0.4, 100, 160)"),
        tickCount=3,
        **(labels if follows else {"format": _short(number)}),
    )
    ends = {} if most is None else {"domain": [0, most]}
    colour = altair.Color(f"{value}:Q", legend=legend).scale(**ends, **theme.ramp(theme.SCORE_RAMP))
    cell = cells.mark_rect(
        aria=False,
        opacity=marking.bright(1, 0.45),
        stroke=altair.ExprRef(f"{marking.FOUND} ? ink : null"),
    ).encode(**edges, color=colour, tooltip=tooltip)
    written = value
    if follows:
        cells = cells.transform_calculate(written=f"format(datum.{value}, {number})")
        written = "written"
    cells = cells.transform_filter(shown)
    return layered(cell, around(cells, edges), *_extremes(data, cells, value, written, number))


def cells_of(
    data: choices.Heads, table: altair.Chart
) -> tuple[altair.Chart, dict[str, altair.FieldChannelMixin]]:
    """The rows with the edges of their cells, and the channels of these edges."""
    cells = table.transform_calculate(
        left="datum.layer - 0.48",
        right="datum.layer + 0.48",
        top="datum.head - 0.46",
        bottom="datum.head + 0.46",
    )
    return cells, {
        "x": rank_lines.layer_axis(data, "left", 0.5),
        "x2": altair.X2("right:Q"),
        "y": _heads(data),
        "y2": altair.Y2("bottom:Q"),
    }


def around(cells: altair.Chart, edges: dict[str, altair.FieldChannelMixin]) -> altair.Chart:
    """A frame around the cell of the head that a reader has marked."""
    frame = cells.transform_filter(marking.either(marking.HEAD)).mark_rect(
        fill=None,
        stroke=altair.ExprRef("ink"),
        strokeWidth=2.4,
        strokeDash=altair.ExprRef(f"{marking.pinned(marking.HEAD)} ? [1, 0] : [3, 2]"),
        aria=False,
    )
    return frame.encode(**edges)


def _short(number):
    return ".0%" if "%" in number else ".2~f"


def _heads(data):
    """The channel of heads, from the top."""
    every = max(1, data.heads // 16)
    axis = altair.Axis(values=list(range(0, data.heads, every)), format="d", grid=False)
    scale = altair.Scale(domain=[data.heads - 0.5, -0.5], nice=False, zero=False)
    return altair.Y("top:Q", title="head (index from 0)", scale=scale, axis=axis)


def _extremes(data, shown, value, written, number):
    """The highest and the lowest value, written into their cells.

    Where these are narrow, neither is: it would cover its neighbours.
    """
    drawn, narrow = [], f"width / {data.layers} < {NARROW}"
    style = {"fontSize": theme.TICK, "baseline": "middle"}
    style["opacity"] = altair.ExprRef(f"{narrow} ? 0 : 1")
    for order in ("descending", "ascending"):
        first = shown.transform_window(
            order="row_number()", sort=[altair.SortField(value, order=order)]
        ).transform_filter("datum.order === 1")
        drawn += [
            mark.encode(
                x=altair.X("layer:Q", title="layer (index from 0)"),
                y=altair.Y("head:Q", title="head (index from 0)"),
                text=altair.Text(f"{value}:Q", format=".0%" if "%" in number else ".2f")
                if written == value
                else altair.Text(f"{written}:N"),
            )
            for mark in theme.halo(first.mark_text, **style, align="center")
        ]
    return drawn


LEAST_BETWEEN_LAYERS = 0.01
"""Averages of layers that differ by less are not compared."""


def figure(measure: Measure, shows: str = "") -> Figure:
    """The figure of one measure; shows: default: what the measure is."""
    return Figure(
        shows=shows or measure.shows,
        of=(PassageData, AtlasData, DifferenceData),
        title=lambda data: measure.title,
        caption=lambda data: _caption(data, measure),
        use=use,
        left_out=lambda data: _left_out(data, measure),
        controls=controls,
        panels=lambda data: TITLES,
        columns=COLUMNS,
        boxes=lambda data: boxes(),
        chart=lambda data, panel=0, **state: _chart(data, measure, panel, state),
        rows=lambda data, panel=0, **state: _rows(data, measure, state),
        alt=lambda data, panel=0, **state: _alt(data, measure, panel, state),
        seen=lambda data, **state: _seen(data, measure, state),
    )


def controls(data: PassageData) -> list[choices.Switch]:
    """The switches between the passage and the corpus, and between the lines and a map."""
    return [*_sources(data), control()]


def _sources(data):
    """The switch between what was measured: the passage or the corpus, the texts or the control."""
    if not data.has_corpus:
        return []
    first = next(iter(data.sources))
    return [choices.Switch("source", "Measured on", data.sources, first, seldom=True)]


def _source(data, state):
    """What the values are of."""
    return state.get("source", next(iter(data.sources)))


def _caption(data, measure):
    joined = ""
    if data.layers > 1:
        joined = (
            ", and a line joins the values of one rank from layer to layer; it does not follow one "
            "head"
        )
    named = "The highest has its name above it, or its number where there is less room."
    if data.layers > rank_lines.MANY:
        named = "At the highest peaks, the highest has its name above it."
    return (
        f"A point or a cell is a head. {measure.counted}\n{updates.without_first(data)} At each "
        "layer the heads are sorted by "
        f"their value{joined}. {named}"
    )


def use(data: PassageData) -> str:
    """What pointing at a value does."""
    return (
        "Point at a value to read which head has it, and to see that head in the other figures of "
        "all heads. Click on it, and figures of one head show it. Where there is room for one "
        "panel, “Drawn as” leads to the other."
    )


def _left_out(data, measure):
    if reason := of_other(data, "passage", "atlas", "difference"):
        return reason
    if measure.name in data.measures:
        return ""
    return (
        f"The measure {measure.name!r} was not taken: it does not apply to this model, or came "
        "after the datasets were measured."
    )


def _chart(data, measure, panel, state):
    heads = altair.Chart(altair.NamedData("heads")).transform_filter("datum.source === source")
    rank = f"rank_{measure.name}"
    heads, tooltip = rank_lines.told(heads, data.heads, rank, measure.name, measure.number)
    if panel == 0:
        drawn = _lines(data, measure, heads, rank, tooltip)
    else:
        most = _most(data, measure)
        drawn = layers(data, heads, measure.name, most, measure.number, tooltip)
    sorted_ = "heads sorted" if panel == 0 else "a map of heads"
    return theme.frame(
        drawn,
        theme.Source(
            FILE.format(measure.name),
            "tables",
            ["heads"],
            tokens="" if data.kind == "passage" else None,
        ),
        description=f"{measure.title}: {measure.axis}, by layer, {sorted_}",
        shows={"heads": [["source", "=", "{source}"]]},
        params=[
            altair.param(name="source", value=_source(data, state)),
            *marking.marked("layer", "head"),
            marking.found(),
        ],
        brush=["layer", measure.name if panel == 0 else "head"],
        walk=["layer", rank if panel == 0 else "head"],
    )


def _lines(data, measure, heads, rank, tooltip):
    x, y = rank_lines.layer_axis(data), _y(data, measure)
    return layered(
        *rank_lines.sorted_lines(data, heads, x, y, rank, tooltip),
        *rank_lines.marked_head(heads, x, y),
    )


def _most(data, measure):
    """The largest value, on the passage and in the corpus."""
    return max(float(np.nanmax(data.measured(measure.name)[measure.name])), 0.05)


def _y(data, measure):
    looks = {"format": ".0%" if "%" in measure.number else ".2~f", "tickCount": 6}
    return (
        altair.Y(f"{measure.name}:Q", title=measure.axis)
        .scale(domain=[0, _most(data, measure) * 1.1], nice=False)  # room for a name
        .axis(**looks)
    )


def _rows(data, measure, state):
    """The table "heads" of both panels, for both sources whatever the state."""
    return {"heads": of_heads(data, measure.name)}


def of_heads(data: PassageData, measure: str) -> list[dict]:
    """The table "heads" of a measure as rows; None for what is not known."""
    rows = theme.records(data.measured(measure))
    return [{name: None if v != v else v for name, v in row.items()} for row in rows]


def _alt(data, measure, panel, state):
    """The head and the layer with the largest value, and the median."""
    source = _source(data, state)
    table = data.measured(measure.name)
    here = table["source"] == source
    values = table[measure.name]
    best = np.argmax(np.where(here, values, -1))
    how = f"with the {data.heads} heads of each layer sorted" if panel == 0 else "a cell a head"
    return (
        f"{measure.alt}, by layer, {how}, over {data.sources[source]}. The largest value is "
        f"{values[best]:{measure.number}}, head {table['head'][best]} of layer "
        f"{table['layer'][best]}; the median of all heads is "
        f"{np.median(values[here]):{measure.number}}."
    )


def _seen(data, measure, state):
    """The head with the largest value, what half of all heads stay below, and how layers differ."""
    source = _source(data, state)
    table, written = data.measured(measure.name), measure.as_text
    values = table[measure.name][table["source"] == source].reshape(data.layers, data.heads)
    if np.isnan(values).all():
        return ""
    top = largest(values)
    if values.size > 1 and not values.any():
        return f"For all {values.size} heads, this is {written(0.0)}."
    said = measure.does.format(head=top.label, value=written(top.value))
    if values.size == 1:
        return f"{said}."
    median = float(np.median(values))
    middle = f"{written(median)}{' or below' if median else ''}"
    said += f".{_near(values, top)} Half of all {values.size} heads are at {middle}."
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
    others = others[0].upper() + others[1:]
    return f" {others} within a hundredth of that."
