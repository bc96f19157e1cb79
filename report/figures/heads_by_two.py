"""All heads by any two measures at once, over many texts or over their control."""

import json

import altair
import numpy as np

from report.figures.parts import (
    all_measures,
    choices,
    head_points,
    marking,
    over_models,
    rank_lines,
    theme,
)
from report.figures.parts.choices import Switch
from report.figures.parts.groups import groups
from report.figures.parts.heads import HeadFindings, ranks
from report.figures.parts.layers import layered
from report.kinds.atlas import sentences
from report.kinds.atlas.data import AtlasData
from report.text import number

ASPECT, PHONE_ASPECT = 1.5, 0.95

OPENS = {"up": ("induction", "prefix_matching"), "across": ("to_previous_token",)}
"""Control -> measures that it opens at, the first that was taken."""

ONE_SIZE = "same"

SIZES = 0.3, 3
"""Areas of the points of the lowest and the highest head where sizes stand for a measure, beside
those where they do not."""

NAMED = 3
"""Heads with the highest values of a measure that are named."""


finds, rows = all_measures.finds, all_measures.rows


def title(data: AtlasData) -> str:
    return "{up} vs {across}"


def caption(data: AtlasData) -> str:
    return (
        "A point is a head. Its colour stands for its layer, or for what you choose. Each axis is "
        f"a measure of your choice; of the {NAMED} heads with most of each, those that have room "
        "are named.\n"
        f"{all_measures.group_words(data)}{all_measures.control_words(data)}"
    )


def use(data: AtlasData) -> str:
    return (
        "Choose two measures. Point at a head: a line leads to where it stands on the control. "
        "Click on it, and figures of one head show it. Drag over heads, with a finger sideways, or "
        "write what they do, or “like” and the name of a head: all figures mark them. Colours may "
        "stand for a measure too, and sizes, the larger the higher."
    )


def controls(data: AtlasData) -> list[Switch]:
    options = {name: words.title for name, words in data.words.items()}
    grouped = {"group": "group of like heads"} if groups(data)[0] else {}
    looks = [
        Switch("colour", "Coloured by", {"layer": "layer"} | grouped | options, "layer", look=True),
        Switch("size", "Sized by", {ONE_SIZE: "all the same"} | options, ONE_SIZE, look=True),
    ]
    found = []
    for param, label in (("across", "To the right"), ("up", "Upwards")):
        opens = [*(name for name in OPENS[param] if name in options), *options]
        found.append(Switch(param, label, options, opens[0]))
    return [*found, *looks, Switch("source", "Measured on", data.sources, "corpus", seldom=True)]


def chart(data: AtlasData, **state: str) -> altair.LayerChart:
    heads = all_measures.table({"x": "across", "y": "up"}, data).transform_filter(
        "isValid(datum.x) && isValid(datum.y)"
    )
    heads = _looks(data, heads)
    x, y = (_axis(data, *axis) for axis in ((altair.X, "x", "across"), (altair.Y, "y", "up")))
    tooltip = [altair.Tooltip("told:N", title="title"), altair.Tooltip("more:N", title="and")]
    area = f"isValid(datum.area) ? {SIZES[0]} + {SIZES[1] - SIZES[0]} * datum.area : 1"
    points = heads.mark_point(
        filled=True,
        size=altair.ExprRef(f"(width > 500 ? 64 : 40) * ({area})"),
        opacity=marking.bright(0.9),
        stroke=altair.ExprRef("paper"),
        strokeWidth=0.8,
        aria=False,
    ).encode(x=x, y=y, color=_colour(data), shape=_shape(data), tooltip=tooltip)
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
        groups=all_measures.group_names(data),
    )


def _looks(data, heads):
    """The rows with where a head is between the lowest and the highest in what colours and sizes
    stand for, and with all that is told of it."""
    ends = _ends(data)
    for field, param in (("shade", "colour"), ("area", "size")):
        value = f"source === 'control' && isDefined(datum['control_' + {param}]) ? "
        value += f"datum['control_' + {param}] : datum[{param}]"
        low, high = (f"{ends}[{param}][source][{n}]" for n in (0, 1))
        heads = heads.transform_calculate(
            **{f"value_{field}": f"{param} === '{ONE_SIZE}' ? null : {value}"}
        ).transform_calculate(
            **{
                field: f"isValid(datum.value_{field}) ? "
                f"(datum.value_{field} - {low}) / max({high} - {low}, 1e-9) : null"
            }
        )
    kind = "colour === 'group' && isValid(datum.group) ? 'group ' + datum.group : 'no group'"
    titles, formats = (
        json.dumps({name: of(words) for name, words in data.words.items()})
        for of in (lambda words: words.title, lambda words: words.number)
    )
    told = "datum.said_y + (colour === 'group' ? ', in ' + datum.kind : '')"
    for param, field in (("colour", "shade"), ("size", "area")):
        of_measure = f"isDefined({titles}[{param}]) && isValid(datum.value_{field})"
        written = f"format(datum.value_{field}, {formats}[{param}])"
        told += f" + ({of_measure} ? '; ' + {titles}[{param}] + ' ' + {written} : '')"
    return heads.transform_calculate(kind=kind).transform_calculate(more=told)


def _ends(data):
    """Expression: {what colours or sizes stand for: {source: [lowest, highest of all heads]}}."""
    of = HeadFindings(data)
    ends = {
        "layer": {source: [0, data.layers - 1] for source in data.sources},
        "group": {source: [1, len(groups(data)[0])] for source in data.sources},
    }
    for name in data.words:
        both = {source: of.values(name, source) for source in data.sources}
        ends[name] = {
            source: [float(f"{end:.5g}") for end in (np.nanmin(values), np.nanmax(values))]
            for source, values in both.items()
            if not np.isnan(values).all()
        }
    return json.dumps(ends)


def _colour(data):
    """The channel of what colours stand for; its legend is that of layers where that is drawn."""
    ends, formats = _ends(data), json.dumps(_formats(data) | {"layer": "d", "group": "d"})
    low, high = (f"{ends}[colour][source][{n}]" for n in (0, 1))
    legend = rank_lines.layer_legend(data) or theme.gradient(values=[0, 1])
    last = max(1, data.layers - 1)
    legend.values = [each / last for each in legend.values] if data.layers > 1 else [0, 1]
    legend.labelExpr = f"format({low} + ({high} - {low}) * datum.value, {formats}[colour])"
    legend.titleOpacity = theme.only("colour === 'layer'")
    legend.gradientOpacity = legend.labelOpacity = theme.only("colour !== 'group'")
    known = altair.Color("shade:Q", legend=legend)
    known = known.scale(domain=[0, 1], clamp=True, **theme.ramp(theme.RANK_RAMP))
    grey = altair.value(theme.themed(*theme.CONTEXT.values()))
    return altair.condition("isValid(datum.shade)", known, grey)


def _shape(data):
    """The channel of groups, where colours stand for them: whoever sees no colours tells them apart
    by their shapes."""
    shapes = [*all_measures.SIGNS][: len(groups(data)[0])]
    names = [f"group {number}" for number in range(1, len(shapes) + 1)]
    channel = altair.Shape("kind:N", legend=None)
    return channel.scale(domain=["no group", *names], range=["circle", *shapes])


def _formats(data):
    return {name: ".0%" if "%" in words.number else ".3~g" for name, words in data.words.items()}


def _axis(data, channel, field, param):
    ticks = theme.ticks_across() if param == "across" else 6
    room = altair.Scale(zero=False, nice=False, padding=14)  # for names
    return channel(f"{field}:Q", title=None, scale=room).axis(
        labelExpr=f"format(datum.value, {json.dumps(_formats(data))}[{param}])", tickCount=ticks
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
            value = words.as_text(top.value)
            if at["source"] == "corpus":
                value += sentences.beside_control(data, at[param], (top.layer, top.head))
            said.append(f"{top.label} is highest in “{words.title}”, {value}.")
    pairs = np.stack([of.values(at[param], at["source"]).ravel() for param in ("across", "up")])
    pairs = pairs[:, ~np.isnan(pairs).any(0)]
    if pairs.shape[1] > 2 and (np.ptp(pairs, axis=1) > 0).all():
        joint = number(float(np.corrcoef([ranks(values) for values in pairs])[0, 1]))
        said.append(f"Over {pairs.shape[1]} heads their rank correlation is {joint}.")
    return " ".join(said)
