"""What a head would say of each token that it reads: the words it promotes, and those it
suppresses."""

import altair
import numpy as np

from report.figures import heads_at_step
from report.figures.parts import grid, marking, predicted, theme
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.kinds.prediction.data import PredictionData
from report.text import count, percent

ROWS = "rows/{sentence}-{chosen}.json"

WORDS = 5
"""Words of each token."""

MOST = 20
"""Tokens that are shown: of a longer text those that get most attention."""

TOKEN_ROW = 21
"""Pixels of a token."""

COLUMNS = 2
SIDES = {"promoted": "promotes", "suppressed": "suppresses"}


def title(data: PredictionData) -> str:
    return "What a head writes when it reads a token"


def left_out(data: PredictionData) -> str:
    return predicted.unmeasured(data, "what heads write")


def caption(data: PredictionData) -> str:
    return (
        "A row is a token that the head can read. With it is the share of attention that the last "
        "token gives it, beside it are the words whose logits the head would raise most, and "
        "lower most, "
        "if it gave that token all its attention. Shade is by how much, less the mean of all "
        "words. "
        f"It was measured of {count(len(data.shown_heads), 'head')}: those with the largest "
        "effects, direct or by ablation."
    )


def use(data: PredictionData) -> str:
    return "Point at a word to read its number."


def controls(data: PredictionData) -> list[Control | Switch]:
    return predicted.head_controls(data)


def panels(data: PredictionData) -> list[str]:
    return ["{chosen} promotes", "{chosen} suppresses"]


def boxes(data: PredictionData) -> list[grid.Box]:
    longest = max(sentence.rows for sentence in data.sentences)
    high = 96 + TOKEN_ROW * min(MOST, longest)
    width = grid.GRID_WIDTH // 2
    return [grid.Box(width / high, grid.PHONE_WIDTH / high, width)] * 2


def chart(data: PredictionData, panel: int = 0, **state: int) -> altair.LayerChart:
    words = altair.Chart(altair.NamedData("words"))
    shares = altair.Chart(altair.NamedData("tokens"))
    y = predicted.token_channel(altair.Y, "token that is read (text and index)", across=False)
    x = altair.X("column:O", title=f"words, the {'lowest' if panel else 'highest'} first").axis(
        labelExpr="datum.value === 0 ? 'read' : datum.label",
        labelAngle=0, domain=False, ticks=False,
    )  # fmt: skip
    x = x.scale(domain=list(range(WORDS + 1)))
    here = "datum.token === marked_token"
    marked = shares.transform_filter(marking.either(here)).mark_rect(
        fill=None,
        stroke=altair.ExprRef("ink"),
        strokeWidth=altair.ExprRef(f"{marking.pinned(here)} ? 2.6 : 1.4"),
        strokeDash=altair.ExprRef(f"{marking.pinned(here)} ? [1, 0] : [3, 2]"),
        aria=False,
    )
    share = shares.mark_text(fontSize=theme.TICK, fontWeight=600, aria=False)
    return theme.frame(
        layered(
            *cells(words, x, y, TOOLTIP),
            share.encode(x=x, y=y, text=altair.Text("share:Q", format=".0%")),
            marked.encode(x=x, y=y),
        ),
        theme.Source(
            predicted.address(data, ROWS),
            "tables",
            ["tokens", "words"],
            tokens=None,
            text=predicted.address(data, predicted.TEXT),
        ),
        description=f"{title(data)}: the words that it {list(SIDES.values())[panel]}",
        params=marking.marked("token", "layer", "head"),
        walk=["column", "order"],
        title=panels(data)[panel],
    )


TOOLTIP = [
    altair.Tooltip("said:N", title="word"),
    altair.Tooltip("value:Q", title="logit it would add", format="+.2f"),
    altair.Tooltip("read:N", title="when it reads"),
    altair.Tooltip("share:Q", title="share of attention", format=".1%"),
    altair.Tooltip("by:N", title="head"),
]


def cells(
    words: altair.Chart,
    x: altair.X,
    y: altair.Y,
    tooltip: list[altair.Tooltip],
    columns: int = WORDS + 1,
) -> list[altair.Chart]:
    """Layers of shaded words, by the fields "word" and "size", from 0 to 1; columns: across."""
    colour = altair.Color("size:Q", legend=None).scale(
        domain=[0, 1], **theme.ramp(theme.SCORE_RAMP)
    )
    light, dark = heads_at_step.turns("light"), heads_at_step.turns("dark")
    word = words.mark_text(
        fontSize=theme.TICK,
        limit=altair.ExprRef(f"width / {columns} - 4"),
        color=altair.ExprRef(
            f"datum.size >= (dark ? {dark} : {light}) === dark ? 'black' : 'white'"
        ),
        aria=False,
    )
    cell = words.mark_rect(stroke=altair.ExprRef("paper"), strokeWidth=1, aria=False)
    return [
        cell.encode(x=x, y=y, color=colour, tooltip=tooltip),
        word.encode(x=x, y=y, text=altair.Text("word:N")),
    ]


def rows(data: PredictionData, panel: int = 0, **state: int) -> dict[str, Rows]:
    sentence, head = predicted.chosen_head(data, state)
    side = list(SIDES)[panel]
    ids, by = getattr(head.writes, side), getattr(head.writes, f"{side}_by")
    share = head.probability[-1]
    both = head.writes.promoted_by, head.writes.suppressed_by
    most = max(float(np.abs(values).max()) for values in both) or 1.0
    tokens = _tokens(sentence, share)
    return {
        "tokens": [
            {
                "token": token,
                "named": predicted.named(sentence, token),
                "column": 0,
                "share": float(share[token]),
            }
            for token in tokens
        ],
        "words": [
            {
                "token": token,
                "named": predicted.named(sentence, token),
                "order": -order,
                "layer": head.layer,
                "head": head.head,
                "by": f"L{head.layer}H{head.head}",
                "read": f"{token}  “{sentence.tokens[token].label}”",
                "share": float(share[token]),
                "column": rank + 1,
                **_word(head.writes.words[int(ids[token, rank])], float(by[token, rank]), most),
            }
            for order, token in enumerate(tokens)
            for rank in range(min(WORDS, ids.shape[1]))
        ],
    }


def _word(label, value, most):
    return {
        "word": predicted.bare(label),
        "said": f"“{label}”",
        "value": value,
        "size": abs(value) / most,
    }


def _tokens(sentence, share):
    """The tokens that have a row, in the order of the text."""
    readable = np.arange(sentence.rows)
    return sorted(np.argsort(-share[readable], kind="stable")[:MOST].tolist())


def seen(data: PredictionData, **state: int) -> str:
    """What the head reads most, and what it makes of that."""
    sentence, head = predicted.chosen_head(data, state)
    share = head.probability[-1]
    token = int(np.argmax(share))
    read = predicted.quoted(sentence.tokens[token].label)
    words = {side: _first(head.writes, side, token) for side in SIDES}
    copies = ""
    if _has(head.writes, "promoted", token, sentence):
        copies = " So it copies what it reads."
    elif _has(head.writes, "suppressed", token, sentence):
        copies = " So it speaks against what it reads."
    return (
        f"From {predicted.quoted(sentence.tokens[-1].label)}, L{head.layer}H{head.head} reads "
        f"{read} most ({percent(float(share[token]))}). From that it promotes {words['promoted']} "
        f"and suppresses {words['suppressed']}.{copies}"
    )


def _has(writes, side, token, sentence):
    """Whether a token is among the words that a head promotes, or suppresses, when it reads it."""
    label = sentence.tokens[token].label
    return any(same(word, label) for word in _all(writes, side, token))


def _all(writes, side, token):
    return [writes.words[int(one)] for one in getattr(writes, side)[token]]


def _first(writes, side, token):
    found = []
    for word in _all(writes, side, token):
        if not any(same(word, other) for other in found):
            found.append(word)
    *others, last = map(predicted.quoted, found[:3])
    return f"{', '.join(others)} and {last}" if others else last


def same(one: str, other: str) -> bool:
    """Whether two tokens are one word, whatever their case and the space before them."""
    return one.strip().lower() == other.strip().lower() != ""


def alt(data: PredictionData, panel: int = 0, **state: int) -> str:
    sentence, head = predicted.chosen_head(data, state)
    share, side = head.probability[-1], list(SIDES)[panel]
    most = np.argsort(-share[: sentence.rows], kind="stable")[:3].tolist()
    said = "; ".join(
        f"of {predicted.quoted(sentence.tokens[token].label)} ({percent(float(share[token]))} of "
        f"the attention) {_first(head.writes, side, token)}"
        for token in most
    )
    return (
        f"Table of the words that L{head.layer}H{head.head} {SIDES[side]}, a row a token that it "
        f"reads in {predicted.text_name(state)}: {said}."
    )
