"""Heads sorted by value at each layer; line r joins the r-th values of all layers.

Lines never cross, and a line is no head; each point tells which head it stands for.
"""

import altair

from report.figures.parts import choices, marking, theme

MANY = 16
"""Layers; with more, lines are quiet and only the highest peaks are named."""

PEAKS = 5

CLOSE = 40
"""Pixels from the name of one peak to that of the next, at least."""

NAME = "'L' + datum.layer + 'H' + datum.head"


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

    table: of rows with layer, head and the field `rank`; tooltip: of each head
    most_layers: of all panels of a figure, so that heads have names of one length in all of them
    returns: the lines first
    """
    colour = altair.Color(f"{rank}:Q", legend=None).scale(
        domain=[0, max(1, data.heads - 1)], **theme.ramp(theme.RANK_RAMP)
    )
    many = (most_layers or data.layers) > MANY
    lines = table.mark_line(
        strokeWidth=1 if many else 1.6, opacity=0.45 if many else 0.75, aria=False
    )
    points = table.mark_circle(
        size=altair.ExprRef(f"width > 500 ? {26 if many else 62} : {16 if many else 44}"),
        opacity=marking.bright(1),
        stroke=altair.ExprRef("paper"),
        strokeWidth=0.8,
        aria=False,
    )
    around = table.mark_circle(size=420, color="transparent", aria=False)  # easy to hit
    return [
        lines.encode(x=x, y=y, color=colour, detail=altair.Detail(f"{rank}:N")),
        around.encode(x=x, y=y, tooltip=tooltip),
        points.encode(x=x, y=y, color=colour, tooltip=tooltip),
        *_names(data, table, x, y, rank, most_layers or data.layers),
    ]


def _names(data, table, x, y, rank, most_layers):
    """The names of the highest heads.

    Where layers are close together, and not many, a name is the number of the head alone. A
    name stands above its point. It keeps aside from a steep line that comes down from the layer
    before or goes up to the next one, as far as the names of neighbours leave room. Those of the
    first and of the last layer stay within the chart, and their neighbours keep aside from them.
    """
    value = y.shorthand.removesuffix(":Q")
    room = f"width / {data.layers}"
    many = most_layers > MANY
    wide_enough = "true" if many else f"width / {most_layers} >= 48"
    named = (
        table.transform_filter(f"datum.{rank} === {data.heads - 1}")
        .transform_window(
            before=f"lag({value})", after=f"lead({value})", sort=[altair.SortField("layer")]
        )
        .transform_calculate(
            name=NAME,
            short="'' + datum.head",
            left=f"datum.before - datum.{value}",
            right=f"datum.after - datum.{value}",
            # the first name begins at its point where it would otherwise reach into the axis
            first=f"datum.layer === 0 && {wide_enough}",
            inward=f"!({wide_enough}) || {data.layers} < 4 ? 0 : datum.layer === 1 ? 1 : "
            f"datum.layer === {data.layers - 2} ? -1 : 0",
        )
    )
    if many:
        named = _peaks(named, value, room)
    aside = (
        f"(datum.layer === 0 || datum.layer === {data.layers - 1} ? 0 : "
        "datum.left > 2 * max(0, datum.right) ? 1 : datum.right > 2 * max(0, datum.left) ? -1 : 0)"
    )
    style = {
        "baseline": "bottom",
        "dy": -8,
        "fontSize": theme.TICK,
        "align": altair.ExprRef(
            f"datum.first ? 'left' : datum.layer === {data.layers - 1} ? 'right' : 'center'"
        ),
    }
    return [
        mark.encode(x=x, y=y, text=altair.Text(text))
        for text, wide, most, shown in (
            ("name:N", 34, 14, wide_enough),
            ("short:N", 16, 8, f"!({wide_enough})"),
        )
        for mark in theme.halo(
            named.mark_text,
            **style,
            # neighbours may come towards each other
            dx=altair.ExprRef(
                f"(datum.inward || {aside}) * clamp(({room} - {wide}) / 2, 0, {most})"
            ),
            opacity=theme.only(f"{shown} && {room} >= {6 if many else 16}"),
        )
    ]


def _peaks(named, value, room):
    """Of the highest heads the highest peaks, which have room for their numbers."""
    peak = f"datum.{value} >= datum.before && datum.{value} >= datum.after"
    named = (
        named.transform_filter(peak)
        .transform_window(order="row_number()", sort=[altair.SortField(value, order="descending")])
        .transform_filter(f"datum.order <= {PEAKS}")
        # of two close to each other only the higher one is named
        .transform_window(
            last="lag(layer)",
            last_order="lag(order)",
            next="lead(layer)",
            next_order="lead(order)",
            sort=[altair.SortField("layer")],
        )
    )
    for there in ("last", "next"):
        near = f"abs(datum.{there} - datum.layer) * {room} < {CLOSE}"
        named = named.transform_filter(
            f"!(isValid(datum.{there}) && {near} && datum.{there}_order < datum.order)"
        )
    return named


def told(
    table: altair.Chart, heads: int, rank: str, value: str, number: str
) -> tuple[altair.Chart, list[altair.Tooltip]]:
    """The table with what is told of each head, and the tooltip that begins with it.

    It is a sentence: "L5H1: 61.0%, 3rd lowest of 9 in layer 5".

    heads: of a layer; rank, value: fields of the table; number: format of the value
    """
    said = f"{NAME} + ': ' + format(datum.{value}, '{number}')"
    if heads > 1:
        low = f"2 * datum.{rank} < {heads - 1}"
        near = f"({low} ? datum.{rank} + 1 : {heads} - datum.{rank})"
        teen = f"{near} % 100 > 10 && {near} % 100 < 14"
        end = f"{teen} ? 'th' : ({near} % 10 === 1 ? 'st' : {near} % 10 === 2 ? 'nd' : "
        end += f"{near} % 10 === 3 ? 'rd' : 'th')"
        said += (
            f" + ', ' + ({near} === 1 ? '' : {near} + ({end}) + ' ') + "
            f"({low} ? 'lowest' : 'highest') + ' of {heads} in layer ' + datum.layer"
        )
    return table.transform_calculate(told=said), [altair.Tooltip("told:N", title="title")]


def layer_legend(data: choices.Heads) -> altair.Legend | None:
    """The legend of points coloured by their layer; None for a model of one layer."""
    if data.layers == 1:
        return None
    last = data.layers - 1
    return theme.gradient(
        title="layer",
        titleOrient="left",
        gradientLength=140,
        values=[0, last // 2, last] if last > 1 else [0, last],
        format="d",
    )


def layer_axis(data: choices.Heads, field: str = "layer", around: float = 0.25) -> altair.X:
    """The channel of layers, with a tick for each; around: room at both ends, in layers."""
    return (
        altair.X(f"{field}:Q", title="layer (index from 0)")
        .scale(domain=[-around, data.layers - 1 + around], nice=False)
        .axis(values=list(range(data.layers)), format="d", grid=False)
    )


def marked_head(heads: altair.Chart, x: altair.X, y: altair.Y) -> tuple[altair.Chart, altair.Chart]:
    """Layers that ring and name the head that the reader has marked in any figure."""
    ring = marking.ring(heads, marking.HEAD, 190, 1.8)
    name = (
        heads.transform_filter(marking.either(marking.HEAD))
        .transform_calculate(named=NAME, edge="datum.layer > 0.7 * domain('x')[1]")
        .mark_text(
            dx=altair.ExprRef("datum.edge ? -13 : 13"),
            align=altair.ExprRef("datum.edge ? 'right' : 'left'"),
            fontWeight=700,
            fontSize=theme.LABEL,
            aria=False,
        )
    )
    return ring.encode(x=x, y=y), name.encode(x=x, y=y, text=altair.Text("named:N"))
