"""One panel of average attention weights by position: a line for each condition."""

import json
from dataclasses import dataclass

import altair

from report.figures.parts import marking, received_difference, score_terms, theme
from report.figures.parts.layers import layered
from report.figures.parts.received import SPAN, Y_TITLE, Line, Panels, Place
from report.kinds.conditions.data import ModelConditions

LETTER = 7
"""Pixels that a letter of the span's name takes at most."""


@dataclass(frozen=True)
class Span:
    """The shaded positions that the last condition adds to the prompt."""

    name: str
    rules: bool = False
    """Whether dashed rules stand at both ends."""


def left_out(data: Panels, lines: int) -> str:
    """Why panels cannot be drawn, one sentence; "" if they can.

    lines: how many conditions are compared
    """
    if len(data.lines) != lines:
        named = ", ".join(data.lines) or "none"
        return f"It compares {lines} conditions, but is given {len(data.lines)}: {named}."
    reasons = (_not_measured(place, data.lines) for place in data.places)
    return next(filter(None, reasons), "")


def _not_measured(place, conditions):
    """What of a head was not measured, one sentence; "" if all was."""
    model = place.model
    for what, index, count in (
        ("layer", place.layer, model.layers),
        ("head", place.head, model.heads),
    ):
        if index >= count:
            return (
                f"Of {model.name} {count} {what}{'s' if count > 1 else ''} "
                f"{'were' if count > 1 else 'was'} measured, so there is no {what} "
                f"{index}; both count from 0."
            )
    measured = [condition.name for condition in model.conditions]
    missing = [name for name in conditions if name not in measured]
    if not missing:
        return ""
    return (
        f"{model.name} was not measured under the condition {missing[0]!r}, only under "
        f"{score_terms.listed(measured)}."
    )


def chart(
    place: Place,
    lines: list[Line],
    drawn: str | None,
    *,
    cut: bool,
    noun: str,
    span: Span | None = None,
    follows: bool = False,
) -> altair.LayerChart:
    """The chart of one panel.

    drawn: where the switch of `received_difference` stands; None: there is none
    cut: whether positions are those of the first condition, so that what others add is left out
    noun: what the last condition adds is, see `received.Panels`
    span: drawn unless it is cut out
    follows: whether layer and head are those of the controls, and not those of the place
    """
    at = drawn if cut else None
    mark = "original" if cut else "position"
    back = [] if cut or not span else _span(place.model, lines, span)
    layer, head = ("{layer}", "{head}") if follows else (place.layer, place.head)
    address = place.model.address
    return theme.frame(
        layered(*_layers(place, lines, back, f"marked_{mark}", at)),
        theme.Source(
            f"{address}received/{layer}/{head}.json",
            "received",
            ["lines"],
            tokens=f"{address}conditions.json",
        ),
        description=f"{Y_TITLE} by position, {place.title}: a line chart",
        params=[
            *marking.marked(mark),
            *([altair.param(name=received_difference.PARAM, value=at)] if at else []),
        ],
        lines=[{"condition": line.condition, "label": line.label} for line in lines],
        cut=cut,
        noun=noun,
        points="positions",
        model=address,
        **(
            {"title": followed(place.model)}
            if follows
            else {"place": {"layer": place.layer, "head": place.head}}
        ),
    )


def _layers(place, lines, back, marked, at):
    """The lines on what lies behind them, and their difference where a switch is `at` one of both.

    marked: name of the param of the marked position
    """
    table, x, colour = altair.Chart(altair.NamedData("lines")), _x(), _colour(lines)
    switched = []
    if back:
        back = [*back, _headroom(table)]
    if at:
        switched = received_difference.layers(table, lines, x, marked)
        switched.append(received_difference.title())
        table = received_difference.both(table)
    dash = altair.StrokeDash("condition:N", legend=None).scale(
        domain=[line.condition for line in lines], range=[line.style.dash for line in lines]
    )
    if place.model.prompts > 1:
        band = table.mark_area(opacity=0.24, aria=False)
        back.append(band.encode(x=x, y=_y("low", at), y2=altair.Y2("high:Q"), color=colour))
    line = table.mark_line(strokeWidth=1.8, strokeJoin="round", aria=False)
    return [
        *back,
        line.encode(x=x, y=_y("mean", at), color=colour, strokeDash=dash),
        *_marked(table, lines, x, colour, marked, at),
        *switched,
    ]


def followed(model: ModelConditions) -> str:
    """The title of a panel whose layer and head follow the controls."""
    return f"{model.name} L{{layer}}H{{head}}"


def _x():
    few = altair.ExprRef("clamp(floor(width / 42), 3, 8)")
    axis = {"grid": False, "tickMinStep": 1, "format": "d", "tickCount": few}
    return altair.X("position:Q", title="Position").scale(nice=False).axis(**axis)


def _y(field, switched=None):
    """The vertical channel; switched: whether a layer of its own has the title."""
    # labels have the same room in all panels, so that the axes of a column align
    title = None if switched else Y_TITLE
    return altair.Y(f"{field}:Q", title=title).axis(tickCount=5, minExtent=30)


def _colour(lines):
    return altair.Color("condition:N", legend=None).scale(
        domain=[line.condition for line in lines],
        range=[theme.themed(line.style.light, line.style.dark) for line in lines],
    )


def _span(model, lines, span):
    """Layers that shade and name the positions that the last condition adds."""
    places = model.condition(lines[-1].condition).new
    if not places:
        return []
    first, end = places.start - 0.5, places.stop - 0.5
    layer = altair.Chart(altair.InlineData([{}]))
    shade = layer.mark_rect(color=theme.themed(*SPAN), aria=False).encode(
        **theme.at(x=first, x2=end)
    )
    name = layer.mark_text(
        text=altair.ExprRef(_broken(span.name, first, end)),
        lineBreak="\n",
        limit=altair.ExprRef("max(140, width / 2)"),  # a longer one would take the chart's room
        baseline="top",
        dy=4,
        fontSize=theme.TICK,
        fontWeight=600,
        aria=False,
    ).encode(**theme.at(x=(first + end) / 2), **theme.place(y=0))
    ends = [
        layer.mark_rule(strokeDash=[4, 3], strokeWidth=1.2, aria=False).encode(**theme.at(x=edge))
        for edge in (first, end)
    ]
    return [shade, *(ends if span.rules else []), name]


def _broken(name, first, end):
    """Expression for a name: on two lines where it is wider than the span."""
    middle = len(name) // 2
    spaces = [place for place, letter in enumerate(name) if letter == " "]
    if not spaces:
        return json.dumps(name)
    at = min(spaces, key=lambda place: abs(place - middle))
    two = f"{name[:at]}\n{name[at + 1 :]}"
    wide = f"scale('x', {end}) - scale('x', {first}) > {LETTER * len(name)}"
    return f"{wide} ? {json.dumps(name)} : {json.dumps(two)}"


def _headroom(table):
    """Invisible points above the lines: they make the scale leave room for the span's name."""
    above = table.transform_calculate(above="1.2 * max(datum.mean, datum.high)")
    return above.mark_point(opacity=0, size=0, aria=False).encode(x=_x(), y=_y("above"))


def _marked(table, lines, x, colour, param, switched):
    rules = marking.guides(param, line=lambda at: theme.at(x=at))
    here = f"datum.position === {param} && isValid(datum.mean)"
    points = table.transform_filter(marking.either(here)).mark_point(
        filled=True,
        size=70,
        opacity=1,
        stroke=altair.ExprRef("paper"),
        strokeWidth=1.2,
        aria=False,
    )
    shape = altair.Shape("condition:N", legend=None).scale(
        domain=[line.condition for line in lines], range=[line.style.shape for line in lines]
    )
    return *rules, points.encode(x=x, y=_y("mean", switched), color=colour, shape=shape)
