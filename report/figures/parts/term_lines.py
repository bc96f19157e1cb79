"""Terms of the score as lines in one plot, by target token or by distance; see `profiles`."""

import json
import textwrap

import altair

from report.figures.parts import marking, score_terms, theme, token_names
from report.figures.parts.layers import layered
from report.kinds.passage.data import PassageData

PER_LETTER = 7.5
"""Pixels of a letter of a line's name, in a browser's widest fonts; the names are on the right."""
LINE = 15
"""Pixels from one of those names to the next, at least."""


NAMED = 14
"""Signs of a token's name that stand at a point at most."""
WIDEST = 92
"""Pixels of such a name, at most."""
PER_SIGN = 5.6
"""Pixels of one of its signs on each side of its middle, at most: half of a wide one."""


DOTTED = 600
"""Tokens of a passage whose points are drawn, at most: more lie on each other and hide the line."""


def params(data: PassageData, lines: dict[str, str], field: str) -> list[altair.Parameter]:
    """The params of `layers`; lines, field: as there."""
    longest = max(len(part) for name in lines.values() for part in _said(name).split("\n"))
    ends = altair.param(name="ends", value=round(8 + PER_LETTER * longest))
    if field == "distance":
        return [ends]
    named = [score_terms.quoted(token, NAMED) for token in data.tokens]
    return [ends, altair.param(name="names", value=named)]


def layers(
    data: PassageData, lines: dict[str, str], dataset: str, field: str, fewest: int
) -> altair.LayerChart:
    """The plot of the terms `lines`, dict of term to its name.

    dataset: "targets" with the field "token", or "distances" with the field "distance"
    fewest: pairs of tokens that a point must stand for
    """
    table = altair.Chart(altair.NamedData(dataset))
    if field == "distance":
        table = table.transform_filter(f"datum.pairs >= {fewest}")
    x = _x(data, field)
    marks = [_zero()] if field == "distance" else [_zero(), *_marked_token()]
    for term, name in lines.items():
        named = table.transform_calculate(line=json.dumps(_said(name)))
        if term in ("content", "mixed") and field == "token" and data.causal:
            named = named.transform_filter(f"datum.token <= {data.length - fewest}")
        marks += _drawn(named, x, field, term, _colour(lines), data.length <= DOTTED)
    if field == "token":
        named = [term for term in lines if term != "position"]
        marks += _standing_out(data, table, x, named, fewest)
    return layered(*marks, _ends(table, field, lines), _hover(data, table, x, field, lines))


def _x(data, field):
    title = "target token (index)"
    if field == "distance":
        title = "distance (tokens in the past" + (")" if data.causal else "; below 0: later)")
    axis = {"grid": False, "tickMinStep": 1, "format": "d"}
    room = [0, altair.ExprRef("width - ends")]
    return (
        altair.X(f"{field}:Q", title=title)
        .scale(nice=False, zero=False, range=room)
        .axis(**axis, tickCount=theme.ticks_across())
    )


def _y(term):
    y = altair.Y(f"{term}:Q", title="term of the score, mean removed (nats)")
    return y.scale(padding=18).axis(tickCount=6)  # room for names above and below points


def _colour(lines):
    scale = altair.Scale(
        domain=[_said(name) for name in lines.values()],
        range=[theme.themed(*theme.of_term(term)) for term in lines],
    )
    return altair.Color("line:N", scale=scale, legend=None)


def _ends(table, field, lines):
    """The names of the lines, at the right: each at the height of its line's end, none on another.

    There are at most three lines.
    """
    last = f"datum.{field} >= 0.85 * datum.most"
    line = LINE * (1 + any("\n" in _said(name) for name in lines.values()) / 2)
    names = {term: _said(name) for term, name in lines.items()}
    said = ", ".join(f"{json.dumps(term)}: {json.dumps(name)}" for term, name in names.items())
    named = (
        table.transform_joinaggregate(most=f"max({field})")
        .transform_filter(last)
        .transform_fold(list(lines), as_=["term", "value"])
        .transform_aggregate(end="mean(value)", groupby=["term"])
        .transform_calculate(line=f"{{{said}}}[datum.term]")
        .transform_window(
            [
                altair.WindowFieldDef(op="lag", field="end", param=steps, **{"as": name})
                for steps, name in ((1, "above"), (2, "top"))
            ],
            sort=[altair.SortField("end", "descending")],
        )
    )
    here, above, top = (f"scale('y', datum.{name})" for name in ("end", "above", "top"))
    # a name is pushed down by the names above it
    pushed = f"isValid(datum.above) ? max({here}, {above} + {line}) : {here}"
    pushed = f"isValid(datum.top) ? max({here}, {above} + {line}, {top} + {2 * line}) : {pushed}"
    text = named.mark_text(
        align="left",
        baseline="middle",
        fontWeight=600,
        lineBreak="\n",
        dy=altair.ExprRef(f"({pushed}) - {here}"),
        aria=False,
    )
    return text.encode(
        **theme.place(x="width - ends + 8"),
        y=altair.Y("end:Q"),
        text=altair.Text("line:N"),
        color=_colour(lines),
    )


def _standing_out(data, table, x, terms, fewest):
    """The texts of the tokens that each of some terms raises or lowers most, at their points."""
    order = altair.WindowFieldDef(op="row_number", field="value", **{"as": "rank"})
    across, last = "(width - ends)", data.length - fewest if data.causal else data.length
    of_term = f"indexof({json.dumps(terms)}, datum.term)"
    named = (
        table.transform_fold(terms, as_=["term", "value"])
        .transform_filter(
            f"datum.token <= {last} || !(datum.term === 'content' || datum.term === 'mixed')"
        )
        .transform_calculate(up="datum.value > 0", far="abs(datum.value)")
        .transform_window(
            [order], groupby=["term", "up"], sort=[altair.SortField("far", "descending")]
        )
        .transform_filter("datum.rank <= 3 && datum.far > 0")
        .transform_calculate(
            text="names[datum.token]",
            rank=f"datum.rank + {of_term} / 4 + (datum.up ? 0 : 0.1)",  # no two are equal
        )
        .transform_calculate(half=f"min({WIDEST / 2}, {PER_SIGN} * length(datum.text))")
        .transform_calculate(
            middle=f"clamp(datum.token / {max(1, data.length - 1)} * {across}, "
            f"datum.half, {across} - datum.half)"
        )
    )
    for _ in range(2):  # those beside one that goes become neighbours
        named = _apart(named, [] if len(terms) > 1 else ["up"])
    return [
        mark.encode(x=x, y=_y("value"), text=altair.Text("text:N"))
        for side, baseline, away in (("datum.up", "bottom", -6), ("!datum.up", "top", 6))
        for mark in theme.halo(
            named.transform_filter(side).mark_text,
            baseline=baseline,
            dy=away,
            dx=altair.ExprRef("datum.middle - scale('x', datum.token)"),
            limit=WIDEST,
            fontSize=theme.TICK,
        )
    ]


def _apart(ranked, sides):
    """Of two names that would lie on each other only that of the token that stands out more.

    sides: fields of groups that never meet: above and below the points of one term
    """
    fields = ("middle", "half", "rank")
    windowed = ranked.transform_window(
        [
            altair.WindowFieldDef(op=op, field=field, **{"as": f"{field}_{op}"})
            for op in ("lag", "lead")
            for field in fields
        ],
        sort=[altair.SortField("token")],
        groupby=sides,
    )
    for op in ("lag", "lead"):
        windowed = windowed.transform_filter(
            f"!(isValid(datum.rank_{op}) && datum.rank_{op} < datum.rank"
            f" && abs(datum.middle - datum.middle_{op}) < datum.half + datum.half_{op} + 4)"
        )
    return windowed


def _said(name):
    """The name of a term at its line, in lines that leave a phone room for the plot."""
    return "\n".join(textwrap.wrap(score_terms.short(name), 13))


def _zero():
    return altair.Chart(altair.InlineData([{}])).mark_rule(
        strokeWidth=1, opacity=0.5, aria=False
    ).encode(**theme.at(y=0), **theme.place(x=0, x2="width - ends"))  # fmt: skip


def _marked_token():
    return marking.guides("marked_token", line=lambda at: theme.at(x=at))


def _drawn(table, x, field, term, colour, dotted):
    """A term: ALiBi as a line, others as a line with points, or a thin one without.

    By target these have the straight line that fits best, too.
    """
    channels = {"x": x, "y": _y(term), "color": colour}
    plain = term == "position" and field == "token"
    width = 2.2 if plain else 1.1 if dotted else 0.6
    line = table.mark_line(strokeWidth=width, opacity=1 if plain else 0.7, aria=False)
    line = line.encode(**channels)
    if plain:
        return [line]
    size = altair.ExprRef("width > 500 ? 16 : 9")
    points = table.mark_circle(size=size, opacity=0.9, aria=False).encode(**channels)
    marks = [line, points] if dotted else [line]
    if field == "distance":
        return marks
    trend = table.transform_regression(field, term, groupby=["line"]).mark_line(
        strokeDash=[6, 4], strokeWidth=2, aria=False
    )
    return [trend.encode(**channels), *marks]


def _hover(data, table, x, field, lines):
    """Invisible strips as wide as places are apart: a tooltip shows without aiming."""
    if field == "token":
        place = [altair.Tooltip("label:N", title="target token")]
        table = table.transform_calculate(label=token_names.token_label("token", "token_text"))
    else:
        place = [
            token_names.tooltip_of_distance(data),
            altair.Tooltip("pairs:Q", title="pairs of tokens"),
        ]
        table = table.transform_calculate(apart=token_names.APART)
    terms = [
        altair.Tooltip(f"{term}:Q", title=f"{name} term", format="+.2f")
        for term, name in lines.items()
    ]
    dataset = "targets" if field == "token" else "distances"
    strip = table.mark_rule(
        color="transparent",
        strokeWidth=altair.ExprRef(f"max(2, width / max(1, length(data('{dataset}'))))"),
        aria=False,
    )
    return strip.encode(x=x, tooltip=[*place, *terms])
