"""Where every token of the passage looks: the scores of one head, the top targets marked."""

import altair
import numpy as np

from report.datasets.formats.attention import of_regions
from report.figures.parts import choices, map, score_terms, theme
from report.figures.parts.figure import Rows
from report.kinds.passage.data import PassageData
from report.text import percent

ASPECT = 1.0
PHONE_ASPECT = 0.9
PAINTS_PIXELS = True
"""`rows` paints with colours of its own, so it must be told `dark`."""


def title(data: PassageData) -> str:
    return "Attention Map"


caption, use = map.explained, map.use


def controls(data: PassageData) -> list[choices.Control | choices.Switch]:
    *places, shade = map.controls(data)
    return [*places, *map.divided_by(data), shade]


def _shown(data, layer, head, shade, by=map.TOKENS):
    """The attention of tokens or of regions, their first tokens, None of tokens; and the shade."""
    attention = data.attention(layer, head)
    if by == map.TOKENS:
        return attention, None, shade
    return of_regions(attention, data.regions[by]), data.regions[by], "probability"


def _params(data, state):
    attention, firsts, shade = _shown(data, **state)
    texts = None
    if firsts is not None:
        ends = [*firsts[1:], data.length]
        named = zip(map.names(data.tokens, firsts), firsts, ends, strict=True)
        texts = [text for text, a, b in named for _ in range(a, b)]
    by = {"by": state["by"]} if data.regions else {}
    return [*map.params(data.tokens, attention, shade, texts), *choices.params(by)]


def chart(data: PassageData, **state: int) -> altair.LayerChart:
    regions = {
        by: {"firsts": firsts, "texts": map.names(data.tokens, firsts)}
        for by, firsts in data.regions.items()
        if len(firsts) < data.length
    }
    return theme.frame(
        map.layers(data, by=state.get("by", map.TOKENS)),
        theme.Source("attention/{layer}/{head}.json", "attention_map", map.DATASETS),
        description=title(data) + ": one head, current token by target token",
        params=_params(data, state),
        **map.looks(),
        terms=score_terms.names(data),
        **({"regions": regions} if regions else {}),
    )


def rows(data: PassageData, *, dark: bool = False, **state: int) -> dict[str, Rows]:
    attention, firsts, shade = _shown(data, **state)
    markers = map.markers(attention, firsts=firsts)
    rows = map.rows(attention, markers, dark, shade)
    return rows if firsts is None else rows | {"edge": []}


def alt(data: PassageData, **state: int) -> str:
    layer, head = state["layer"], state["head"]
    attention = data.attention(layer, head)
    itself = np.diagonal(attention.probability)[1:].mean()
    first = attention.probability[1:, 0].mean()
    marks = attention.marker_count[1:].mean()
    return (
        f"Attention map of layer {layer}, head {head} over {data.length} tokens, "
        f"{_shape(attention.visible)}. "
        f"On average a token gives {percent(itself)} of its probability to itself and "
        f"{percent(first)} to the first token. On average {marks:.1f} targets a row are marked: "
        "the fewest that together hold half of its probability, at most 11."
    )


def _shape(visible):
    if visible.window:
        where = "below" if visible.backward else "around"
        return f"a band of {visible.window} tokens {where} the diagonal"
    if not visible.backward:
        return "a square"
    return "a lower triangle"


def seen(data: PassageData, **state: int) -> str:
    """The habit that the markers show, if more than half of the tokens have it."""
    layer, head = state["layer"], state["head"]
    attention = data.attention(layer, head)
    target, probability = attention.largest_targets[:, 0], attention.probability
    token = np.arange(data.length)
    habits = {
        "the first token": (target[1:] == 0, probability[1:, 0], "down the left edge"),
        "the token itself": (
            (target == token)[1:],
            probability.diagonal()[1:],
            "along the diagonal",
        ),
        "the token just before": (
            (target == token - 1)[1:],
            probability.diagonal(-1),
            "just below the diagonal",
        ),
    }
    if not data.causal:
        after = (target == token + 1)[:-1], probability.diagonal(1), "just above the diagonal"
        habits["the token just after"] = after
    shares = {what: float(here.mean()) for what, (here, _, _) in habits.items()}
    most = max(shares, key=shares.get)
    if not shares[most]:
        places = score_terms.listed(list(habits))
        places = places[0].upper() + places[1:]
        return f"This head has no habit of place. {places} are no top targets after token 0."
    if shares[most] <= 0.5:
        others = score_terms.listed(what for what in habits if what != most)
        return (
            f"This head has no single habit of place: most often, {most} "
            f"({percent(shares[most])} of tokens). {others[0].upper()}{others[1:]} are the top "
            "targets of no more."
        )
    _, given, where = habits[most]
    return (
        f"For {percent(shares[most])} of the tokens, this head looks most at {most}. "
        f"On average, {most} gets {percent(given.mean())} of the probability. "
        f"The markers lie {where}."
    )
