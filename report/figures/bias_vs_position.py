"""What a term does whoever looks: terms in one plot, by target or by distance."""

import altair
import numpy as np

from report.datasets.formats.attention import DecodedAttention
from report.figures.parts import choices, marking, profiles, score_terms, term_lines, theme
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.kinds.passage.data import PassageData, Token
from report.text import count, number

ASPECT = 1.6
PHONE_ASPECT = 1.05

JUMPS = 3
"""A term is said to jump from target to target if it spreads over this many times the change of its
straight line from end to end."""
LEVEL = 0.05
"""A line is said to rise or fall if it changes by this many units of score from end to end."""

LINE = "A line is what one term adds to a target’s score."
"""The first sentence of every caption: it holds for all models that the figure shows."""


def left_out(data: PassageData) -> str:
    choosing = score_terms.choosing(data)
    if not choosing:
        return "Of this model only whole scores could be measured, so no term can be shown alone."
    if len(choosing) < 2:
        name = score_terms.names(data)[score_terms.compares(data)]
        return f"The {name} term is the only one here, so there is no other to compare it with."
    return ""


def _lines(data):
    """The terms shown: dict of term to its name, position last."""
    names, choosing = score_terms.names(data), score_terms.choosing(data)
    if score_terms.position(data) == "rotary":
        shown = list(choosing)
    elif "bias" in choosing:
        shown = ["bias", "position" if "position" in choosing else score_terms.compares(data)]
    else:
        shown = [score_terms.compares(data), "position"]
    return {term: names[term] for term in shown}


def _sentence(words):
    return words[0].upper() + words[1:]


def by_distance(data: PassageData) -> bool:
    """Whether terms are drawn by distance: with rotary positions they depend on it."""
    return score_terms.position(data) == "rotary"


def title(data: PassageData) -> str:
    *others, last = _lines(data).values()
    return f"{_sentence(score_terms.listed(others))} vs {last}"


def caption(data: PassageData) -> str:
    lines = _lines(data)
    capped = "" if data.attention(0, 0).softcap is None else ", but for the cap,"
    unit = f"In nats: one more makes a probability{capped} 2.7 times as large beside any other."
    if by_distance(data):
        sides = "" if data.causal else " (right: before the current token, left: after it)"
        return (
            f"{LINE} It is shown at each distance{sides}, on average over all pairs of tokens that "
            f"far apart. {_common()} The first token is left out as a "
            "target, which many heads treat in a way of their own, and the farthest distances, "
            f"where pairs are few. Each line has its mean removed. {unit}"
        )
    if "position" in lines and "bias" in lines:
        return (
            f"{LINE} It does not depend on who looks: ALiBi up to a constant for each current "
            "token, which changes nothing after softmax. Each line has "
            "its mean removed, since only differences count. The dashed line is the straight one "
            "that fits the bias best: where it falls while ALiBi rises, the head works against "
            f"ALiBi’s pull to the recent past. {unit}"
        )
    other = "ALiBi" if "position" in lines else "bias"
    both = score_terms.names(data)[score_terms.compares(data)]
    fits = f"The dashed line is the straight line that fits the {both} term best."
    if other == "bias":
        fits = "The dashed lines are the straight lines that fit best."
    if data.causal and _fewest(data) > 1:
        fits = f"Of the last targets, which few tokens see, the {both} term is left out. {fits}"
    return (
        f"{LINE} The {other} term depends on the target alone, the {both} term on both tokens: "
        "its line is an average over the current tokens. "
        f"{_common()} Each line has its mean removed, since only differences count. {fits} {unit}"
    )


def _common():
    return "Only differences between targets of one current token are averaged."


def controls(data: PassageData) -> list[Control | Switch]:
    return [choices.layer_control(data), choices.head_control(data)]


def chart(data: PassageData, **state: int) -> altair.LayerChart:
    lines = _lines(data)
    dataset, field = ("distances", "distance") if by_distance(data) else ("targets", "token")
    return theme.frame(
        term_lines.layers(data, lines, dataset, field, _fewest(data)),
        theme.Source("attention/{layer}/{head}.json", "bias_vs_position", [dataset]),
        description=f"{title(data)}: terms of the score by {field}, mean removed",
        shows={dataset: [["pairs", ">=", _fewest(data)]] if field == "distance" else []},
        params=[*marking.marked("token"), *term_lines.params(data, lines, field)],
        terms=score_terms.names(data),
        lines=list(lines),
        walk=[field],
        by="target" if field == "token" else "distance",
    )


def _fewest(data):
    """The fewest pairs of tokens that a point is drawn of; one or two show no habit of a head."""
    return max(1, data.length // 40)


def rows(data: PassageData, **state: int) -> dict[str, Rows]:
    attention = data.attention(*state.values())
    lines = list(_lines(data))
    if by_distance(data):
        return {"distances": theme.records(profiles.by_distance(attention, lines))}
    return {"targets": targets(attention, data.tokens, lines)}


def targets(attention: DecodedAttention, tokens: list[Token], lines: list[str]) -> Rows:
    """A row for each target token: token, token_text, and each term less its mean."""
    columns = profiles.by_target(attention, lines)
    return [
        {"token": t.index, "token_text": t.label}
        | {term: float(values[t.index]) for term, values in columns.items()}
        for t in tokens
    ]


def seen(data: PassageData, **state: int) -> str:
    """Which way each line goes, or by distance where it is highest."""
    layer, head = state.values()
    attention, lines = data.attention(layer, head), _lines(data)
    if by_distance(data):
        return _seen_by_distance(data, attention, lines)
    columns = profiles.by_target(attention, list(lines))
    places = np.arange(data.length)
    changes = {
        term: float(np.polyfit(places, values, 1)[0] * (data.length - 1))
        for term, values in columns.items()
    }
    change, other_change = changes.values()
    first = next(iter(lines))
    names = {term: f"the dashed line of the {name} term" for term, name in lines.items()}
    if "position" in lines:  # a straight line itself
        names["position"] = f"the {lines['position']} term"
    said = {term: f"{names[term]} {_moved(moved)}" for term, moved in changes.items()}
    one, *others = said.values()
    others = " ".join(f"{_sentence(other)}." for other in others)
    trend = f"From the first target to the last, {one}. {others}"
    if np.ptp(columns[first]) >= max(LEVEL, JUMPS * abs(change)):
        ends = [
            f"{number(columns[first][at])} ({score_terms.quoted(data.tokens[at], 14)})"
            for at in (columns[first].argmin(), columns[first].argmax())
        ]
        jumps = (
            f"The {lines[first]} term jumps from target to target, between {' and '.join(ends)}."
        )
        return f"{jumps} {trend}"
    together = "Neither line leans much to one side."
    if min(abs(change), abs(other_change)) >= LEVEL:
        together = (
            "The two pull the same way."
            if change * other_change > 0
            else "The two work against each other."
        )
    elif max(abs(change), abs(other_change)) >= LEVEL:
        together = "Only one of the two leans to one side."
    return f"{trend} {together}"


def _targets(distance):
    """Those so many tokens back, in words; negative: after the current token."""
    if distance == 0:
        return "the token itself"
    return f"targets {count(abs(int(distance)), 'token')} {'before' if distance > 0 else 'after'}"


def _moved(change):
    if abs(change) < LEVEL:
        return "stays level"
    return f"{'rises' if change > 0 else 'falls'} by {number(abs(change))}"


def _seen_by_distance(data, attention, lines):
    columns = profiles.by_distance(attention, list(lines))
    shown = columns["pairs"] >= _fewest(data)
    if not shown.any():
        return "The passage is too short to show how the terms go with distance."
    spreads = {term: float(np.ptp(columns[term][shown])) for term in lines}
    most = max(spreads, key=spreads.get)
    at = int(columns["distance"][shown][columns[most][shown].argmax()])
    others = [
        f"the {lines[term]} term by {number(spreads[term])}" for term in lines if term != most
    ]
    return (
        f"Distance moves the {lines[most]} term most, by {number(spreads[most])} "
        f"between its highest and its lowest point. It moves {score_terms.listed(others)}. The "
        f"{lines[most]} term is largest for {_targets(at)}."
    )
