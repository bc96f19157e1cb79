"""Texts as one head reads them: those in which it is strongest, and ever weaker ones."""

import altair
import numpy as np

from report.datasets.formats.passage import token_label
from report.figures.parts import choices, theme
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.figures.parts.layers import layered
from report.kinds.atlas.data import AtlasData
from report.text import percent

ASPECT, PHONE_ASPECT = 3.2, 2.0

ROWS = "rows/{layer}-{head}.json"

TEXTS = True

BEST = ("strongest", "second", "third")
STRONGER_THAN = (90, 70, 50, 30, 10)


def title(data: AtlasData) -> str:
    return "Texts as a head reads them"


def left_out(data: AtlasData) -> str:
    return "" if data.has_examples else "Its atlas says `examples: none`, so it shows no texts."


def caption(data: AtlasData) -> str:
    text = data.texts
    allowed = f" They may be used under {text['license']}." if text.get("license") else ""
    return (
        "A point is a text, by the strength of the head. The text in the ring stands below.\n"
        "How surely a head looks from a token is the largest probability that it gives to another "
        "token than the first of the text, its top target here; its strength in a text is the mean "
        f"of that. The points are {len(data.portraits['sample']['text'])} texts, evenly spread "
        f"over all {text['texts']:,}; the three in which the head is strongest are taken of all. A "
        "part of a long text is shown, where the head is strongest. What a head does in its "
        f"strongest texts is often not what it does in most.{allowed}"
    )


def use(data: AtlasData) -> str:
    return (
        "Choose a text. The darker a token, the more surely the head looks from it. Point at a "
        "token, or press the arrow keys, to see at which one."
    )


def controls(data: AtlasData) -> list[Control | Switch]:
    options = {name: name for name in BEST} | {
        f"above{each}": f"above {each} % of texts" for each in STRONGER_THAN
    }
    return [
        choices.layer_control(data),
        choices.head_control(data),
        Switch("example", "Text", options, BEST[0]),
    ]


def chart(data: AtlasData, **state: int | str) -> altair.LayerChart:
    table = altair.Chart(altair.NamedData("rows"))
    x = altair.X("above:Q", title="texts that are weaker").axis(format=".0%", tickCount=5)
    x = x.scale(domain=[0, 1])
    y = altair.Y("score:Q", title="strength").axis(format=".0%", tickCount=4)
    y = y.scale(zero=True)
    tooltip = [
        altair.Tooltip("told:N", title="title"),
        altair.Tooltip("begins:N", title="begins"),
    ]
    points = table.mark_circle(
        size=46, opacity=0.8, color=theme.themed(*theme.MASS.values()), aria=False
    )
    chosen = altair.Chart(altair.NamedData("chosen")).transform_filter("datum.example === example")
    ring = chosen.mark_point(size=150, strokeWidth=2, color=altair.ExprRef("ink"), aria=False)
    return theme.frame(
        layered(points.encode(x=x, y=y, tooltip=tooltip), ring.encode(x=x, y=y)),
        theme.Source(ROWS, "tables", ["rows", "chosen", "tokens"], tokens=None),
        description=f"{title(data)}: a point a text, by how strong the head is in it",
        params=[altair.param(name="example", value=state["example"])],
        walk=["above", "score"],
    )


def rows(data: AtlasData, **state: int | str) -> dict[str, Rows]:
    here = state["layer"], state["head"]
    examples, scores = data.examples(*here), data.scores(*here)
    order = sorted(scores.values())
    chosen = [(slot, _in_slot(examples, slot)) for slot in controls(data)[-1].options]
    return {
        "rows": [
            {
                "above": sum(each < score for each in order) / len(order),
                "score": score,
                "told": f"the top target of {head_label(*here)} gets {percent(score)}, on average",
                "begins": f"text {number}",
            }
            for number, score in scores.items()
        ],
        "chosen": [
            {
                "example": slot,
                "above": example.above / 100,
                "score": example.score,
                "number": example.text,
                "start": example.start,
            }
            for slot, example in chosen
        ],
        "tokens": [
            {
                "example": slot,
                "word": token_label(word),
                "strength": round(float(strength), 2),
                "target": int(target) - example.start,
            }
            for slot, example in chosen
            for word, strength, target in zip(
                example.words, example.strength, example.target, strict=True
            )
        ],
    }


def _in_slot(examples, slot):
    """The text of a choice; where a small corpus has none for it, the one that is nearest."""
    if slot in BEST:
        best = [each for each in examples if each.best]
        return best[min(BEST.index(slot), len(best) - 1)]
    wanted = int(slot.removeprefix("above"))
    return min(examples, key=lambda each: (abs(each.above - wanted), each.best))


def seen(data: AtlasData, **state: int | str) -> str:
    example = _in_slot(data.examples(state["layer"], state["head"]), state["example"])
    middle = float(np.median([*data.scores(state["layer"], state["head"]).values()]))
    named = head_label(state["layer"], state["head"])
    return (
        f"In text {example.text}, {named} gives its top target, apart from the first token, "
        f"{percent(example.score)} on average. In half of the texts, {percent(middle)} or less."
    )
