"""Where in the passage heads change the hidden state much, and where they look at token 0."""

import altair
import numpy as np

from report.figures.parts import marking, theme, token_names, updates
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.kinds.passage.data import PassageData
from report.text import count, number, percent

COLOURS = {
    "the first token": theme.KINDS["the first token"],
    "any other token": ("circle", "#8a919f", "#727985"),
}

ASPECT, PHONE_ASPECT = 1.0, 0.85

controls, left_out = updates.controls, updates.left_out


def title(data: PassageData) -> str:
    return "Update by token position"


def caption(data: PassageData) -> str:
    return (
        "A point is one token in one head. Its magnitude is to the right; a line is a median, "
        f"the outline the middle of the points of its colour.\n{updates.explained(data)}\n"
        "The passage runs from top to bottom. Points whose top target is the first token have a "
        "colour of their own; the outline holds the middle 80 % of them at each height. Updates "
        "differ with their place too, so each line is the median of its kind over "
        f"{count(_tokens_a_part(data), 'token')} at a time.\n"
        f"{updates.without_first(data)}"
    )


def chart(data: PassageData, **state: int) -> altair.LayerChart:
    points = altair.Chart(altair.NamedData("points")).transform_filter(updates.AFTER_FIRST)
    return theme.frame(
        layered(
            *_guides(),
            _cloud(data, points),
            _region(),
            *_medians(data, points),
            *(ring.encode(**_axes(data)) for ring in updates.marked(points, 100)),
        ),
        theme.Source("updates/{layer}.json", "tables", ["points", "region"]),
        description=f"{title(data)}: a scatter plot, one point a token and head",
        shows={"points": updates.DRAWN, "region": []},
        params=[*updates.params(state), token_names.labels(data.tokens)],
    )


def _axes(data):
    return {
        "x": altair.X("magnitude:Q", title=f"{updates.MAGNITUDE} (ratio)").axis(
            tickCount=theme.ticks_across()
        ),
        "y": altair.Y(
            "token:Q",
            axis=token_names.token_axis(
                "current token (text and index)",
                data.length,
                "height",
                across=False,
                cell=False,
                **token_names.TOKENS_LEFT,
            ),
        ).scale(domain=[0, data.length], nice=False, reverse=True),
    }


def _cloud(data, points):
    legend = updates.legend()
    legend.title, legend.titleLimit = "top target (line: median, outline: middle 80 %)", 0
    named = {"magnitude": "magnitude"}
    cloud = updates.cloud(data, points, KIND, small=14, opacity=0.65, named=named)
    return cloud.encode(**_axes(data), **theme.kind_scales(legend, COLOURS))


def _region():
    colour = theme.themed(*theme.KINDS["the first token"][1:])
    line = altair.Chart(altair.NamedData("region")).mark_line(
        interpolate="linear-closed", strokeWidth=2, color=colour, aria=False
    )
    x, y = altair.X("magnitude:Q"), altair.Y("token:Q")
    return line.encode(x=x, y=y, order=altair.Order("order:Q"))


PARTS, FEWEST = 12, 5
"""Parts of the passage, at most; and points of a kind in a part, for a median."""

KIND = "datum.largest_target === 0 ? 'the first token' : 'any other token'"


def _tokens_a_part(data):
    """Tokens over which a median is taken."""
    return -(-data.length // PARTS)


def _medians(data, points):
    """A line a kind, down through the medians of its parts; wider ones of paper below."""
    step = _tokens_a_part(data)
    medians = (
        points.transform_calculate(
            kind=KIND,
            start=f"floor(datum.token / {step}) * {step}",
            middle=f"(datum.start + min(datum.start + {step}, {data.length})) / 2",
        )
        .transform_aggregate(
            middle_magnitude="median(magnitude)", n="count()", groupby=["kind", "middle"]
        )
        .transform_filter(f"datum.n >= {FEWEST}")
    )
    channels = {
        "x": altair.X("middle_magnitude:Q"),
        "y": altair.Y("middle:Q"),
        "order": altair.Order("middle:Q"),
    }
    dash = altair.StrokeDash("kind:N", legend=None).scale(
        domain=list(COLOURS), range=[[1, 0], [7, 3]]
    )
    below = medians.mark_line(strokeWidth=6, color=altair.ExprRef("paper"), aria=False)
    line = medians.mark_line(strokeWidth=2.6, aria=False)
    return [
        below.encode(**channels, detail=altair.Detail("kind:N")),
        line.encode(**channels, strokeDash=dash, color=theme.kind_scales(None, COLOURS)["color"]),
    ]


def medians(magnitude: np.ndarray, token: np.ndarray, first: np.ndarray, step: int) -> np.ndarray:
    """Medians of both kinds in each part of `step` tokens that has enough points of both.

    magnitude, token, first: [points], the last whether a point looks most at the first token
    returns: [parts, 2], of points that do and of those that do not
    """
    found = []
    for part in np.unique(token // step):
        here = token // step == part
        kinds = magnitude[here & first], magnitude[here & ~first]
        if min(map(len, kinds)) >= FEWEST:
            found.append([np.median(kind) for kind in kinds])
    return np.array(found).reshape(-1, 2)


def _guides():
    return marking.guides("marked_token", line=lambda at: theme.at(y=at))


def rows(data: PassageData, **state: int) -> dict[str, Rows]:
    return {name: updates.records(data, name, state) for name in ("points", "region")}


def seen(data: PassageData, **state: int) -> str:
    """How often heads look at the first token here, and whether their updates are shorter then."""
    columns = updates.points(data, state)
    after_first = columns["token"] > 0
    first = columns["largest_target"][after_first] == 0
    magnitude = columns["magnitude"][after_first]
    share = percent(first.mean())
    if not first.any() or first.all():
        said = f"Of the points, {share} look most at the first token."
        return f"{said} There is nothing to compare them with."
    said = f"Points that look most at the first token ({share}) have"
    here, there = float(np.median(magnitude[first])), float(np.median(magnitude[~first]))
    if max(here, there) < 1.1 * min(here, there):
        return f"{said} updates about as long as the others ({number(here)})."
    word = "shorter" if here < there else "longer"
    both = medians(magnitude, columns["token"][after_first], first, _tokens_a_part(data))
    alike = int(((both[:, 0] < both[:, 1]) == (here < there)).sum())
    places = f" Place by place, they are {word} in {alike} of {len(both)} parts of the passage."
    return (
        f"{said} {word} updates than others: median {number(here)} against "
        f"{number(there)}.{places if len(both) > 1 else ''}"
    )
