"""What attention maps share: the picture of one head's scores, its legend, guides and cursor."""

from collections.abc import Iterable, Mapping

import altair

from report.datasets.formats.attention import DecodedAttention
from report.datasets.formats.visible import Visible
from report.datasets.read.passage import PassageData, Token
from report.figures.parts import choices, map_part, marking, raster, shading, theme, token_names
from report.figures.parts.choices import Control, Switch

DATASETS = ["map", "markers", "edge", "cursor", "no_shade"]
"""Names of the datasets of a map, see `rows`."""


def controls(data: choices.Heads) -> list[Control | Switch]:
    """Layer, head, and what the shade of a cell tells."""
    shade = Switch("shade", "Shade", shading.SHADES, "probability", look=True)
    return [choices.layer_control(data), choices.head_control(data), shade]


SHAPED = 320
"""Tokens of a passage whose markers are shapes in a still picture, at most."""

Kinds = Mapping[str, tuple[str, str, str]]
"""Kinds of targets: name -> (shape, colour on light, colour on dark)."""


def layers(data: PassageData, kinds: Kinds = theme.KINDS, offset: int = 0) -> altair.LayerChart:
    """The chart of a map, without its frame.

    kinds: of targets, for the markers
    offset: pixels between the picture and its axes
    """
    size, causal = data.length, data.causal
    return altair.layer(
        _picture(),
        _shade_legend(causal),
        *([_shade_title()] if causal else []),
        _edge(),
        _guides(size, causal),
        _markers(size, causal, kinds, offset),
        _cursor(),
    ).resolve_scale(color="independent", shape="independent")


def looks(kinds: Kinds = theme.KINDS) -> dict[str, dict]:
    """What the page's script needs to draw the map: entries of the specification's usermeta."""
    looks = {kind: list(look) for kind, look in kinds.items()}
    return {"ramp": theme.SCORE_RAMP, "kinds": looks, "paper": theme.PAPER}


def params(
    tokens: Iterable[Token], attention: DecodedAttention, shade: str
) -> list[altair.Parameter]:
    """The params of a map of tokens that shows one head in one of `shading.SHADES`."""
    _, (low, high) = shading.shaded(attention, shade)
    return [
        token_names.labels(tokens),
        *marking.marked("token"),
        altair.param(name="shade", value=shade),
        altair.param(name="shade_low", value=low),
        altair.param(name="shade_high", value=high),
        *map_part.params(attention.visible),
    ]


def _axes(size, offset):
    ends = {"nice": False, "zero": False}
    aside = {"offset": offset} if offset else {}
    x, y = (
        token_names.token_axis(
            f"{which} token (text and index)",
            map_part.SHOWN[length],
            length,
            across=across,
            apart=map_part.APART,
            end=map_part.ENDS[length],
            **more,
        )
        for which, length, across, more in (
            ("target", "width", True, aside),
            ("current", "height", False, aside | token_names.TOKENS_LEFT),
        )
    )
    return {
        "x": altair.X("target_token:Q", axis=x).scale(domain=map_part.DOMAINS["width"], **ends),
        "y": altair.Y("current_token:Q", axis=y).scale(
            domain=map_part.DOMAINS["height"], **ends, reverse=True
        ),
    }


def _picture():
    # A pixel is a cell. A page draws a canvas here, a still picture a PNG.
    return altair.Chart(altair.NamedData("map")).mark_image(
        width=altair.ExprRef("width"),
        height=altair.ExprRef("height"),
        align="left",
        baseline="top",
        aspect=False,
        smooth=False,
        aria=False,
    ).encode(url=altair.Url("image:N"), **theme.place(x=0, y=0))  # fmt: skip


def _shade_legend(causal):
    colour = altair.Color("shade:Q").scale(
        domain=[altair.ExprRef("shade_low"), altair.ExprRef("shade_high")],
        **theme.ramp(theme.SCORE_RAMP),
        clamp=True,
    )
    legend = altair.Legend(
        **_legend_place(causal, 0),
        direction="horizontal",
        title=" " if causal else "shade",  # where there is room, the title follows the switch
        values=altair.ExprRef(f"shade == 'probability' ? {shading.PROBABILITIES} : null"),
        labelExpr="shade == 'probability' ? format(exp(datum.value), '~%') : "
        "format(datum.value, '.1f')",
        gradientLength=altair.ExprRef("legend_width"),
        gradientThickness=10,
        gradientOpacity=1,
        tickCount=3,
        labelOverlap="greedy",
        labelSeparation=8,
    )
    nothing = altair.Chart(altair.NamedData("no_shade"))  # an empty layer, for its legend
    return nothing.mark_point(aria=False).encode(color=colour.legend(legend))


def _shade_title():
    shown = " : ".join(f"shade == '{name}' ? '{title}'" for name, title in shading.SHADES.items())
    style = {"align": "left", "baseline": "top", "fontWeight": 500, "aria": False}
    # Vega would make room for a mark beside the plot: there the page's script writes it
    shown = f"aside ? '' : {shown}"
    return theme.written(f"{shown} : ''", map_part.LEGEND_LEFT, 0, **style)


def _legend_place(causal, top):
    """A legend's place: at the right, `top` pixels down, in the triangle of later tokens.

    Where later tokens are seen that triangle is not empty, and the legend stands above the map.
    """
    if not causal:
        return {"orient": "top", "offset": theme.ABOVE}
    left, top = map_part.LEGEND_LEFT, f"{map_part.LEGEND_TOP} + {top}"
    return {"orient": "none", "legendX": altair.ExprRef(left), "legendY": altair.ExprRef(top)}


def _edge():
    """A line where a sliding window ends: cells beyond it are not seen, and have no score."""
    line = altair.Chart(altair.NamedData("edge")).mark_line(
        strokeWidth=1, opacity=0.45, color=altair.ExprRef("ink"), clip=True, aria=False
    )
    x, y = altair.X("column:Q"), altair.Y("row:Q")
    return line.encode(x=x, y=y, order=altair.Order("order:Q"))


def _markers(size, causal, kinds, offset):
    legend = altair.Legend(
        **_legend_place(causal, 52),
        **({} if causal else {"columns": altair.ExprRef("width > 420 ? 3 : 1")}),
        title="top targets",
        symbolOpacity=1,
        labelFontSize=theme.TICK,
        rowPadding=2,
    )
    cell = f"(width / {map_part.SHOWN['width']})"
    mark = altair.Chart(altair.NamedData("markers")).mark_point(
        filled=True,
        size=altair.ExprRef(f"clamp(1.5 * pow({cell}, 2), 9, 150)"),
        opacity=1,
        xOffset=altair.ExprRef(f"{cell} / 2"),  # the middle of its cell
        yOffset=altair.ExprRef(f"height / {map_part.SHOWN['height']} / 2"),
        stroke=altair.ExprRef("paper"),
        strokeWidth=altair.ExprRef(f"{cell} > 3 ? 0.5 : 0.25"),
        invalid=None,  # no row has invalid values, see `build.vega`
        aria=False,
    )
    return mark.encode(**_axes(size, offset), **theme.kind_scales(legend, kinds))


def _guides(size, causal):
    """Thin lines through the marked token, along its row and its column.

    They cover the cells that are seen: in an encoder they reach from edge to edge.
    """

    def row(token):
        return theme.at(x=0, x2=f"{token} + 1" if causal else size, y=f"{token} + 0.5")

    def column(token):
        return theme.at(x=f"{token} + 0.5", y=token if causal else 0, y2=size)

    return altair.layer(*marking.guides("marked_token", clip=True, row=row, column=column))


def _cursor():
    """Outlines of the cell that is pointed at and of the pinned one, which is heavier."""
    return altair.layer(
        _outline("paper", "datum.pinned ? 6 : 0"), _outline("ink", "datum.pinned ? 3 : 1.6")
    )


def _outline(colour, width):
    return (
        altair.Chart(altair.NamedData("cursor"))
        .mark_rect(
            fill=None,
            stroke=altair.ExprRef(colour),
            strokeWidth=altair.ExprRef(width),
            clip=True,
            aria=False,
        )
        .transform_calculate(right="datum.target_token + 1", below="datum.current_token + 1")
        .encode(
            x=altair.X("target_token:Q"),
            x2=altair.X2("right:Q"),
            y=altair.Y("current_token:Q"),
            y2=altair.Y2("below:Q"),
        )
    )


def rows(
    attention: DecodedAttention,
    markers: list[dict],
    dark: bool,
    shade: str,
    kinds: Kinds = theme.KINDS,
) -> dict[str, list[dict]]:
    """The rows of the datasets of a map.

    Of a long passage, whose markers are too many and too small to be shapes, the picture has them.

    markers: dicts with current_token, target_token, kind; dark: for a dark page; shade: one of
    `shading.SHADES`; kinds: of the markers
    """
    values, (low, high) = shading.shaded(attention, shade)
    ramp = theme.SCORE_RAMP["dark" if dark else "light"]
    picture = raster.raster(raster.pooled(values, attention.probability), low, high, ramp)
    size = len(values)
    if size > SHAPED:
        colours = {kind: look[1 + dark] for kind, look in kinds.items()}
        raster.stamp(picture, markers, colours, size)
    return {
        "map": [{"image": raster.data_url(picture)}],
        "markers": markers if size <= SHAPED else [],
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
