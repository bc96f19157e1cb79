"""What a term does whoever looks: terms in one plot, by target or by distance."""

import json

import altair
import numpy as np

from report.errors import ReportError
from report.figures.parts import choices, profiles, score_terms, theme
from report.text import count, number, shortened

ENDS = "width > 500 ? 88 : 74"
"""Pixels on the right in which each line is named at its end."""
LINE = 15
"""Pixels from one of those names to the next, at least."""

ASPECT = 1.6
PHONE_ASPECT = 1.05

JUMPS = 3
"""How many times farther apart single targets are than both ends of the straight line, in a term
that goes by the token and not by its place."""
LEVEL = 0.05
"""Units of score by which a line changes from end to end at least, to be said to rise or fall."""


def left_out(data):
    """Why this figure cannot be drawn of a model, in one sentence; "" if it can."""
    choosing = score_terms.choosing(data)
    if not choosing:
        return "Of this model only whole scores could be measured, so no term can be shown alone."
    if len(choosing) < 2:
        return "The content term is the only one here, so there is no other to compare it with."
    return ""


def _lines(data):
    """The terms shown: dict of term to its name, position last."""
    reason = left_out(data)
    if reason:
        raise ReportError(f"bias_vs_position cannot be drawn: {reason}")
    names, choosing = score_terms.names(data), score_terms.choosing(data)
    if score_terms.position(data) == "rotary":
        shown = list(choosing)
    elif "bias" in choosing:
        shown = ["bias", "position" if "position" in choosing else "content"]
    else:
        shown = ["content", "position"]
    return {term: names[term] for term in shown}


def _sentence(words):
    return words[0].upper() + words[1:]


def by_distance(data):
    """True for rotary positions: there a term depends on how far apart two tokens are."""
    return score_terms.position(data) == "rotary"


def title(data):
    *others, last = _lines(data).values()
    return f"{_sentence(score_terms.listed(others))} vs {last}"


def caption(data):
    lines = _lines(data)
    unit = (
        "In nats, as scores are: one more makes the probability of a target 2.7 times as large "
        "beside that of any other."
    )
    if by_distance(data):
        sides = "" if data.causal else " (right: before the current token, left: after it)"
        return (
            f"What each term adds to the score of a target at a distance{sides}, on average over "
            f"all pairs of tokens that far apart. {_common()} The first token is left out as a "
            "target, since many heads treat it in a way of their own, and so are the farthest "
            f"distances, where pairs are few. Each line has its mean removed. {unit}"
        )
    if "position" in lines and "bias" in lines:
        return (
            "The bias term and the ALiBi term of a score depend on the target token alone; ALiBi "
            "does so up to a constant for each current token, which changes nothing after softmax. "
            "For the same reason each line has its mean removed: only differences matter. Tokens "
            "that stand out are named. Where the bias falls while ALiBi rises, the head works "
            "against its pull to the recent past; the "
            f"dashed line is the straight line that fits the bias best. {unit}"
        )
    other = "ALiBi" if "position" in lines else "bias"
    fits = "The dashed line is the straight line that fits the content best."
    if other == "bias":
        fits = "The dashed lines are the straight lines that fit best."
    if data.causal and _fewest(data) > 1:
        fits = f"Of the last targets, which few tokens see, the content is left out. {fits}"
    return (
        f"The {other} term of a score depends on the target token alone. The content term depends "
        f"on both; shown is what it gives a target whoever looks. {_common()} Each line has its "
        f"mean removed, since only differences count. {fits} {unit}"
    )


def _common():
    return "Only differences between targets of one current token are averaged."


def controls(data):
    return [choices.layer_control(data), choices.head_control(data)]


def chart(data, **state):
    lines = _lines(data)
    dataset, field = ("distances", "distance") if by_distance(data) else ("targets", "token")
    table = altair.Chart(altair.NamedData(dataset))
    if field == "distance":
        table = table.transform_filter(f"datum.pairs >= {_fewest(data)}")
    x = _x(data, field)
    marks = [_zero()] if field == "distance" else [_zero(), *_marked_token()]
    for term, name in lines.items():
        named = table.transform_calculate(line=json.dumps(f"{name} term"))
        if term == "content" and field == "token" and data.causal:
            named = named.transform_filter(f"datum.token <= {data.length - _fewest(data)}")
        marks += _drawn(named, x, field, term, _colour(lines))
        if term != "position" and field == "token":
            marks += _standing_out(data, named, x, term)
    ends = _ends(data, table, field, lines)
    return theme.frame(
        altair.layer(*marks, *ends, _hover(data, table, x, field, lines)),
        name="bias_vs_position",
        description=f"{title(data)}: terms of the score by {field}, mean removed",
        controls=choices.at_state(controls(data), state),
        url="attention/{layer}/{head}.json",
        decode="bias_vs_position",
        datasets=[dataset],
        shows={dataset: [["pairs", ">=", _fewest(data)]] if field == "distance" else []},
        params=[*theme.marked("token"), altair.param(name="ends", expr=ENDS)],
        terms=score_terms.names(data),
        lines=list(lines),
        walk=[field],
        by="target" if field == "token" else "distance",
    )


def _fewest(data):
    """Pairs of tokens that a point stands for: what a pair or two says is no habit of the head."""
    return max(1, data.length // 40)


def _x(data, field):
    title = "target token (index)"
    if field == "distance":
        title = "distance (tokens in the past" + (")" if data.causal else "; negative: later ones)")
    axis = {"grid": False, "tickMinStep": 1, "format": "d"}
    room = [0, altair.ExprRef("width - ends")]
    return (
        altair.X(f"{field}:Q", title=title)
        .scale(nice=False, zero=False, range=room)
        .axis(**axis, tickCount=theme.ticks_across())
    )


def _y(term):
    return altair.Y(f"{term}:Q", title="term of the score, mean removed (nats)").axis(tickCount=6)


def _colour(lines):
    scale = altair.Scale(
        domain=[f"{name} term" for name in lines.values()],
        range=[theme.themed(*theme.TERMS[each]) for each in lines],
    )
    return altair.Color("line:N", scale=scale, legend=None)


def _ends(data, table, field, lines):
    """The names of the lines, at the right, as high as their last part, one below the other."""
    last = f"datum.{field} >= 0.85 * datum.most"
    names = {term: f"{name} term" for term, name in lines.items()}
    said = ", ".join(f"{json.dumps(term)}: {json.dumps(name)}" for term, name in names.items())
    found = (
        table.transform_joinaggregate(most=f"max({field})")
        .transform_filter(last)
        .transform_fold(list(lines), as_=["term", "value"])
        .transform_aggregate(end="mean(value)", groupby=["term"])
        .transform_calculate(line=f"{{{said}}}[datum.term]")
        .transform_window(
            above="lag(end)", top="lag(end, 2)", sort=[altair.SortField("end", "descending")]
        )
    )
    here, above, top = (f"scale('y', datum.{each})" for each in ("end", "above", "top"))
    # each as far down as those above it push it
    pushed = f"isValid(datum.above) ? max({here}, {above} + {LINE}) : {here}"
    pushed = f"isValid(datum.top) ? max({here}, {above} + {LINE}, {top} + {2 * LINE}) : {pushed}"
    text = found.mark_text(
        align="left",
        baseline="middle",
        fontWeight=600,
        dy=altair.ExprRef(f"({pushed}) - {here}"),
        aria=False,
    )
    return [
        text.encode(
            x=altair.value(altair.ExprRef("width - ends + 8")),
            y=altair.Y("end:Q"),
            text="line:N",
            color=_colour(lines),
        )
    ]


def _standing_out(data, table, x, term):
    """The texts of the tokens that a term raises or lowers most, at their points."""
    found = []
    near = f"{data.length / 7:.4g}"
    for order, side, baseline, away in (
        ("descending", ">", "bottom", -6),
        ("ascending", "<", "top", 6),
    ):
        ranked = (
            table.transform_window(rank="row_number()", sort=[altair.SortField(term, order)])
            .transform_filter(f"datum.rank <= 3 && datum.{term} {side} 0")
            # of two that are close to each other only the one that stands out more
            .transform_window(
                before="lag(token)",
                rank_before="lag(rank)",
                after="lead(token)",
                rank_after="lead(rank)",
                sort=[altair.SortField("token")],
            )
            .transform_filter(
                f"!(isValid(datum.before) && datum.token - datum.before < {near}"
                " && datum.rank_before < datum.rank)"
            )
            .transform_filter(
                f"!(isValid(datum.after) && datum.after - datum.token < {near}"
                " && datum.rank_after < datum.rank)"
            )
            .transform_calculate(text="'“' + truncate(trim(datum.token_text), 14) + '”'")
        )
        found += [
            mark.encode(x=x, y=_y(term), text="text:N")
            for mark in theme.halo(
                ranked.mark_text,
                baseline=baseline,
                dy=away,
                align=altair.ExprRef(
                    f"datum.token < {data.length / 12:.4g} ? 'left' : "
                    f"datum.token > {data.length * 11 / 12:.4g} ? 'right' : 'center'"
                ),
                fontSize=theme.TICK,
            )
        ]
    return found


def _zero():
    return altair.Chart(altair.InlineData([{}])).mark_rule(
        strokeWidth=1, opacity=0.5, aria=False
    ).encode(y=theme.at(0))  # fmt: skip


def _marked_token():
    return theme.guides("marked_token", line=lambda at: {"x": theme.at(altair.ExprRef(at))})


def _drawn(table, x, field, term, colour):
    """One term: ALiBi as a line, others as points too; by target with the line that fits best."""
    channels = {"x": x, "y": _y(term), "color": colour}
    plain = term == "position" and field == "token"
    line = table.mark_line(
        strokeWidth=2.2 if plain else 1.1, opacity=1 if plain else 0.7, aria=False
    ).encode(**channels)
    if plain:
        return [line]
    size = altair.ExprRef("width > 500 ? 16 : 9")
    points = table.mark_circle(size=size, opacity=0.9, aria=False).encode(**channels)
    if field == "distance":
        return [line, points]
    trend = table.transform_regression(field, term, groupby=["line"]).mark_line(
        strokeDash=[6, 4], strokeWidth=2, aria=False
    )
    return [trend.encode(**channels), line, points]


def _hover(data, table, x, field, lines):
    """A strip a place as wide as places are apart, unseen: a tooltip without aiming."""
    if field == "token":
        place = [altair.Tooltip("label:N", title="target token")]
        table = table.transform_calculate(label=theme.token_label("token", "token_text"))
    else:
        place = [theme.apart(data), altair.Tooltip("pairs:Q", title="pairs of tokens")]
        table = table.transform_calculate(apart=theme.APART)
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


def rows(data, **state):
    attention = data.attention(*choices.values(controls(data), state).values())
    lines = list(_lines(data))
    if by_distance(data):
        return {"distances": theme.records(profiles.by_distance(attention, lines))}
    return {"targets": targets(attention, data.tokens, lines)}


def targets(attention, tokens, lines):
    """One dict a target token: token, token_text, and each term less its mean."""
    columns = profiles.by_target(attention, lines)
    return [
        {"token": t.index, "token_text": t.label}
        | {term: float(values[t.index]) for term, values in columns.items()}
        for t in tokens
    ]


def alt(data, **state):
    layer, head = choices.values(controls(data), state).values()
    attention, lines = data.attention(layer, head), _lines(data)
    if by_distance(data):
        return _alt_by_distance(attention, lines, f"layer {layer}, head {head}")
    columns = profiles.by_target(attention, list(lines))
    places = np.arange(data.length)
    slopes = {term: np.polyfit(places, values, 1)[0] * 100 for term, values in columns.items()}
    changes = " and ".join(f"the {lines[t]} term changes by {s:+.2f}" for t, s in slopes.items())
    first, *_ = lines
    named = score_terms.listed(list(lines.values()))
    return (
        f"{_sentence(named)} terms of layer {layer}, head {head} by target token, means "
        f"removed. Over 100 tokens {changes} on average; the {first} term of single targets "
        f"spreads over {np.ptp(columns[first]):.2f}."
    )


def _alt_by_distance(attention, lines, where):
    found = profiles.by_distance(attention, list(lines))
    named = score_terms.listed(list(lines.values()))
    said = [
        f"the {name} term is largest at {found['distance'][found[term].argmax()]} tokens in the "
        f"past and spreads over {np.ptp(found[term]):.2f}"
        for term, name in lines.items()
    ]
    return f"{_sentence(named)} terms of {where} by distance, means removed: {'; '.join(said)}."


def seen(data, **state):
    """Which way each line goes, or by distance where it is highest."""
    layer, head = choices.values(controls(data), state).values()
    attention, lines = data.attention(layer, head), _lines(data)
    if by_distance(data):
        return _seen_by_distance(data, attention, lines)
    columns = profiles.by_target(attention, list(lines))
    places = np.arange(data.length)
    changes = {
        term: float(np.polyfit(places, values, 1)[0] * (data.length - 1))
        for term, values in columns.items()
    }
    one, other = changes.values()
    first = next(iter(lines))
    names = {term: f"the fitted line of the {name} term (dashed)" for term, name in lines.items()}
    if "position" in lines:  # a straight line itself
        names["position"] = f"the {lines['position']} term"
    said = {term: f"{names[term]} {_moved(change)}" for term, change in changes.items()}
    trend = f"From the first target token to the last, {' and '.join(said.values())}."
    if np.ptp(columns[first]) >= max(LEVEL, JUMPS * abs(one)):
        ends = [
            f"{number(columns[first][at])} (“{shortened(data.tokens[at].label.strip(), 14)}”)"
            for at in (columns[first].argmin(), columns[first].argmax())
        ]
        jumps = (
            f"The {lines[first]} term jumps from target to target, between {' and '.join(ends)}."
        )
        return f"{jumps} {trend}"
    together = "Neither line leans much to one side."
    if min(abs(one), abs(other)) >= LEVEL:
        together = (
            "The two pull the same way." if one * other > 0 else "The two work against each other."
        )
    elif max(abs(one), abs(other)) >= LEVEL:
        together = "Only one of the two leans to one side."
    return f"{trend} {together}"


def _moved(change):
    if abs(change) < LEVEL:
        return "stays level"
    return f"{'rises' if change > 0 else 'falls'} by {number(abs(change))}"


def _seen_by_distance(data, attention, lines):
    found = profiles.by_distance(attention, list(lines))
    shown = found["pairs"] >= _fewest(data)
    if not shown.any():
        return "The passage is too short to show how the terms go with distance."
    spreads = {term: float(np.ptp(found[term][shown])) for term in lines}
    most = max(spreads, key=spreads.get)
    at = int(found["distance"][shown][found[most][shown].argmax()])
    place = "the token itself" if at == 0 else f"targets {count(abs(at), 'token')} "
    place += "" if at == 0 else "before" if at > 0 else "after"
    others = [
        f"the {lines[term]} term by {number(spreads[term])}" for term in lines if term != most
    ]
    return (
        f"Distance moves the {lines[most]} term most, by {number(spreads[most])} "
        f"between its highest and its lowest point, and {score_terms.listed(others)}. It "
        f"speaks most for {place}."
    )
