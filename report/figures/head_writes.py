"""What one head writes for words that it reads, by the weights: tokens that gain, and that lose."""

import altair
import numpy as np

from report.datasets.formats.head_writes import SHOWN, SIDES
from report.datasets.formats.passage import token_label
from report.figures import what_a_head_writes
from report.figures.parts import grid, predicted, theme
from report.figures.parts.choices import Control
from report.figures.parts.figure import Rows
from report.figures.parts.heads import HeadFindings, head_label, largest
from report.figures.parts.layers import layered
from report.kinds.atlas.beside import COPYING, SUPPRESSION
from report.kinds.atlas.data import AtlasData
from report.text import count, percent, set_apart, shortened

ROWS = "rows/{layer}-{head}.json"

ROW = 30
"""Pixels of a word."""

LONGEST, NO_WIDTH = 12, "\u200b"
COLUMNS = 2


def title(data: AtlasData) -> str:
    return "What a head writes for words that it reads"


def left_out(data: AtlasData) -> str:
    if data.copying is None:
        return (
            "What heads write for what they read was not measured; say `copying: true`, and run "
            "`freeze --copying`."
        )
    return "" if data.copying.has_words else "Its atlas says `examples: none`, so it names none."


def caption(data: AtlasData) -> str:
    about = data.copying.about
    return (
        "A row is a word that the head could read. Beside it are the tokens whose logits gain most "
        "by that, and lose most. Shade is how far they are from the mean of the vocabulary.\n"
        "This is from the weights alone: what the head makes of the word’s embedding and of what "
        "the first feed-forward layer adds to it, taken straight to the output. A head of the "
        "first layer reads the embedding. Layers between, other tokens, and whether the head would "
        f"look at the word are left out. Of {count(about['words'], 'frequent word')}, those are "
        "shown for which one token gains most clearly. A word is copied if its own token is among "
        f"the {about['tokens']} that gain most, and suppressed if it is among as many that lose "
        "most; the control is the same of every other word’s token. Tokens with a space before "
        "them and without look alike here; point at one to see which it is."
    )


def use(data: AtlasData) -> str:
    return "Move the sliders, or click on a head in another figure. Point at a token to read it."


def controls(data: AtlasData) -> list[Control]:
    top = largest(np.nan_to_num(HeadFindings(data).values(COPYING.name)))
    return [
        Control("layer", "Layer", 0, data.layers - 1, top.layer),
        Control("head", "Head", 0, data.heads - 1, top.head),
    ]


def panels(data: AtlasData) -> list[str]:
    return [f"L{{layer}}H{{head}}: tokens that {does}" for does in SIDES.values()]


def boxes(data: AtlasData) -> list[grid.Box]:
    width, high = grid.GRID_WIDTH // 2, 90 + ROW * SHOWN
    return [grid.Box(width / high, grid.PHONE_WIDTH / high, width)] * 2


def chart(data: AtlasData, panel: int = 0, **state: int) -> altair.LayerChart:
    table = altair.Chart(altair.NamedData("rows"))
    y = altair.Y("read:N", title="word", sort=altair.EncodingSortField("place", op="min")).axis(
        ticks=False, domain=False, labelLimit=90, minExtent=76
    )
    x = altair.X("column:O", title=f"tokens that {list(SIDES.values())[panel]}, most first").axis(
        labelAngle=0, domain=False, ticks=False
    )
    tooltip = [
        altair.Tooltip("told:N", title="title"),
        altair.Tooltip("by:Q", title="from the mean, in standard deviations", format="+.1f"),
    ]
    return theme.frame(
        layered(*what_a_head_writes.cells(table, x, y, tooltip, data.copying.about["tokens"])),
        theme.Source(ROWS, "tables", ["rows"], tokens=None),
        description=f"{title(data)}: {list(SIDES.values())[panel]}",
        walk=["column", "order"],
        title=panels(data)[panel],
    )


def rows(data: AtlasData, panel: int = 0, **state: int) -> dict[str, Rows]:
    """A row for each word and token; where words read alike, they differ by what has no width."""
    here, side = data.copying.readings(state["layer"], state["head"]), list(SIDES)[panel]
    read = [_bare(data, each.word) for each in here]
    most = max([abs(by) for each in here for name in SIDES for by in getattr(each, f"{name}_by")])
    named = head_label(state["layer"], state["head"])
    return {
        "rows": [
            {
                "place": place,
                "order": -place,
                "read": f"“{read[place]}”" + NO_WIDTH * read[:place].count(read[place]),
                "column": rank + 1,
                "word": _bare(data, token),
                "told": f"reading “{_shown(data, each.word)}”, {named} makes "
                f"“{_shown(data, token)}” {SIDES[side]} {_th(rank)}most",
                "by": round(float(by), 1),
                "size": round(abs(float(by)) / (most or 1.0), 3),
            }
            for place, each in enumerate(here)
            for rank, (token, by) in enumerate(
                zip(getattr(each, side), getattr(each, f"{side}_by"), strict=True)
            )
        ]
    }


def _th(rank):
    return ("", "second ", "third ")[rank] if rank < 3 else f"{rank + 1}th "


def _shown(data, token):
    """The text of a token, with the space before it, which tells " the" from "the"."""
    return set_apart(token_label(data.copying.word(token)))


def _bare(data, token):
    return set_apart(shortened(predicted.bare(token_label(data.copying.word(token))), LONGEST))


def seen(data: AtlasData, **state: int) -> str:
    """What it makes of the first word; how many words it copies, and suppresses."""
    layer, head = state["layer"], state["head"]
    named, first = head_label(layer, head), data.copying.readings(layer, head)[0]
    tokens = [*dict.fromkeys(f"“{_bare(data, token)}”" for token in first.gained)][:3]
    joined = " and ".join(filter(None, [", ".join(tokens[:-1]), tokens[-1]]))
    said = f"Reading “{_bare(data, first.word)}”, {named} raises {joined} most."
    of = HeadFindings(data)
    if not layer:
        return f"{said} As a head of the first layer, it has no score."
    copies, suppresses = (
        [percent(float(of.values(name, at)[layer, head]), 1) for at in ("corpus", "control")]
        for name in (COPYING.name, SUPPRESSION.name)
    )
    return (
        f"{said} It copies {copies[0]} of {data.copying.about['words']} words (control "
        f"{copies[1]}), and suppresses {suppresses[0]} (control {suppresses[1]})."
    )


def alt(data: AtlasData, panel: int = 0, **state: int) -> str:
    side = list(SIDES)[panel]
    told = "; ".join(
        f"“{_bare(data, each.word)}” → “{_bare(data, getattr(each, side)[0])}”"
        for each in data.copying.readings(state["layer"], state["head"])
    )
    named = head_label(state["layer"], state["head"])
    return f"Table of words that {named} could read, and tokens that {SIDES[side]} most: {told}."
