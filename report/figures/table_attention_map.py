"""Where every token of a table looks: the scores of one head, targets marked by their class."""

import itertools

import altair
import numpy as np

from report.figures.parts import choices, map, raster, score_terms, target_classes, theme
from report.figures.parts.target_classes import left_out  # noqa: F401 (a figure has it)
from report.text import percent

ASPECT = 1.0
PHONE_ASPECT = 0.8  # high, for the legend of all classes in the empty triangle
PAINTS_PIXELS = True
"""`rows` paints with colours of its own, so it must be told `dark`."""

STRIP = 7
"""Pixels across of the strips along both axes."""
GAP = 3
"""Pixels between a strip and the picture."""


def title(data):
    return "Attention Map of the table"


def caption(data):
    return (
        f"The table as {data.first.label}. {map.explained(data)} Markers say by colour and shape "
        "what the target is to the current token; the strips along both axes say what each token "
        "is: the name of a column, a delimiter (narrow) or a part of a cell."
    )


def use(data):
    return map.use(data)


def controls(data):
    return [choices.layer_control(data), choices.head_control(data)]


def chart(data, **state):
    target_classes.check(data)
    at = choices.at_state(controls(data), state)
    low, high = map.score_range(data.attention(*(control.value for control in at)))
    return theme.frame(
        altair.layer(
            map.layers(data, _kinds(data), offset=STRIP + 2 * GAP), *_strips(data)
        ).resolve_scale(color="independent", shape="independent"),
        name="table_attention_map",
        description=f"{title(data)}: scores of one head, current token by target token",
        controls=at,
        url="attention/{layer}/{head}.json",
        decode="table_attention_map",
        datasets=["map", "markers", "edge", "cursor", "no_score"],
        params=map.params(data.first.tokens, low, high),
        **map.looks(_kinds(data)),
        terms=score_terms.names(data),
        classes=list(target_classes.NAMES.values()),
        places=[[token.role, token.row, token.column] for token in data.first.tokens],
    )


def _kinds(data):
    """The classes that occur in the map: what a reader reads -> shape and colours."""
    visible = data.attention(0, 0).visible.mask()
    found = {list(target_classes.SEEN)[number] for number in np.unique(data.classes[visible])}
    return {name: look for name, look in target_classes.SEEN.items() if name in found}


def _class(data, current, target):
    """What a target is to a current token, as a reader reads it."""
    return list(target_classes.SEEN)[data.classes[current, target]]


def _strips(data):
    """What each token is, along both axes; delimiters are narrow, besides their colour."""
    runs = _runs(data.first.tokens)
    colour = altair.Color("role:N", legend=None).scale(
        domain=list(target_classes.ROLES),
        range=[theme.themed(light, dark) for _, light, dark in target_classes.ROLES.values()],
    )
    outer, inner = GAP + STRIP, GAP
    found = []
    for narrow in (False, True):
        here = [run for run in runs if (run["role"] == "delimiter") == narrow]
        mark = altair.Chart(altair.InlineData(here)).mark_rect(clip=False, aria=False)
        near = inner + (STRIP - 3 if narrow else 0)
        found += [
            mark.encode(
                x=altair.value(-outer),
                x2=altair.value(-near),
                y="first:Q",
                y2="end:Q",
                color=colour,
            ),
            mark.encode(
                y=altair.value(altair.ExprRef(f"height + {outer}")),
                y2=altair.value(altair.ExprRef(f"height + {near}")),
                x="first:Q",
                x2="end:Q",
                color=colour,
            ),
        ]
    return found


def _runs(tokens):
    """Neighbouring tokens of one part of the table: list of dicts with role, first, end."""
    parts = itertools.groupby(tokens, lambda token: (token.role, token.row, token.column))
    found = []
    for (role, _, _), group in parts:
        indices = [token.index for token in group]
        found.append({"role": role, "first": indices[0], "end": indices[-1] + 1})
    return found


def rows(data, *, dark=False, **state):
    target_classes.check(data)
    attention = data.attention(*choices.values(controls(data), state).values())
    low, high = map.score_range(attention)
    shades = "dark" if dark else "light"
    picture = raster.raster(attention.capped, low, high, theme.SCORE_RAMP[shades])
    return {
        "map": [{"image": raster.data_url(picture)}],
        "markers": [
            {
                "current_token": current,
                "target_token": int(target),
                "kind": _class(data, current, target),
            }
            for current, count in enumerate(attention.marker_count)
            for target in attention.largest_targets[current, :count]
        ],
        "edge": map.edge(attention.visible),
        "cursor": [],
        "no_score": [],
    }


def alt(data, **state):
    """Alt text that says what the head's tokens of cells give to each class."""
    layer, head = choices.values(controls(data), state).values()
    given = {
        name: data.shares(target, data.first.name)[layer, head]
        for target, name in target_classes.present(data).items()
    }
    largest = sorted(given, key=given.get, reverse=True)[:3]
    said = score_terms.listed(f"{given[name]:.0%} to {name}" for name in largest)
    return (
        f"Attention map of layer {layer}, head {head} over the {data.length} tokens of the table "
        f"as {data.first.label}. On average a token of a cell with a cell above gives {said}."
    )


def seen(data, **state):
    """The class that the head prefers most, as far as it gets a tenth of the attention."""
    layer, head = choices.values(controls(data), state).values()
    rendering = data.first.name
    present = {each: target_classes.named(each) for each in target_classes.present(data)}
    given = {each: float(data.shares(each, rendering)[layer, head]) for each in present}
    even = {each: float(data.even(each, rendering)[layer]) for each in present}
    most = max(given, key=given.get)
    liked = [each for each in given if given[each] >= max(0.1, 1.5 * even[each])]
    if not liked:
        return (
            f"This head prefers no class of tokens by much: from a cell, most goes to "
            f"{present[most]}, {percent(given[most])}, where even attention would give "
            f"{percent(even[most])}."
        )
    best = max(liked, key=lambda each: given[each] / max(even[each], 1e-9))
    return (
        f"From a cell, this head gives {percent(given[best])} of its attention to {present[best]}, "
        f"where even attention would give {percent(even[best])}."
    )
