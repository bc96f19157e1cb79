"""The figures of a measure of heads in the dataset "heads": attending_to_itself,
attending_to_first_token and attention_concentration, as sorted lines or as a map."""

from dataclasses import dataclass

import altair
import numpy as np

from report.datasets.read.passage import PassageData
from report.figures.parts import choices, head_map, marking, rank_lines, theme, updates
from report.figures.parts.figure import Figure, of_other
from report.figures.parts.heads import LEAD, largest
from report.figures.parts.layers import layered
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
        panels=lambda data: head_map.TITLES,
        columns=head_map.COLUMNS,
        boxes=lambda data: head_map.boxes(),
        chart=lambda data, panel=0, **state: _chart(data, measure, panel, state),
        rows=rows,
        alt=lambda data, panel=0, **state: _alt(data, measure, panel, state),
        seen=lambda data, **state: _seen(data, measure, state),
    )


def controls(data: PassageData) -> list[choices.Switch]:
    """The switches between the passage and the corpus, and between the lines and a map."""
    return [choices.Switch("source", "Measured on", SOURCES, "passage"), head_map.control()]


def _caption(data, measure):
    joined = ""
    if data.layers > 1:
        joined = (
            ", and a line joins the values of one rank from layer to layer; it does not follow one "
            "head"
        )
    named = "The highest has its number above it."
    if data.layers > rank_lines.MANY:
        named = "At the highest peaks, the highest has its number above it."
    return (
        f"{measure.counted}\n{updates.without_first(data)} At each layer the heads are sorted by "
        f"their value{joined}. {named}"
    )


def use(data: PassageData) -> str:
    """What pointing at a value does."""
    return (
        "Point at a value to read which head has it, and to see that head in the other figures of "
        "all heads. Click on it, and figures of one head show it. Where there is room for one "
        "panel, “Drawn as” leads to the other."
    )


def _chart(data, measure, panel, state):
    at = choices.at_state(controls(data), state)
    heads = altair.Chart(altair.NamedData("heads")).transform_filter("datum.source === source")
    rank = f"rank_{measure.column}"
    tooltip = [
        altair.Tooltip(f"{rank}:Q", title="rank (0 = lowest)"),
        altair.Tooltip("layer:Q", title="layer"),
        altair.Tooltip(f"{measure.column}:Q", title="value", format=measure.number),
        altair.Tooltip("named:N", title="real head"),
    ]
    if panel == 0:
        drawn = _lines(data, measure, heads, rank, tooltip)
    else:
        most = _most(data, measure)
        drawn = head_map.layers(data, heads, measure.column, most, measure.number, tooltip)
    sorted_ = "heads sorted" if panel == 0 else "a map of heads"
    return theme.frame(
        drawn,
        theme.Source("head_statistics.json", "tables", ["heads"]),
        description=f"{measure.title}: {measure.axis}, by layer, {sorted_}",
        controls=at,
        shows={"heads": [["source", "=", "{source}"]]},
        params=[
            altair.param(name="source", value=at[0].value),
            *marking.marked("layer", "head"),
        ],
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
    return max(float(data.head_statistics[measure.column].max()), 0.05)


def _y(data, measure):
    looks = {"format": ".0%" if "%" in measure.number else ".2~f", "tickCount": 6}
    return (
        altair.Y(f"{measure.column}:Q", title=measure.axis)
        .scale(domain=[0, _most(data, measure) * 1.1], nice=False)  # room for a name
        .axis(**looks)
    )


def rows(data: PassageData, panel: int = 0, **state: str) -> dict[str, list[dict]]:
    """The table "heads" as a list of dicts, of both panels, for both sources whatever the state."""
    choices.at_state(controls(data), state)
    return {"heads": theme.records(data.head_statistics)}


def _alt(data, measure, panel, state):
    """The head and the layer with the largest value, and the median."""
    source = choices.values(controls(data), state)["source"]
    table = data.head_statistics
    here = table["source"] == source
    values = table[measure.column]
    best = np.argmax(np.where(here, values, -1))
    how = f"with the {data.heads} heads of each layer sorted" if panel == 0 else "a cell a head"
    return (
        f"{measure.described}, by layer, {how}, over {SOURCES[source]}. The largest value is "
        f"{values[best]:{measure.number}}, head {table['head'][best]} of layer "
        f"{table['layer'][best]}; the median of all heads is "
        f"{np.median(values[here]):{measure.number}}."
    )


def _seen(data, measure, state):
    """The head with the largest value, what half of all heads stay below, and how layers differ."""
    source = choices.values(controls(data), state)["source"]
    table, written = data.head_statistics, measure.written
    values = table[measure.column][table["source"] == source].reshape(data.layers, data.heads)
    top = largest(values)
    if values.size > 1 and not values.any():
        return f"For all {values.size} heads, this is {written(0.0)}."
    said = measure.does.format(head=top.label, value=written(top.value))
    if values.size == 1:
        return f"{said}."
    median = float(np.median(values))
    middle = f"{written(median)}{' or below' if median else ''}"
    said += f"{_near(values, top)}; half of all {values.size} heads are at {middle}."
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
