"""Which earlier heads a head's attention is made of: what its score for a token is the sum of."""

import altair
import numpy as np

from report.figures.parts import grid, marking, predicted, theme
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.figures.parts.signed_map import SIGNS
from report.kinds.prediction.data import PredictionData
from report.text import number, percent

COLUMNS = 2
ROWS = "rows/{sentence}-{chosen}-{rank}.json"

SHOWN = 12
"""Parts that have a bar of their own."""

RANKS = 11
"""Targets that the slider leads to, the one with most attention first."""

SIDES = {"key": "What the token is found by (key)", "query": "What is looked for (query)"}
"""Side of the product -> title of its panel."""


def title(data: PredictionData) -> str:
    return "What a head's attention is made of"


def left_out(data: PredictionData) -> str:
    if reason := data.reasons.get("origins"):
        return f"What scores are made of could not be measured: {reason.rstrip('.')}."
    return predicted.unmeasured(data, "what scores are made of")


def caption(data: PredictionData) -> str:
    return (
        "A bar is how far one part raises the score. It is what a part of the model wrote that "
        "raises the score of this token above the mean over all tokens that can be seen. It wrote "
        "into the state of the token (its key) "
        "or of the one that looks (its query); with the norms as they are, both sum to the score. "
        f"The {SHOWN} largest parts have bars of their own; the others, heads and feed-forward "
        "layers, together have the last one."
    )


def use(data: PredictionData) -> str:
    return (
        "The slider “Token” leads from the top target to the next. Click on the bar of a head, and "
        "figures of one head show it."
    )


def controls(data: PredictionData) -> list[Control | Switch]:
    shortest = min(sentence.rows for sentence in data.sentences)
    rank = Control(
        "rank", "Token (0 = most attention)", 0, min(RANKS, shortest) - 1, 0, seldom=True
    )
    return [*predicted.head_controls(data), rank]


def panels(data: PredictionData) -> list[str]:
    return [f"{{chosen}}: {words[0].lower()}{words[1:]}" for words in SIDES.values()]


def boxes(data: PredictionData) -> list[grid.Box]:
    width = grid.GRID_WIDTH // 2
    return [grid.Box(width / 400, grid.PHONE_WIDTH / 390, width)] * 2


def chart(data: PredictionData, panel: int = 0, **state: int) -> altair.LayerChart:
    side = list(SIDES)[panel]
    bars = altair.Chart(altair.NamedData("bars"))
    y = altair.Y("part:N", sort=altair.SortField("order"), title="written by").axis(
        domain=False, ticks=False, labelLimit=130, minExtent=102, titleX=-106
    )
    x = altair.X("value:Q", stack=None, title="in the score, above the mean (nats)").axis(
        tickCount=4, labelExpr="datum.value === 0 ? '0' : format(datum.value, '+.2~f')"
    )
    tooltip = [
        altair.Tooltip("part:N", title="written by"),
        altair.Tooltip("value:Q", title="in the score, above the mean", format="+.2f"),
        altair.Tooltip("target:N", title="token"),
    ]
    colour = altair.Color("kind:N", legend=None).scale(
        domain=["up", "down"], range=[theme.themed(*look[1:]) for look in SIGNS.values()]
    )
    frame = bars.transform_filter(marking.either(marking.HEAD)).mark_bar(
        fill=None,
        stroke=altair.ExprRef("ink"),
        strokeWidth=altair.ExprRef(f"{marking.pinned(marking.HEAD)} ? 2.8 : 1.6"),
        strokeDash=altair.ExprRef(f"{marking.pinned(marking.HEAD)} ? [1, 0] : [3, 2]"),
        aria=False,
    )
    return theme.frame(
        layered(
            # a bar of nearly nothing is told anywhere in its row
            bars.mark_rect(fill="transparent", aria=False).encode(y=y, tooltip=tooltip),
            _bar(bars).encode(x=x, y=y, color=colour, tooltip=tooltip),
            altair.Chart(altair.InlineData([{}])).mark_rule(aria=False).encode(**theme.at(x=0)),
            bars.mark_rule(opacity=0, aria=False).encode(x="least:Q", x2="most:Q"),
            frame.encode(x=x, y=y),
        ),
        theme.Source(predicted.address(data, ROWS), "tables", ["bars"], tokens=None),
        description=f"{title(data)}: {SIDES[side].lower()}",
        params=marking.marked("layer", "head"),
        walk=["column", "order"],
        title=panels(data)[panel],
    )


def _bar(table):
    coloured = table.transform_calculate(kind="datum.value < 0 ? 'down' : 'up'", column="0")
    return coloured.mark_bar(height={"band": 0.72}, aria=False)


def rows(data: PredictionData, panel: int = 0, **state: int) -> dict[str, Rows]:
    sentence, head, target = _shown(data, state)
    sides = [_bars_of(head, target, side) for side in SIDES]
    values = [bar["value"] for bars in sides for bar in bars]
    about = {"target": f"{target}  “{sentence.tokens[target].label}”"}
    # so that a length means the same in both panels
    about |= {"least": min(values), "most": max(values)}
    return {"bars": [bar | about for bar in sides[panel]]}


def _bars_of(head, target, side):
    """The largest parts, the highest first, and one for all others."""
    largest = sorted(made_of(head, target, side), key=lambda part: -abs(part[1]))
    shown, others = largest[:SHOWN], largest[SHOWN:]
    shown.sort(key=lambda part: -part[1])
    bars = [
        {
            "order": order,
            "part": part.label,
            "value": value,
            # a bar of a head can be marked; others have no layer, and cannot
            "layer": part.layer if part.kind == "head" else None,
            "head": part.head if part.kind == "head" else None,
        }
        for order, (part, value) in enumerate(shown)
    ]
    if others:
        both = {"order": len(bars), "part": f"{len(others)} other parts"}
        bars.append(both | {"value": sum(v for _, v in others), "layer": None, "head": None})
    return bars


def made_of(head, target: int, side: str) -> list[tuple]:
    """(part, how much it raises the score of a target above the mean of all) of all parts.

    head: a `report.kinds.prediction.pieces.Head` with its origins; side: "key" or "query"
    """
    origins = head.origins
    at = origins.targets.index(target)
    values = origins.by_key if side == "key" else origins.by_query
    above = values[:, at] - values.mean(1)
    parts = list(zip(origins.parts, above.tolist(), strict=True))
    position = float(origins.position[at] - origins.position.mean())
    return parts + [(Position(), position)] * bool(np.ptp(origins.position))


class Position:
    """What ALiBi adds to a score, beside the parts of the hidden states."""

    kind, label = "position", "position (ALiBi)"


def _shown(data, at):
    """The text, the head, and the token that it looks at."""
    sentence, head = predicted.chosen_head(data, at)
    share = head.probability[-1][: sentence.rows]
    target = int(np.argsort(-share, kind="stable")[at["rank"]])
    return sentence, head, max(target, head.origins.targets.start)


def seen(data: PredictionData, **state: int) -> str:
    """How far the score of the token is above the mean, and which heads make it so."""
    sentence, head, target = _shown(data, state)
    share = float(head.probability[-1][target])
    found = {side: _most(head, target, side) for side in SIDES}
    total = sum(value for _, value in made_of(head, target, "key"))
    way = "above" if total >= 0 else "below"
    return (
        f"L{head.layer}H{head.head} gives {percent(share)} of its attention to "
        f"{predicted.quoted(sentence.tokens[target].label)}, whose score is {number(abs(total))} "
        f"{way} the average. Of single parts, "
        f"{found['key']} adds most in the key, and {found['query']} in the query."
    )


def _most(head, target, side):
    part, value = max(made_of(head, target, side), key=lambda each: each[1])
    return f"{part.label} ({predicted.signed(value)})"


def alt(data: PredictionData, panel: int = 0, **state: int) -> str:
    sentence, head, target = _shown(data, state)
    side = list(SIDES)[panel]
    parts = sorted(made_of(head, target, side), key=lambda part: -abs(part[1]))
    listed = ", ".join(f"{part.label} {predicted.signed(value)}" for part, value in parts[:5])
    total = predicted.signed(sum(value for _, value in parts))
    return (
        f"Bars: {SIDES[side].lower()} when L{head.layer}H{head.head} looks at "
        f"{predicted.quoted(sentence.tokens[target].label)} in {predicted.text_name(state)}. The "
        f"largest are {listed}; all parts together {total}."
    )
