"""Which heads look at a fact in a long text from the answer to a question, and from how far."""

import altair
import numpy as np

from report.figures.parts import grid, marking, theme
from report.figures.parts.choices import Control
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.figures.parts.layers import layered
from report.kinds.regions.data import RegionsData
from report.text import percent

SHOWN = 16
"""Heads, those that give a fact most more than its place."""

COLUMNS = 5
ROWS = "rows/{length}.json"
DIGITS = 4

PLACES = {
    "the fact": ("circle", *theme.TERMS["content"]),
    "its place without it": ("square", *theme.SOFT.values()),
}
"""What is looked at -> (shape, colour on light, colour on dark)."""


def title(data: RegionsData) -> str:
    return "Which heads find a fact in a long text"


def left_out(data: RegionsData) -> str:
    return data.no_needle


def caption(data: RegionsData) -> str:
    about = data.needle
    return (
        f"A row is a head.\nIn a long text stands one of {len(about['facts'])} facts, at one of "
        f"{about['depths']} depths; behind the text stand a question and its answer. The first "
        "panel has the probability that a head gives to all tokens of the fact, the mean over "
        "facts, depths, and the tokens at which the answer is predicted; beside it, what the "
        "same place gets while the fact stands elsewhere. A line is two standard errors of how "
        "much more the fact gets, to each side. The second panel has the fact's share at each "
        f"depth. The {_number(data)} heads that give it most more, over all lengths, are shown, "
        "the first on top."
    )


def use(data: RegionsData) -> str:
    return (
        "The slider changes the length of the text. Point at a mark to read its share. Click on "
        "one to mark its head in the other figures."
    )


def controls(data: RegionsData) -> list[Control]:
    lengths = [0] if data.no_needle else data.needle["lengths"]
    labels = [f"{length:,}" for length in lengths]
    return [Control("length", "Tokens", 0, len(lengths) - 1, 0, labels)]


def panels(data: RegionsData) -> list[str]:
    return ["Fact and place, {length} tokens", "By depth, {length} tokens"]


def boxes(data: RegionsData) -> list[grid.Box]:
    widths = [grid.GRID_WIDTH * span // COLUMNS for span in (3, 2)]
    height = 140 + 20 * _number(data)
    phone = grid.PHONE_WIDTH / height
    return [
        grid.Box(width / height, phone, width, span)
        for width, span in zip(widths, (3, 2), strict=True)
    ]


def chart(data: RegionsData, panel: int = 0, **state: int) -> altair.LayerChart:
    return theme.frame(
        _depths(data) if panel else _points(data),
        theme.Source(ROWS, "tables", ["depths" if panel else "heads"], tokens=None),
        description=f"{title(data)}: {('marks', 'a map by depth')[panel]}",
        params=marking.marked("layer", "head"),
        walk=["depth", "name"] if panel else ["name", "kind"],
    )


def _points(data):
    table = altair.Chart(altair.NamedData("heads"))
    axis = altair.Axis(format=".0%", tickCount=theme.ticks_across())
    x = altair.X("share:Q", title="probability on all tokens of it", axis=axis)
    y = _rows(data)
    legend = altair.Legend(
        title=None, orient="top", direction="horizontal", symbolOpacity=1, offset=theme.ABOVE
    )
    fact = table.transform_filter(f"datum.kind === '{next(iter(PLACES))}'")
    span = {"x": altair.X("low:Q"), "x2": altair.X2("high:Q"), "y": y}
    colour = theme.themed(*next(iter(PLACES.values()))[1:])
    return layered(
        fact.mark_rule(strokeWidth=1.6, color=colour, aria=False).encode(**span),
        table.mark_point(
            filled=True, size=64, stroke=altair.ExprRef("paper"), strokeWidth=0.6, aria=False
        ).encode(
            x=x,
            y=y,
            **theme.kind_scales(legend, PLACES),
            tooltip=[altair.Tooltip("told:N", title="title")],
        ),
    )


def _depths(data):
    table = altair.Chart(altair.NamedData("depths"))
    number = data.needle["depths"]
    labels = altair.Axis(
        title="the fact stands after (of the text)",
        labelExpr=f"format((datum.value + 0.5) / {number}, '.0%')",
        labelAngle=0,
        labelOverlap="greedy",
        domain=False,
        ticks=False,
    )
    legend = theme.gradient(direction="horizontal", format=".0%", tickCount=3)
    colour = altair.Color("share:Q", legend=legend).scale(
        domain=[0, _most(data)], **theme.ramp(theme.SCORE_RAMP)
    )
    cells = table.mark_rect(aria=False).encode(
        x=altair.X("depth:O", axis=labels),
        y=_rows(data),
        color=colour,
        tooltip=[altair.Tooltip("told:N", title="title")],
    )
    return layered(cells)


def _rows(data):
    axis = altair.Axis(title="head", domain=False, ticks=False, minExtent=56)
    return altair.Y("name:N", sort=[head_label(*at) for at in shown(data)], axis=axis)


def _most(data):
    values = data.needle_depths("answer")
    return max(float(max(values[at].max() for at in shown(data))), 0.01)


def shown(data: RegionsData) -> list[tuple[int, int]]:
    """(layer, head) of those that give a fact most more than its place, the first first."""
    scores = data.needle_score()
    order = np.argsort(-scores, axis=None, kind="stable")[:SHOWN]
    places = np.unravel_index(order, scores.shape)
    return [(int(layer), int(head)) for layer, head in zip(*places, strict=True)]


def _number(data):
    return min(SHOWN, data.layers * data.heads)


def rows(data: RegionsData, panel: int = 0, **state: int) -> dict[str, Rows]:
    length = state["length"]
    return {"depths": _of_depths(data, length)} if panel else {"heads": _of_heads(data, length)}


def _of_heads(data, length):
    columns = "answer", "answer_elsewhere", "answer_error"
    fact, place, error = (data.needle_heads(name)[..., length] for name in columns)
    made = []
    for at in shown(data):
        around = 2 * float(error[at])
        for kind, of in zip(PLACES, (fact, place), strict=True):
            share = round(float(of[at]), DIGITS)
            made.append(
                {
                    "layer": at[0],
                    "head": at[1],
                    "name": head_label(*at),
                    "kind": kind,
                    "share": share,
                    "low": round(max(0, share - around), DIGITS),
                    "high": round(share + around, DIGITS),
                    "told": f"{head_label(*at)} gives {percent(share, 1)} to {kind}",
                }
            )
    return made


def _of_depths(data, length):
    values = data.needle_depths("answer")[:, :, length]
    return [
        {
            "layer": at[0],
            "head": at[1],
            "name": head_label(*at),
            "depth": depth,
            "share": round(float(share), DIGITS),
            "told": f"{head_label(*at)} gives {percent(float(share), 1)} to the fact",
        }
        for at in shown(data)
        for depth, share in enumerate(values[at])
    ]


def seen(data: RegionsData, **state: int) -> str:
    """What the first head gives to the fact, and to its place."""
    at, length = shown(data)[0], state["length"]
    fact, place = (
        float(data.needle_heads(name)[(*at, length)]) for name in ("answer", "answer_elsewhere")
    )
    tokens = f"{data.needle['lengths'][length]:,}"
    return (
        f"In {tokens} tokens, {head_label(*at)} gives {percent(fact, 1)} to the fact, and "
        f"{percent(place, 1)} to its place without it."
    )


def alt(data: RegionsData, panel: int = 0, **state: int) -> str:
    what = f"A map of {_number(data)} heads by depth" if panel else f"{_number(data)} heads, sorted"
    return f"{what}. {seen(data, **state)}"
