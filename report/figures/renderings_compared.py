"""The same table written in several ways: what each class of tokens gets, layer by layer."""

import altair
import numpy as np

from report.figures.parts import choices, marking, rank_lines, score_terms, target_classes, theme
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.kinds.table.data import TableData
from report.text import number, percent

COLUMNS = 3

STYLES = (
    ("line", [1, 0], "circle", "#173fa8", "#6f90f2"),
    ("dash", [6, 3], "square", "#a3331a", "#f0682c"),
    ("dots", [2, 2], "triangle-up", "#2a9f70", "#b1fae1"),
)
"""Looks of the renderings: (mark of the legend, dash, shape, colour on light, on dark)."""

BAR = (0.45, 0.6)
"""Opacity of the bars: (on light, on dark)."""

ROOM = 14
"""Pixels that a layer needs to have bars."""

MEASURES = {"times": "times uniform attention", "probability": "probability"}

ASPECT, PHONE_ASPECT = 1.25, 1.45


def title(data: TableData) -> str:
    return f"One table, written as {score_terms.listed(target_classes.renderings(data).values())}"


def caption(data: TableData) -> str:
    outside, points = _outside(data)
    apart = ""
    if outside:
        apart = (
            ". Where few heads are far from the others, the mean of all lies outside that bar, as "
            f"{outside} of the {points} points do"
        )
    return (
        "A point is the mean of a layer’s heads. A panel is a class of target tokens. Where "
        f"there is room, the bar at each point spans the middle half of the heads{apart}. "
        "Probability is divided by what uniform attention would give, as ways of writing have more "
        "or fewer tokens of a class: 1 (the thin rule) means no preference. Every panel has a "
        "scale of its own."
    )


def _outside(data):
    """(number of points outside their bar, number of all points)."""
    outside = points = 0
    for name in _classes(data):
        for rendering in data.renderings:
            values = data.shares(name, rendering)[data.even(name, rendering) > 0]
            if not len(values):
                continue
            mean, (low, high) = values.mean(1), np.percentile(values, [25, 75], axis=1)
            slack = 1e-9  # for rounding, where all heads are alike
            outside += int(((mean < low - slack) | (mean > high + slack)).sum())
            points += len(values)
    return outside, points


def use(data: TableData) -> str:
    return "Point at a value to read the head with the largest share too."


def controls(data: TableData) -> list[Control | Switch]:
    return [Switch("shown", "Shown as", MEASURES, "times", seldom=True)]


def panels(data: TableData) -> list[str]:
    """Titles of the panels: the classes."""
    return list(_classes(data).values())


def _classes(data):
    """The classes to which uniform attention would give something: class -> its title."""
    return {
        name: title
        for name, title in target_classes.present(data).items()
        if any(data.even(name, rendering).any() for rendering in data.renderings)
    }


def legends(data: TableData) -> list[list[dict[str, str]]]:
    """The renderings, above the first row only."""
    entries = [
        {"label": label, "mark": mark, "light": light, "dark": dark}
        for (mark, _, _, light, dark), label in zip(
            STYLES, target_classes.renderings(data).values(), strict=True
        )
    ]
    return [entries] + [[]] * ((len(panels(data)) - 1) // COLUMNS)


def chart(data: TableData, panel: int = 0, **state: str) -> altair.LayerChart:
    renderings = target_classes.renderings(data)
    layers = _layers(list(_classes(data))[panel], renderings)
    x, y = rank_lines.layer_axis(data, "place", around=0.3), _y()
    colour, dash, shape = _looks(list(renderings))
    line = layers.mark_line(strokeWidth=1.7, aria=False)
    # bars of neighbours would lie on each other
    room = f"width / {data.layers} >= {ROOM}"
    thin = altair.ExprRef(f"{room} ? (dark ? {BAR[1]} : {BAR[0]}) : 0")
    bar = layers.mark_rule(strokeWidth=2.6, opacity=thin, aria=False)
    point = layers.mark_point(filled=True, opacity=1, size=44, aria=False)
    around = layers.mark_circle(size=300, color="transparent", aria=False)  # easy to hit
    tooltip = [
        altair.Tooltip("label:N", title="written as"),
        altair.Tooltip("layer:Q", title="layer"),
        altair.Tooltip("mean:Q", title="mean over heads", format=".1%"),
        altair.Tooltip("even:Q", title="uniform attention", format=".1%"),
        altair.Tooltip("times:Q", title="times even", format=".2f"),
        altair.Tooltip("strongest:N", title="largest"),
    ]
    return theme.frame(
        layered(
            theme.y_title(choices.chosen("shown", MEASURES)),
            _no_preference(),
            bar.encode(x=x, y=altair.Y("shown_low:Q"), y2=altair.Y2("shown_high:Q"), color=colour),
            line.encode(x=x, y=y, color=colour, strokeDash=dash),
            point.encode(x=x, y=y, color=colour, shape=shape),
            around.encode(x=x, y=y, tooltip=tooltip),
            marking.ring(layers, marking.HEAD, 130).encode(x=x, y=y),
        ),
        theme.Source("class_shares.json", "tables", ["heads"]),
        description=f"{panels(data)[panel]}: what they get, by layer, in each way of writing",
        shows={"heads": [["target", "=", list(_classes(data))[panel]], ["even", ">", 0]]},
        params=[
            *choices.params(state),
            *marking.marked("layer", "head"),
        ],
        walk=["layer", "rendering"],
    )


def _layers(target, renderings):
    """A row for each layer and rendering: mean, middle half and largest share of its heads."""
    order = ", ".join(f"'{name}'" for name in renderings)
    labels = ", ".join(f"{name}: '{label}'" for name, label in renderings.items())
    return (
        altair.Chart(altair.NamedData("heads"))
        .transform_filter(f"datum.target === '{target}' && datum.even > 0")
        .transform_aggregate(
            [
                altair.AggregatedFieldDef(op=op, field=field, **{"as": name})
                for op, field, name in (
                    ("mean", "probability", "mean"),
                    ("q1", "probability", "low"),
                    ("q3", "probability", "high"),
                    ("mean", "even", "even"),
                    ("argmax", "probability", "best"),
                )
            ],
            groupby=["rendering", "layer"],
        )
        .transform_calculate(
            # side by side, so that no bar hides another
            place=f"datum.layer + 0.13 * (indexof([{order}], datum.rendering) - 1)",
            label=f"{{{labels}}}[datum.rendering]",
            head="datum.best.head",
            times="datum.mean / datum.even",
            unit="shown === 'times' ? datum.even : 1",
            strongest="format(datum.best.probability, '.1%') + ', head ' + datum.best.head",
        )
        .transform_calculate(
            shown_mean="datum.mean / datum.unit",
            shown_low="datum.low / datum.unit",
            shown_high="datum.high / datum.unit",
        )
    )


def _y():
    y = altair.Y("shown_mean:Q", title=None).scale(zero=True)
    label = "shown === 'times' ? format(datum.value, '~g') + '×' : format(datum.value, '.0%')"
    return y.axis(tickCount=5, labelExpr=label)


def _looks(renderings):
    """Colour, dash and shape of the renderings; their legend stands above the panels."""
    looks = (
        (altair.Color, [theme.themed(*style[3:]) for style in STYLES]),
        (altair.StrokeDash, [style[1] for style in STYLES]),
        (altair.Shape, [style[2] for style in STYLES]),
    )
    return [
        channel("rendering:N", legend=None).scale(domain=renderings, range=values)
        for channel, values in looks
    ]


def _no_preference():
    return altair.Chart(altair.InlineData([{}])).mark_rule(
        strokeWidth=1, opacity=theme.only("shown === 'times'"), aria=False
    ).encode(**theme.at(y="shown === 'times' ? 1 : 0"))  # fmt: skip


def rows(data: TableData, panel: int = 0, **state: str) -> dict[str, Rows]:
    """The table "heads" of all classes, whatever the panel."""
    return {"heads": theme.records(data.class_shares)}


def alt(data: TableData, panel: int = 0, **state: str) -> str:
    """What the panel's class gets in each way of writing."""
    shown = state["shown"]
    target = list(_classes(data))[panel]
    phrases = []
    for name, label in target_classes.renderings(data).items():
        mean, even = data.shares(target, name).mean(), data.even(target, name).mean()
        amount = f"{percent(mean, 1)}"
        if shown == "times":
            amount = f"{number(mean / even)} times uniform attention" if even else "nothing"
        phrases.append(f"{amount} as {label}")
    return (
        f"Attention to {target_classes.named(target)} by layer, one line a way to write the "
        f"table, {MEASURES[shown]}. Over all layers and heads: {score_terms.listed(phrases)}."
    )


def seen(data: TableData, **state: str) -> str:
    """The classes that get most and least, averaged over all heads, in each way of writing."""
    shown = state["shown"]
    renderings = target_classes.renderings(data)
    values = {}  # class -> array [rendering]
    for name in _classes(data):
        shares = np.array([data.shares(name, rendering).mean() for rendering in renderings])
        even = np.array([data.even(name, rendering).mean() for rendering in renderings])
        if even.all():  # every way of writing has such tokens
            values[target_classes.named(name)] = shares / even if shown == "times" else shares
    if not values:
        return "No class of tokens is there in every way of writing the table."
    labels = list(renderings.values())
    ends = [_end(values, labels, np.argmax)]
    if len(values) > 1:
        ends.append(_end(values, labels, np.argmin))
    words = ("Most", "Least")
    if shown == "times":
        words = ("Per token, most", "Least")
    sentences = [
        f"{word} goes to {name}: {_listed(numbers, shown)} (as {score_terms.listed(ways)})."
        for word, end in zip(words, ends, strict=False)
        for name, (ways, numbers) in end.items()
    ]
    return " ".join([*sentences, "These are means over all heads."])


def _end(values, labels, arg):
    """The classes that get most (arg: np.argmax) or least (np.argmin) in a way of writing.

    returns: class -> (labels of the ways in which it does, its values there), most ways first
    """
    names = list(values)
    table = np.array([values[name] for name in names])
    ends = {}
    for at, (way, place) in enumerate(zip(labels, arg(table, axis=0), strict=True)):
        ways, numbers = ends.setdefault(names[place], ([], []))
        ways.append(way)
        numbers.append(table[place, at])
    return dict(sorted(ends.items(), key=lambda end: -len(end[1][0])))


def _listed(values, shown):
    if shown == "times":
        return f"{score_terms.listed(number(value) for value in values)} times uniform attention"
    return score_terms.listed(percent(value) for value in values)
