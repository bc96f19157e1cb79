"""What attention maps share: the picture of one head's scores, its legend, guides and cursor, and
what is said of it: how to read one, and what a reader can do with it."""

from collections.abc import Callable, Iterable, Sequence

import altair

from report.datasets.formats.attention import DecodedAttention
from report.datasets.formats.passage import visible
from report.datasets.formats.visible import Visible
from report.figures.parts import (
    cells,
    choices,
    map_part,
    marking,
    raster,
    score_terms,
    shading,
    theme,
    token_names,
)
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.kinds.passage.data import PassageData, Token

DATASETS = ["map", "markers", "edge", "cursor", "no_shade"]
"""Names of the datasets of a map, see `rows`."""


TOKENS = "tokens"


def divided_by(data: PassageData) -> list[Switch]:
    """What rows and columns are, if the passage is divided by anything else than tokens."""
    ways = {TOKENS: TOKENS} | {by: by for by in data.regions}
    switch = Switch("by", "Rows and columns", ways, TOKENS, look=True)
    return [switch] if data.regions else []


def names(tokens: Sequence[Token], firsts: Sequence[int]) -> list[str]:
    """What regions are called; firsts: their first tokens."""
    ends = [*firsts[1:], len(tokens)]
    texts = ("".join(map(_written, tokens[a:b])) for a, b in zip(firsts, ends, strict=True))
    texts = [visible(text.strip()) for text in texts]
    labels = [text or tokens[a].name for a, text in zip(firsts, texts, strict=True)]
    return [token_names.on_axis(label) for label in labels]


def _written(token):
    if not token.part:
        return token.text
    return token.part["of"] if token.part["number"] == 1 else ""


def controls(data: choices.Heads) -> list[Control | Switch]:
    """Layer, head, and what the shade of a cell tells."""
    shade = Switch("shade", "Shade", shading.SHADES, "probability", look=True, seldom=True)
    return [choices.layer_control(data), choices.head_control(data), shade]


SHAPED = 320
"""Rows whose markers are shapes in a still picture, at most."""


def layers(
    data: PassageData, kinds: cells.Kinds = theme.KINDS, offset: int = 0, by: str = TOKENS
) -> altair.LayerChart:
    """The chart of a map, without its frame.

    kinds: of targets, for the markers
    offset: pixels between the picture and its axes
    by: of `divided_by`, what it opens at
    """
    size, causal = data.length, data.causal
    of_regions = OF_REGIONS if data.regions else {}
    if by != TOKENS:
        of_regions = of_regions | {"span": SPAN}
    return layered(
        cells.picture(),
        _shade_legend(causal),
        *([_shade_title()] if causal else []),
        _edge(),
        cells.guides(size, causal),
        cells.markers(None, causal, kinds, offset, **of_regions),
        cells.cursor(),
    ).resolve_scale(color="independent", shape="independent")


def looks(kinds: cells.Kinds = theme.KINDS) -> dict[str, dict]:
    """What the page's script needs to draw the map: entries of the specification's usermeta."""
    looks = {kind: list(look) for kind, look in kinds.items()}
    return {"ramp": theme.SCORE_RAMP, "kinds": looks, "paper": theme.PAPER}


KIND = "by == 'tokens' ? datum.label : replace(datum.label, 'token', slice(by, 0, -1))"
"""Expression: what the legend calls a kind of target, where `divided_by` may stand at "words"."""

OF_REGIONS = {
    "legend": {"title": cells.TOP, "labelExpr": KIND},
    "named": "(text, index of token)",
}
"""Of the markers and axes of a map of tokens or regions."""

SPAN = "(datum.span > 1 ? 0.6 * datum.span : 1)"
"""Expression: how many cells of a token the marker of a region is as large as."""


def params(
    tokens: Iterable[Token],
    attention: DecodedAttention,
    shade: str,
    texts: Sequence[str] | None = None,
) -> list[altair.Parameter]:
    """The params of a map of tokens that shows one head in one of `shading.SHADES`.

    texts: what axes call each token, if by its region
    """
    _, (low, high) = shading.shaded(attention, shade)
    return [
        altair.param(name=token_names.LABELS, value=texts) if texts else token_names.labels(tokens),
        *marking.marked("token"),
        altair.param(name="shade", value=shade),
        altair.param(name="shade_low", value=low),
        altair.param(name="shade_high", value=high),
        *map_part.params(attention.visible),
    ]


def _shade_legend(causal):
    return cells.shades(
        theme.SCORE_RAMP,
        **cells.legend_place(causal, 0, part=True),
        title=" " if causal else "shade",  # where there is room, the title follows the switch
        values=altair.ExprRef(f"shade == 'probability' ? {shading.PROBABILITIES} : null"),
        labelExpr="shade == 'probability' ? format(exp(datum.value), '~%') : "
        "format(datum.value, '.1f')",
        tickCount=3,
    )


def _shade_title():
    shown = " : ".join(f"shade == '{name}' ? '{title}'" for name, title in shading.SHADES.items())
    style = {"align": "left", "baseline": "top", "fontWeight": 500, "aria": False}
    # Vega would make room for a mark beside the plot: there the page's script writes it
    shown = f"aside ? '' : {shown}"
    return theme.written(f"{shown} : ''", map_part.LEGEND_LEFT, 0, **style)


def _edge():
    """A line where a sliding window ends: cells beyond it are not seen, and have no score."""
    line = altair.Chart(altair.NamedData("edge")).mark_line(
        strokeWidth=1, opacity=0.45, color=altair.ExprRef("ink"), clip=True, aria=False
    )
    x, y = altair.X("column:Q"), altair.Y("row:Q")
    return line.encode(x=x, y=y, order=altair.Order("order:Q"))


def markers(
    attention: DecodedAttention,
    kind: Callable[[int, int], str] = score_terms.kind,
    firsts: Sequence[int] | None = None,
) -> Rows:
    """The marked cells: rows with current_token, target_token and kind.

    kind: what a target is to a current token
    firsts: of regions, their first tokens: then a marker is in the middle of their tokens, and has
        the number of tokens of the shorter one, "span"
    """
    size = len(attention.marker_count)
    tokens = range(size) if firsts is None else firsts
    ends = [*tokens[1:], size]
    length = {a: b - a for a, b in zip(tokens, ends, strict=True)}
    middle = {a: a if b == 1 else a + (b - 1) / 2 for a, b in length.items()}
    return [
        {
            "current_token": middle[current],
            "target_token": middle[target],
            "kind": kind(current, target),
        }
        | ({} if firsts is None else {"span": min(length[current], length[target])})
        for current in tokens
        for target in attention.largest_targets[current, : attention.marker_count[current]].tolist()
    ]


def rows(
    attention: DecodedAttention,
    markers: list[dict],
    dark: bool,
    shade: str,
    kinds: cells.Kinds = theme.KINDS,
) -> dict[str, list[dict]]:
    """The rows of the datasets of a map.

    Of a long passage, whose markers are too many and too small to be shapes, the picture has them.

    markers: dicts with current_token, target_token, kind; dark: for a dark page; shade: one of
    `shading.SHADES`; kinds: of the markers
    """
    values, (low, high) = shading.shaded(attention, shade)
    ramp = theme.SCORE_RAMP["dark" if dark else "light"]
    picture = raster.raster(raster.pooled(values, attention.probability), low, high, ramp)
    size, marked = len(values), len({each["current_token"] for each in markers})
    if marked > SHAPED:
        colours = {kind: look[1 + dark] for kind, look in kinds.items()}
        raster.stamp(picture, markers, colours, size)
    return {
        "map": [{"image": raster.data_url(picture)}],
        "markers": markers if marked <= SHAPED else [],
        "edge": edge(attention.visible),
        "cursor": [],
        "no_shade": [],
    }


def edge(visible: Visible) -> list[dict[str, int]]:
    """The corners of the cells at which a window begins: dicts with column, row, order."""
    if not visible.window:
        return []
    firsts = enumerate(visible.first.tolist())
    corners = [(first, row) for i, first in firsts for row in (i, i + 1)]
    return [{"column": c, "row": r, "order": n} for n, (c, r) in enumerate(corners)]


def explained(data: PassageData) -> str:
    """How to read a map of these data, plain text."""
    return (
        "A row is a current token, a column a target. A current token (query) may attend to these "
        f"targets (keys): {_reach(data)} Shade is the probability, on a logarithmic scale that "
        "begins at 0.1 %. Markers are on the top targets of a row: the "
        f"fewest that together hold half of its probability, at most 11.{_sink(data)}{_of(data)}"
    )


def use(data: PassageData) -> str:
    """What the switch and pointing at a cell do."""
    return (
        "The switch “Shade” leads from probabilities to scores: below the largest of their row, "
        f"which is all that softmax knows of them, or as they are, {_score(data)}. Scores of two "
        "rows can "
        "be compared only roughly; the lowest and the highest 2 % have one shade each. "
        "Point at a cell, or use the arrow keys, to read both tokens, the "
        f"score{_terms_too(data)} and the probability. "
        "Look closer by the buttons below, Ctrl or Alt with the wheel, two fingers, a double click "
        "or + and −; then drag. The key 0 shows all. A pixel shows the cell with the largest "
        "probability."
    )


def _reach(data):
    which = "itself or an earlier one"
    if not data.causal:
        which = "every token, itself, earlier and later ones alike"
    windows = sorted({window for window in data.windows if window})
    if not windows:
        return f"{which}."
    *others, last = (str(window) for window in windows)
    tokens = f"{', '.join(others)} or {last}" if others else last
    nearest = f"the last {tokens}" if data.causal else f"the {tokens} around it"
    layers = "in some layers" if None in data.windows else "here"
    return f"{which}; {layers} only {nearest}, itself included."


def _score(data):
    softcap = data.attention(0, 0).softcap
    if softcap is None:
        return "before softmax"
    return f"as it enters softmax, where the model keeps it between −{softcap:g} and {softcap:g}"


def _sink(data):
    if data.attention(0, 0).sink is None:
        return ""
    return (
        " The probabilities of a row sum to less than 1: the rest goes to a sink, a score of the "
        "head's own that belongs to no token."
    )


def _of(data):
    if not data.regions:
        return ""
    return (
        f" Rows and columns may be {' or '.join(data.regions)} instead: what one of them gives to "
        "another is the sum over the other’s tokens, the mean over its own."
    )


def _terms_too(data):
    return ", its terms" if len(data.terms) > 1 else ""
