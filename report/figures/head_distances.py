"""How far from a token one head looks, over many texts, beside even attention."""

import altair

from report.figures.parts import choices, theme
from report.figures.parts.choices import Control
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.kinds.atlas.data import AtlasData
from report.text import count, percent

ASPECT, PHONE_ASPECT = 2.1, 1.15


def title(data: AtlasData) -> str:
    return "How far a head looks"


def caption(data: AtlasData) -> str:
    return (
        "A bar is the share of attention that goes so many tokens away. The line across it is what "
        "even attention would give.\nThe mean is over all tokens of "
        f"{count(data.texts['texts'], 'text')} but the first of each. The first token of a text, "
        "where many heads rest, has a bar of its own, however far it is."
    )


def use(data: AtlasData) -> str:
    return "Move the sliders, or click on a head in another figure. Point at a bar to read it."


def controls(data: AtlasData) -> list[Control]:
    return [choices.layer_control(data), choices.head_control(data)]


def chart(data: AtlasData, **state: int) -> altair.LayerChart:
    table = altair.Chart(altair.NamedData("rows"))
    x = altair.X(
        "bin:N", title="tokens away", sort=altair.EncodingSortField("place", op="min")
    ).axis(labelAngle=0, ticks=False, labelOverlap=True)
    y = altair.Y("share:Q", title="mean share of attention").axis(format=".0%", tickCount=5)
    tooltip = [
        altair.Tooltip("told:N", title="title"),
        altair.Tooltip("even:Q", title="even attention", format=".1%"),
    ]
    there = table.transform_filter("datum.share > 0.0005")
    bars = there.mark_bar(color=theme.themed(*theme.MASS.values()), aria=False)
    room = table.mark_bar(opacity=0, aria=False)  # what is pointed at where a bar is low
    whole = {"y": altair.YValue(0), "y2": altair.Y2Value(altair.ExprRef("height"))}
    even = table.mark_tick(
        color=altair.ExprRef("ink"), thickness=2, orient="horizontal", aria=False, bandSize=34
    )
    return altair.layer(
        room.encode(x=x, tooltip=tooltip, **whole),
        bars.encode(x=x, y=y, tooltip=tooltip),
        even.encode(x=x, y=altair.Y("even:Q")),
    )


def rows(data: AtlasData, **state: int) -> Rows:
    found = data.portrait("distances", state["layer"], state["head"])
    starts = found["distance"].tolist()
    shares = found["share"].tolist(), found["even"].tolist()
    named = head_label(state["layer"], state["head"])
    return [
        {
            "place": place,
            "bin": _bin(start, after),
            "share": share,
            "even": even,
            "told": f"{named} gives {percent(share, 1)} {_where(start, after)}",
        }
        for place, (start, after, share, even) in enumerate(
            zip(starts, [*starts[1:], None], *shares, strict=True)
        )
    ]


def _bin(start, after):
    if start < 0:
        return "first"
    if after is None:
        return f"{start}+"
    return str(start) if after == start + 1 else f"{start}–{after - 1}"


def _where(start, after):
    if start < 0:
        return "to the first token"
    if start == 0:
        return "to the token itself"
    if after is None:
        return f"to tokens {start} or more away"
    if after == start + 1:
        return f"to tokens {start} away"
    return f"to tokens {start} to {after - 1} away"


def seen(data: AtlasData, **state: int) -> str:
    most = max(rows(data, **state), key=lambda row: row["share"])
    return f"{most['told']}, most of all."


def alt(data: AtlasData, **state: int) -> str:
    told = "; ".join(f"{row['bin']}: {percent(row['share'])}" for row in rows(data, **state))
    return f"Bars of the share of attention by distance in tokens: {told}. {seen(data, **state)}"
