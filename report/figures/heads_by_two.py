"""All heads by any two measures at once, over many texts or over their control."""

import json

import altair
import numpy as np

from report.figures.parts import all_measures, choices, head_points, marking, over_models, theme
from report.figures.parts.choices import Switch
from report.figures.parts.heads import HeadFindings, ranks
from report.figures.parts.layers import layered
from report.kinds.atlas.data import AtlasData
from report.text import number

ASPECT, PHONE_ASPECT = 1.5, 0.95

OPENS = {"up": ("induction", "prefix_matching"), "across": ("to_previous_token",)}
"""Control -> measures that it opens at, the first that was taken."""

NAMED = 3
"""Heads with the highest values of a measure that are named."""


finds, rows = all_measures.finds, all_measures.rows


def title(data: AtlasData) -> str:
    return "{up} vs {across}"


def caption(data: AtlasData) -> str:
    return (
        "A point is a head, coloured by its layer. Each axis is a measure of your choice; the "
        f"{NAMED} heads with most of each are named.\n{all_measures.control_words(data)}"
    )


def use(data: AtlasData) -> str:
    return (
        "Choose two measures. Point at a head: a line leads to where it stands on the control. "
        "Click on it, and figures of one head show it. Drag over heads, with a finger sideways, or "
        "write what they do: all figures mark them."
    )


def controls(data: AtlasData) -> list[Switch]:
    options = {name: words.title for name, words in data.words.items()}
    found = []
    for param, label in (("across", "To the right"), ("up", "Upwards")):
        opens = [*(name for name in OPENS[param] if name in options), *options]
        found.append(Switch(param, label, options, opens[0]))
    return [*found, Switch("source", "Measured on", data.sources, "corpus", seldom=True)]


def chart(data: AtlasData, **state: str) -> altair.LayerChart:
    heads = all_measures.table({"x": "across", "y": "up"}, data).transform_filter(
        "isValid(datum.x) && isValid(datum.y)"
    )
    x, y = (_axis(data, *axis) for axis in ((altair.X, "x", "across"), (altair.Y, "y", "up")))
    tooltip = [altair.Tooltip("told:N", title="title"), altair.Tooltip("said_y:N", title="and")]
    points = heads.mark_circle(
        size=altair.ExprRef("width > 500 ? 64 : 40"),
        opacity=marking.bright(0.9),
        stroke=altair.ExprRef("paper"),
        strokeWidth=0.8,
        aria=False,
    ).encode(x=x, y=y, color=head_points.colour(data), tooltip=tooltip)
    marked = heads.transform_filter(marking.either(marking.HEAD))
    to_control = marked.transform_filter("isValid(datum.cx) && isValid(datum.cy)")
    tail = to_control.mark_rule(strokeDash=[3, 2], strokeWidth=1.4, aria=False)
    end = to_control.mark_point(shape="cross", size=50, strokeWidth=2, aria=False)
    ends = {"x": altair.X("cx:Q"), "y": altair.Y("cy:Q")}
    return theme.frame(
        layered(
            points,
            tail.encode(x=altair.X("x:Q"), y=altair.Y("y:Q"), x2="cx:Q", y2="cy:Q"),
            end.encode(**ends, color=altair.value(altair.ExprRef("ink"))),
            *_names(heads),
            marking.ring(heads, marking.HEAD, 170, 1.8).encode(
                x=altair.X("x:Q"), y=altair.Y("y:Q")
            ),
            theme.y_title(choices.chosen("up", _axes(data))),
            head_points.x_title(choices.chosen("across", _axes(data))),
        ),
        theme.Source(over_models.ROWS, "tables", ["rows"], tokens=None),
        description="Heads by two measures: a scatter plot, a point a head",
        params=[
            *choices.params(state),
            *marking.marked("layer", "head"),
            marking.found(),
        ],
        brush=["{source}_{across}", "{source}_{up}"],
    )


def _axis(data, channel, field, param):
    formats = {name: ".0%" if "%" in words.number else ".3~g" for name, words in data.words.items()}
    ticks = theme.ticks_across() if param == "across" else 6
    room = altair.Scale(zero=False, nice=False, padding=14)  # for names
    return channel(f"{field}:Q", title=None, scale=room).axis(
        labelExpr=f"format(datum.value, {json.dumps(formats)}[{param}])", tickCount=ticks
    )


def _axes(data):
    return {name: words.axis for name, words in data.words.items()}


def _names(heads):
    """The names of the heads with most of either."""
    named = heads
    for field in "xy":
        last_first = [altair.SortField(field, order="descending")]
        named = named.transform_window(**{f"place_{field}": "row_number()"}, sort=last_first)
    named = named.transform_calculate(place="min(datum.place_x, datum.place_y)")
    return head_points.names(
        named.transform_filter(f"datum.place <= {NAMED}"), "x", "y", most=2 * NAMED
    )


def seen(data: AtlasData, **state: str) -> str:
    """Who has most of either, and how both go together."""
    at, of = state, HeadFindings(data)
    said = []
    for param in ("across", "up"):
        words, values = data.words[at[param]], of.values(at[param], at["source"])
        if not np.isnan(values).all():
            top = of.strongest(at[param], at["source"])
            said.append(f"{top.label} is highest in “{words.title}”, {words.as_text(top.value)}.")
    pairs = np.stack([of.values(at[param], at["source"]).ravel() for param in ("across", "up")])
    pairs = pairs[:, ~np.isnan(pairs).any(0)]
    if pairs.shape[1] > 2 and (np.ptp(pairs, axis=1) > 0).all():
        joint = number(float(np.corrcoef([ranks(values) for values in pairs])[0, 1]))
        said.append(f"Over {pairs.shape[1]} heads their rank correlation is {joint}.")
    return " ".join(said)
