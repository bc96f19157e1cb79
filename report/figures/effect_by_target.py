"""What was looked at, beside what mattered: one head's attention, and how much of its effect comes
from each token."""

from typing import Any

import altair
import numpy as np

from report.figures.parts import (
    cells,
    grid,
    map_part,
    marking,
    predicted,
    raster,
    score_terms,
    shading,
    signed_map,
    theme,
    token_names,
)
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.kinds.prediction.data import PredictionData, Sentence
from report.kinds.prediction.pieces import Head
from report.text import percent

COLUMNS = 2
PAINTS_PIXELS = True
"""`rows` paints with colours of its own, so it must be told `dark`."""

DATASETS = ["map", "markers", "cursor", "no_shade"]

HALF = 0.5
"""The fewest targets that together have this part of a row are marked, at most `MOST_MARKED`."""

MOST_MARKED = 11

FAINTEST_SCALE = 0.1
"""Colours of a head run at least to this part of the largest effect of any head on the text, so
that a head that does little looks like it."""


def title(data: PredictionData) -> str:
    return "What was looked at, and what mattered"


def caption(data: PredictionData) -> str:
    return (
        "A row is a current token, a column a target. Both maps are of one head: the token of a "
        "row predicts (query), and may look at those of the columns (keys). The first map is the "
        "attention; markers are on the top targets, the "
        "fewest that together hold half of the probability. The second is what of the head's "
        "direct effect comes from each token; marks that point up or down are on the tokens with "
        "the most, the fewest that together make up half of all that speaks for and against. "
        f"{predicted.explanation(data)} A token that is looked at much may matter little."
    )


def use(data: PredictionData) -> str:
    return (
        "Point at a cell, or use the arrow keys, to read both tokens, the probability and the "
        "effect; the other map marks the same row and column."
    )


def controls(data: PredictionData) -> list[Control | Switch]:
    """The text, and the head with the largest direct effect on the first one."""
    first = data.sentences[0]
    values = first.heads[-1] if first.asks else first.heads.mean(0)
    layer, head = np.unravel_index(int(np.argmax(np.abs(values))), values.shape)
    return [
        *predicted.texts(data),
        Control("layer", "Layer", 0, data.layers - 1, int(layer)),
        Control("head", "Head", 0, data.heads - 1, int(head)),
    ]


def panels(data: PredictionData) -> list[str]:
    return ["Looked at", "Mattered"]


def boxes(data: PredictionData) -> list[grid.Box]:
    return grid.equal_boxes(2, 2, 0.98, 0.9)


def chart(data: PredictionData, panel: int = 0, **state: int) -> altair.LayerChart:
    values = state
    sentence, head = _shown(data, values)
    low, high = _ends(panel, sentence, head)
    return theme.frame(
        _map(panel),
        theme.Source(
            predicted.address(data, "head/{sentence}/{layer}/{head}.json"),
            ("looked_at", "mattered")[panel],
            DATASETS,
            tokens=predicted.address(data, predicted.TEXT),
        ),
        description=f"{title(data)}: {panels(data)[panel].lower()}, current token by target token",
        params=[
            token_names.labels(sentence.tokens),
            *marking.marked("token", "target"),
            altair.param(name="size", value=sentence.rows),
            altair.param(name="shade_low", value=low),
            altair.param(name="shade_high", value=high),
            altair.param(name="legend_width", expr="clamp(width * 0.28, 100, 190)"),
        ],
        **_looks(panel),
        labels=[_labels(text) for text in data.sentences],
        asked=[asked(text) for text in data.sentences],
        scales=[_least_scale(text) for text in data.sentences],
    )


def _looks(panel: int) -> dict[str, Any]:
    """What the page's script paints with: entries of the specification's usermeta."""
    kinds = signed_map.SIGNS if panel else theme.KINDS
    ramp = signed_map.RAMP if panel else theme.SCORE_RAMP
    return {
        "ramp": ramp,
        "kinds": {kind: list(look) for kind, look in kinds.items()},
        "paper": theme.PAPER,
    }


def _map(panel: int) -> altair.LayerChart:
    """A map without its frame; params: size, shade_low, shade_high, legend_width, and marks."""
    kinds = signed_map.SIGNS if panel else theme.KINDS
    marks = "on the prediction" if panel else "top targets"
    return layered(
        cells.picture(),
        _legend(panel),
        theme.written(
            f"'{'direct effect (logits)' if panel else 'probability'}'",
            map_part.LEGEND_WITHIN,
            0,
            align="left",
            baseline="top",
            fontWeight=500,
            aria=False,
        ),
        cells.guides("size", True),
        *_column(),
        cells.markers("size", True, kinds, legend={"title": marks}),
        cells.cursor(),
    ).resolve_scale(color="independent", shape="independent")


def _column():
    """Lines through the column of the target that is pointed at or pinned in any map."""

    def column(token):
        return theme.at(x=f"{token} + 0.5", y=token, y2="size")

    return marking.guides("marked_target", column=column)


def _legend(panel):
    labels = {"format": "+.2~f", "tickCount": 3}
    if not panel:
        labels = {"values": shading.PROBABILITIES, "labelExpr": "format(exp(datum.value), '~%')"}
    ramp = signed_map.RAMP if panel else theme.SCORE_RAMP
    return cells.shades(ramp, **cells.legend_place(True, 0), title=" ", **labels)


def _shown(data, at):
    """The text and the head at a state."""
    sentence = predicted.text_of(data, at)
    return sentence, sentence.head(at["layer"], at["head"])


def _labels(sentence):
    """The texts of tokens on axes, as a chart's param has them."""
    return token_names.labels(sentence.tokens).param.value


def asked(sentence: Sentence) -> list[str]:
    """What each row asks for."""
    return [_words(sentence, row) for row in range(sentence.rows)]


def _words(sentence, row):
    target, other = sentence.target(row), sentence.other(row)
    than = f", not {predicted.of_word(other)}" if other else ""
    return f"{predicted.of_word(target)}{than}"


def _least_scale(sentence):
    return FAINTEST_SCALE * float(np.abs(sentence.heads).max())


def rows(
    data: PredictionData, panel: int = 0, *, dark: bool = False, **state: int
) -> dict[str, Rows]:
    sentence, head = _shown(data, state)
    low, high = _ends(panel, sentence, head)
    values, seen_ = _values(panel, head), np.tri(len(head.effect), dtype=bool)
    ramp = _looks(panel)["ramp"]["dark" if dark else "light"]
    picture = raster.raster(np.where(seen_, values, -np.inf), low, high, ramp)
    return {
        "map": [{"image": raster.data_url(picture)}],
        "markers": markers(panel, head),
        "cursor": [],
        "no_shade": [],
    }


def _values(panel, head):
    """What the shade of each cell says, float [rows, rows]."""
    size = len(head.effect)
    if panel:
        return head.effect[:, :size]
    return np.log(np.maximum(head.probability[:, :size], shading.FAINTEST))


def _ends(panel, sentence, head: Head) -> tuple[float, float]:
    """Between which values the colours run."""
    if not panel:
        return float(np.log(shading.FAINTEST)), 0.0
    most = max(float(np.abs(head.effect).max()), _least_scale(sentence)) or 1.0
    return -most, most


def markers(panel: int, head: Head) -> Rows:
    """The marked cells: rows with current_token, target_token and kind."""
    found = []
    for row in range(len(head.effect)):
        values = head.effect[row] if panel else head.probability[row]
        for target in top(np.abs(values[: row + 1])):
            kind = signed_map.AGAINST if values[target] < 0 else signed_map.FOR
            found.append(
                {
                    "current_token": row,
                    "target_token": target,
                    "kind": kind if panel else score_terms.kind(row, target),
                }
            )
    return found


def top(values: np.ndarray) -> list[int]:
    """The fewest places of values, none below 0, that together have `HALF` of their sum."""
    order = np.argsort(-values, kind="stable")[:MOST_MARKED]
    total, found = float(values.sum()), []
    reached = 0.0
    for place in order.tolist():
        if reached >= HALF * total:
            break
        found.append(place)
        reached += float(values[place])
    return found


def seen(data: PredictionData, **state: int) -> str:
    """What the last row looks at most, and what of it matters most; of a passage, how often these
    are one token."""
    sentence, head = _shown(data, state)
    if not sentence.asks:
        return _seen_in_passage(head)
    share, effect = head.probability[-1], head.effect[-1]
    looked, mattered = int(np.argmax(share)), int(np.argmax(np.abs(effect)))
    last = predicted.quoted(sentence.tokens[sentence.rows - 1].label)
    total = predicted.signed(float(effect.sum()))
    said = (
        f"From {last}, L{head.layer}H{head.head} looks most at {_token(sentence, looked)}, with "
        f"{percent(float(share[looked]))} of the probability"
    )
    if looked == mattered:
        return (
            f"{said}. That token also matters most: from it comes "
            f"{predicted.signed(effect[looked])} of a direct effect of {total}."
        )
    return (
        f"{said}; another matters more. From that comes {predicted.signed(effect[looked])} of a "
        f"direct effect of {total}. What matters most is {_token(sentence, mattered)}, "
        f"{predicted.signed(effect[mattered])} with {percent(float(share[mattered]))}."
    )


def _seen_in_passage(head):
    if len(head.effect) == 1:
        return "One token predicts here, the first, and it sees no other."
    looked, mattered = head.probability.argmax(1), np.abs(head.effect).argmax(1)
    same = float(np.mean(looked[1:] == mattered[1:]))
    first = float(np.mean(looked[1:] == 0))
    return (
        f"For {percent(same)} of the tokens, what L{head.layer}H{head.head} looks at most is also "
        f"what matters most. The first token is what it looks at most for {percent(first)}, and "
        f"what matters most for {percent(float(np.mean(mattered[1:] == 0)))}."
    )


def _token(sentence, token):
    return f"{predicted.quoted(sentence.tokens[token].label)} (token {token})"


def alt(data: PredictionData, panel: int = 0, **state: int) -> str:
    sentence, head = _shown(data, state)
    values = head.effect[-1] if panel else head.probability[-1]
    most = np.argsort(-np.abs(values), kind="stable")[:3].tolist()
    listed = ", ".join(
        f"{_token(sentence, token)} "
        f"{predicted.signed(values[token]) if panel else percent(float(values[token]))}"
        for token in most
    )
    what = "direct effect by target token" if panel else "attention"
    return (
        f"Map of the {what} of layer {head.layer}, head {head.head}, over {sentence.rows} tokens "
        f"of {predicted.text_name(state)}. In its last row most is at: {listed}."
    )
