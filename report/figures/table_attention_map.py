"""Where every token of a table looks: the scores of one head, targets marked by their class."""

import itertools

import altair
import numpy as np

from report.figures.parts import (
    map,
    map_part,
    score_terms,
    target_classes,
    theme,
)
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.kinds.passage.data import Token
from report.kinds.table.data import TableData
from report.text import percent

STRIP = 7
"""Width in pixels of the strips along both axes."""
GAP = 3
"""Pixels between a strip and the picture."""

ASPECT, PHONE_ASPECT = 1.0, 0.8  # high, for the legend of all classes in the empty triangle
PAINTS_PIXELS = True

use, controls = map.use, map.controls


def title(data: TableData) -> str:
    return f"Attention Map of the table: {data.name}"


def caption(data: TableData) -> str:
    return (
        f"{map.explained(data)} Markers say by colour and shape what the target is to the "
        "current token; strips along the axes, what each token is: column name, delimiter (narrow) "
        f"or part of a cell. The table is written as {data.first.label}."
    )


def chart(data: TableData, **state: int) -> altair.LayerChart:
    layer, head, shade = state.values()
    return theme.frame(
        layered(
            map.layers(data, _kinds(data), offset=STRIP + 2 * GAP), *_strips(data)
        ).resolve_scale(color="independent", shape="independent"),
        theme.Source("attention/{layer}/{head}.json", "table_attention_map", map.DATASETS),
        description=f"{title(data)}: one head, current token by target token",
        params=map.params(data.first.tokens, data.attention(layer, head), shade),
        **map.looks(_kinds(data)),
        terms=score_terms.names(data),
        classes=list(target_classes.NAMES.values()),
        places=[[token.role, token.row, token.column] for token in data.first.tokens],
    )


def _kinds(data):
    """The classes that occur in the map: what a reader reads -> shape and colours."""
    visible = data.attention(0, 0).visible.mask()
    occurring = {list(target_classes.SEEN)[number] for number in np.unique(data.classes[visible])}
    return {name: look for name, look in target_classes.SEEN.items() if name in occurring}


def _class(data, current, target):
    """What a target is to a current token, as a reader reads it."""
    return list(target_classes.SEEN)[data.classes[current, target]]


def _strips(data):
    """Strips along both axes that say what each token is; delimiters are narrow, too."""
    runs = _runs(data.first.tokens)
    colour = altair.Color("role:N", legend=None).scale(
        domain=list(target_classes.ROLES),
        range=[theme.themed(light, dark) for _, light, dark in target_classes.ROLES.values()],
    )
    outer, inner = GAP + STRIP, GAP
    strips = []
    for narrow in (False, True):
        here = [run for run in runs if (run["role"] == "delimiter") == narrow]
        mark = altair.Chart(altair.InlineData(here)).mark_rect(clip=False, aria=False)
        near = inner + (STRIP - 3 if narrow else 0)
        down, across = (map_part.within(mark, length) for length in ("height", "width"))
        strips += [
            down.encode(
                **theme.place(x=-outer, x2=-near),
                y=altair.Y("first:Q"),
                y2=altair.Y2("end:Q"),
                color=colour,
            ),
            across.encode(
                **theme.place(y=f"height + {outer}", y2=f"height + {near}"),
                x=altair.X("first:Q"),
                x2=altair.X2("end:Q"),
                color=colour,
            ),
        ]
    return strips


def _runs(tokens: list[Token]) -> Rows:
    """Runs of neighbouring tokens of one part of the table: rows with role, first and end."""
    parts = itertools.groupby(tokens, lambda token: (token.role, token.row, token.column))
    runs = []
    for (role, _, _), group in parts:
        indices = [token.index for token in group]
        runs.append({"role": role, "first": indices[0], "end": indices[-1] + 1})
    return runs


def rows(data: TableData, *, dark: bool = False, **state: int) -> dict[str, Rows]:
    layer, head, shade = state.values()
    attention = data.attention(layer, head)
    markers = map.markers(attention, lambda *cell: _class(data, *cell))
    return map.rows(attention, markers, dark, shade, _kinds(data))


def alt(data: TableData, **state: int) -> str:
    """What tokens of cells give to the classes that get most."""
    layer, head = state["layer"], state["head"]
    given = {
        target_classes.named(target): data.shares(target, data.first.name)[layer, head]
        for target in target_classes.present(data)
    }
    largest = sorted(given, key=given.get, reverse=True)[:3]
    said = score_terms.listed(f"{percent(given[name])} to {name}" for name in largest)
    return (
        f"Attention map of layer {layer}, head {head} over the {data.length} tokens of the table "
        f"as {data.first.label}. On average a token of a cell with a cell above gives {said}."
    )


def seen(data: TableData, **state: int) -> str:
    """The class that gets most beyond uniform attention, of those that the head clearly prefers."""
    layer, head = state["layer"], state["head"]
    rendering = data.first.name
    present = {target: target_classes.named(target) for target in target_classes.present(data)}
    given = {target: float(data.shares(target, rendering)[layer, head]) for target in present}
    even = {target: float(data.even(target, rendering)[layer]) for target in present}
    most = max(given, key=given.get)
    liked = [target for target in given if given[target] >= max(0.1, 1.5 * even[target])]
    if not liked:
        return (
            f"This head prefers no class of tokens by much. From a cell, most goes to "
            f"{present[most]}, {percent(given[most])}, where uniform attention would give "
            f"{percent(even[most])}."
        )
    best = max(liked, key=lambda target: given[target] - even[target])
    return (
        f"From a cell, {percent(given[best])} of attention goes to {present[best]} (uniform "
        f"attention: {percent(even[best])})."
    )
