"""Do answers that look more at what is added gain more by it? Question by question."""

from itertools import cycle

import altair
import numpy as np

from report.figures.parts import answered, theme
from report.figures.parts.choices import Control
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.kinds.conditions.answers import Interval, ModelAnswers, interval
from report.text import percent, signed

ASPECT, PHONE_ASPECT = 1.6, 1.05

GROUPS = 5
"""Groups of equally many questions, by what their answers give to what is added."""

EDGE = 8
"""Pixels between the outermost points and the edges."""

LOOKS = (
    ("circle", "#c9740a", "#f0ab4f"),
    ("triangle-up", "#7d3c05", "#b5682c"),
    ("square", "#5a8fd6", "#b4d3ff"),
    ("diamond", "#20408f", "#6a8fee"),
)
"""Of the kinds of questions, in order: (shape, colour on light, colour on dark)."""


def title(data: ModelAnswers) -> str:
    return f"Attention to what is added, and what it does to the answer: {data.name}"


def left_out(data: ModelAnswers) -> str:
    return "" if data.attended else "What the answers give to what is added was not measured."


def caption(data: ModelAnswers) -> str:
    cell, many = data.attended, len(data.texts)
    about = "" if many % GROUPS == 0 else "about "
    return (
        f"A small point is a question after {cell.tokens} tokens of “{cell.label}”, a large one "
        f"the mean of {about}{many // GROUPS} questions. To the right: the share of attention that "
        "these tokens get where the answer is said, a mean over the tokens before each token of "
        "the answer, over all heads and all layers. Upwards: how much more probable it makes the "
        f"right answer. For the large points, the questions are in {GROUPS} groups of equally "
        "many, from the least attention to the most; their bars are where 95 % of the means lie "
        "when the questions are drawn again at random."
    )


def controls(data: ModelAnswers) -> list[Control]:
    return []


def chart(data: ModelAnswers, **state: str) -> altair.LayerChart:
    points = altair.Chart(altair.NamedData("rows"))
    groups = altair.Chart(altair.NamedData("groups"))
    x = altair.X("share:Q", title="share of attention on what is added, all layers")
    x = x.scale(zero=False, nice=True, padding=EDGE)
    x = x.axis(format=".1~%", tickCount=theme.ticks_across())
    y = altair.Y("difference:Q", title="difference in log probability (nats)")
    y = y.scale(nice=True, padding=EDGE).axis(tickCount=6, format="+.2~f")
    legend = altair.Legend(
        title=None,
        orient="top",
        columns=altair.ExprRef("width > 600 ? 4 : width > 420 ? 2 : 1"),
        symbolOpacity=1,
        labelLimit=0,
        offset=theme.ABOVE,
    )
    ink = {"color": altair.ExprRef("ink")}
    tooltip = [
        altair.Tooltip("question:N", title="question"),
        altair.Tooltip("kind:N", title="kind"),
        altair.Tooltip("answer:Q", title="right answer", format="d"),
        altair.Tooltip("share:Q", title="share of what is added", format=".1%"),
        altair.Tooltip("difference:Q", title="difference in nats", format="+.2f"),
    ]
    of_group = [
        altair.Tooltip("said:N", title="mean of the group (95 % interval)"),
        altair.Tooltip("share:Q", title="mean share of what is added", format=".1%"),
        altair.Tooltip("questions:Q", title="questions", format="d"),
    ]
    zero = altair.Chart(altair.InlineData([{}])).mark_rule(
        strokeWidth=1, opacity=0.6, aria=False, color=theme.themed(*theme.SOFT.values())
    )
    return theme.frame(
        layered(
            points.mark_point(filled=True, size=26, opacity=0.75, aria=False).encode(
                x=x, y=y, **theme.kind_scales(legend, _looks(data)), tooltip=tooltip
            ),
            zero.encode(**theme.at(y=0)),
            groups.mark_rule(strokeWidth=6, aria=False, color=altair.ExprRef("paper")).encode(
                x=x, y="low:Q", y2="high:Q"
            ),
            groups.mark_rule(strokeWidth=2.4, aria=False, **ink).encode(
                x=x, y="low:Q", y2="high:Q"
            ),
            groups.mark_circle(
                size=120, opacity=1, stroke=altair.ExprRef("paper"), aria=False, **ink
            ).encode(x=x, y=y, tooltip=of_group),
        ),
        theme.Source(answered.ROWS, "tables", ["rows", "groups"], tokens=None),
        description=f"{title(data)}: a point a question",
    )


def _looks(data):
    """Kind of questions -> its look."""
    return dict(zip(dict.fromkeys(data.kinds.tolist()), cycle(LOOKS), strict=False))


def rows(data: ModelAnswers, **state: str) -> dict[str, Rows]:
    share, more = _columns(data)
    names = {"question": data.texts, "kind": data.kinds, "answer": data.right_answers}
    return {
        "rows": theme.records(names | {"share": share, "difference": more}),
        "groups": [
            {
                "share": float(share[some].mean()),
                "difference": found.value,
                "low": found.low,
                "high": found.high,
                "said": answered.in_words(found, "log_probability"),
                "questions": len(some),
            }
            for some, found in _groups(share, more)
        ],
    }


def _columns(data):
    """Share of what is added and difference of each question: two float [questions]."""
    cell = data.attended
    share = data.values("share", cell.name, cell.tokens)
    return share, data.differences("log_probability", cell.name, cell.tokens)


def _groups(share, more) -> list[tuple[np.ndarray, Interval]]:
    """The questions of each group, by index, and the interval of their differences."""
    parts = np.array_split(np.argsort(share, kind="stable"), min(GROUPS, len(share)))
    return [(some, interval(more[some])) for some in parts]


def seen(data: ModelAnswers, **state: str) -> str:
    share, _ = _columns(data)
    found = data.correlation()
    ends = f"{signed(found.low)} to {signed(found.high)}"
    way = "The questions do not tell whether attention to what is added helps"
    if found.low > 0 or found.high < 0:
        side = "higher" if found.low > 0 else "lower"
        way = f"Over all questions, points farther right tend to lie {side}"
    return (
        f"{way}. What is added gets {percent(float(share.mean()), 1)} of the attention where "
        "answers are "
        f"said, from {percent(float(share.min()), 1)} to {percent(float(share.max()), 1)}. Its "
        f"rank correlation with the difference is {signed(found.value)} (95 % interval "
        f"{ends})."
    )


def alt(data: ModelAnswers, **state: str) -> str:
    share, more = _columns(data)
    listed = "; ".join(
        f"{percent(float(share[some].mean()), 1)}: {answered.in_words(found, 'log_probability')}"
        for some, found in _groups(share, more)
    )
    return (
        f"{len(share)} points, the share of attention on what is added against the difference "
        f"in log probability. Means of groups from the least to the most attention: {listed}."
    )
