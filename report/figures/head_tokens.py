"""The tokens that one head looks at, and those at which it is strongest, beyond their frequency."""

import altair

from report.datasets.formats.passage import token_label
from report.figures.parts import choices, grid, theme
from report.figures.parts.choices import Control
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.figures.parts.layers import layered
from report.kinds.atlas.data import AtlasData
from report.text import count, percent, set_apart, shortened

ROWS = "rows/{layer}-{head}.json"

ROW = 26
"""Pixels of a token."""

SIDES = {"to": "Looks at", "from": "Strong at"}
LONGEST, NO_WIDTH = 16, "\u200b"


def title(data: AtlasData) -> str:
    return "Tokens of a head"


def left_out(data: AtlasData) -> str:
    return "" if data.has_examples else "Its atlas says `examples: none`, so it names no tokens."


def caption(data: AtlasData) -> str:
    return (
        "A bar is a token; its line is what is usual. Looks at: its "
        "share of the attention, and of even attention. Strong at: how surely the head looks "
        "somewhere from it, and from all tokens.\nNamed are tokens of at least 3 texts, those "
        "first whose excess over what is usual, summed over all places, is largest. The first "
        "token of each text, where many heads rest, is left out on both sides. How surely a head "
        "looks is the largest probability that it gives to another token than the first."
    )


def use(data: AtlasData) -> str:
    return "Point at a bar to read its numbers."


def controls(data: AtlasData) -> list[Control]:
    return [choices.layer_control(data), choices.head_control(data)]


def panels(data: AtlasData) -> list[str]:
    return [f"L{{layer}}H{{head}}: {words.lower()}" for words in SIDES.values()]


COLUMNS = 2


def boxes(data: AtlasData) -> list[grid.Box]:
    width, high = grid.GRID_WIDTH // 2, 60 + 8 * ROW
    return [grid.Box(width / high, grid.PHONE_WIDTH / high, width)] * 2


def chart(data: AtlasData, panel: int = 0, **state: int) -> altair.LayerChart:
    table = altair.Chart(altair.NamedData("rows"))
    name = "mean of the largest probability" if panel else "share of attention"
    y = altair.Y("word:N", title="token", sort=altair.EncodingSortField("place", op="min")).axis(
        ticks=False, domain=False, labelLimit=120
    )
    x = altair.X("value:Q", title=name).axis(format=".1~%", tickCount=5, labelFlush=True)
    tooltip = [
        altair.Tooltip("told:N", title="title"),
        altair.Tooltip("usual:Q", title="usual", format=".1%"),
        altair.Tooltip("times:N", title="seen"),
    ]
    bars = table.mark_bar(
        color=theme.themed(*theme.MASS.values()), aria=False, height={"band": 0.7}
    )
    usual = table.mark_tick(color=altair.ExprRef("ink"), thickness=2, aria=False, bandSize=18)
    drawn = layered(
        bars.encode(x=x, y=y, tooltip=tooltip), usual.encode(y=y, x=altair.X("usual:Q"))
    )
    return theme.frame(
        drawn,
        theme.Source(ROWS, "tables", ["rows"], tokens=None),
        description=f"{title(data)}: {list(SIDES.values())[panel].lower()}",
        walk=["place", "value"],
        title=panels(data)[panel],
    )


def rows(data: AtlasData, panel: int = 0, **state: int) -> dict[str, Rows]:
    return {"rows": _rows(data, panel, state)}


def _rows(data, panel, state):
    found, side = data.portrait("tokens", state["layer"], state["head"]), list(SIDES)[panel]
    named = head_label(state["layer"], state["head"])
    here = [n for n, each in enumerate(found["side"].tolist()) if each == side]
    words = [_word(data, int(found["token"][n])) for n in here]
    return [
        {
            "place": place,
            "word": _word(data, token, words[:place].count(words[place])),
            "value": value,
            "usual": float(found["usual"][n]),
            "told": _told(named, side, value, _word(data, token)),
            "times": f"{count(int(found['number'][n]), 'time')} in "
            f"{count(int(found['texts'][n]), 'text')}",
        }
        for place, n in enumerate(here)
        for token, value in [(int(found["token"][n]), float(found["value"][n]))]
    ]


def _told(named, side, value, word):
    share = percent(value, 1)
    if side == "to":
        return f"{named} gives {word} {share} of its attention beyond the first token"
    return f"at {word}, the top target of {named} gets {share}"


def _word(data, token, alike=0):
    """A token in quotation marks; two that read alike differ by spaces that have no width."""
    label = set_apart(shortened(token_label(data.word(token)), LONGEST))
    return f"“{label}”{NO_WIDTH * alike}"


def seen(data: AtlasData, **state: int) -> str:
    return " ".join(filter(None, (_most(data, panel, state) for panel in (0, 1))))


def _most(data, panel, state):
    first = next(iter(_rows(data, panel, state)), None)
    if first is None:
        return ""
    told = first["told"][:1].upper() + first["told"][1:]
    return f"{told}, where {percent(first['usual'], 1)} is usual."


def alt(data: AtlasData, panel: int = 0, **state: int) -> str:
    told = "; ".join(
        f"{row['word']} {percent(row['value'], 1)}" for row in _rows(data, panel, state)
    )
    named = head_label(state["layer"], state["head"])
    return f"Bars of tokens that {named} {'is strong' if panel else 'looks'} at: {told}."
