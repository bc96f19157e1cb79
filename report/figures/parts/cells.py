"""What maps of tokens by tokens draw: the picture of cells, markers, guides and the cursor."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import altair

from report.figures.parts import map_part, marking, theme, token_names
from report.figures.parts.layers import layered

Kinds = Mapping[str, tuple[str, str, str]]
"""Kinds of targets: name -> (shape, colour on light, colour on dark)."""


def axes(
    size: str | None, offset: int = 0, named: str = "token (text and index)"
) -> dict[str, altair.X | altair.Y]:
    """The channels of target tokens and current tokens.

    size: param that says how many there are; None: of the part that is shown, see `map_part`
    named: what the titles say after "target" and "current"
    """
    ends = {"nice": False, "zero": False}
    aside = {"offset": offset} if offset else {}
    x, y = (
        token_names.token_axis(
            f"{which} {named}",
            size or map_part.SHOWN[length],
            length,
            across=across,
            apart=map_part.APART,
            end="" if size else map_part.ENDS[length],
            **more,
        )
        for which, length, across, more in (
            ("target", "width", True, aside),
            ("current", "height", False, aside | token_names.TOKENS_LEFT),
        )
    )
    whole = {length: [0, altair.ExprRef(size)] for length in map_part.DOMAINS} if size else {}
    domains = map_part.DOMAINS | whole
    return {
        "x": altair.X("target_token:Q", axis=x).scale(domain=domains["width"], **ends),
        "y": altair.Y("current_token:Q", axis=y).scale(
            domain=domains["height"], **ends, reverse=True
        ),
    }


def picture() -> altair.Chart:
    """The cells, of the dataset "map"."""
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


def shades(ramp: dict[str, list[str]], **more: Any) -> altair.Chart:
    """The legend of a map's shades, of an empty layer; more: its place, its title, its labels."""
    colour = altair.Color("shade:Q").scale(
        domain=[altair.ExprRef("shade_low"), altair.ExprRef("shade_high")],
        **theme.ramp(ramp),
        clamp=True,
    )
    legend = altair.Legend(
        direction="horizontal",
        gradientLength=altair.ExprRef("legend_width"),
        gradientThickness=10,
        gradientOpacity=1,
        labelOverlap="greedy",
        **more,
    )
    nothing = altair.Chart(altair.NamedData("no_shade"))
    return nothing.mark_point(aria=False).encode(color=colour.legend(legend))


def legend_place(causal: bool, top: int, *, part: bool = False) -> dict[str, Any]:
    """A legend's place: at the right, `top` pixels down, in the triangle of later tokens.

    Where later tokens are seen that triangle is not empty, and the legend stands above the map.

    part: whether it moves out of a map of which a part is shown
    """
    if not causal:
        return {"orient": "top", "offset": theme.ABOVE}
    left, down = map_part.LEGEND_WITHIN, top
    if part:
        left, down = map_part.LEGEND_LEFT, altair.ExprRef(f"{map_part.LEGEND_TOP} + {top}")
    return {"orient": "none", "legendX": altair.ExprRef(left), "legendY": down}


TOP = "top targets"
"""What marked cells are, in most maps."""


def markers(
    size: str | None,
    causal: bool,
    kinds: Kinds,
    offset: int = 0,
    span: str = "1",
    legend: Mapping[str, Any] = MappingProxyType({"title": TOP}),
    **named: str,
) -> altair.Chart:
    """The marked cells, of the dataset "markers"; size, named: as of `axes`; span: expression for
    the cells of a token that one is as large as; legend: its title, and how it looks otherwise."""
    looks = {"symbolOpacity": 1, "labelFontSize": theme.TICK, "rowPadding": 2} | dict(legend)
    if not causal:
        looks["columns"] = altair.ExprRef("width > 420 ? 3 : 1")
    legend = altair.Legend(**legend_place(causal, 52, part=size is None), **looks)
    cell, down = (f"({length} / {size or count})" for length, count in map_part.SHOWN.items())
    mark = altair.Chart(altair.NamedData("markers")).mark_point(
        filled=True,
        size=altair.ExprRef(f"clamp(1.5 * pow({span} * {cell}, 2), 9, 150)"),
        opacity=1,
        xOffset=altair.ExprRef(f"{cell} / 2"),  # the middle of its cell
        yOffset=altair.ExprRef(f"{down} / 2"),
        stroke=altair.ExprRef("paper"),
        # a mark on a cell of its own colour is seen by its edge
        strokeWidth=altair.ExprRef(f"{cell} > 12 ? 2.2 : {cell} > 3 ? 0.5 : 0.25"),
        invalid=None,  # no row has invalid values, see `build.vega`
        aria=False,
    )
    return mark.encode(**axes(size, offset, **named), **theme.kind_scales(legend, kinds))


def guides(size: int | str, causal: bool) -> altair.LayerChart:
    """Thin lines through the marked token, along its row and its column.

    They cover the cells that are seen: in an encoder they reach from edge to edge.
    """

    def row(token):
        return theme.at(x=0, x2=f"{token} + 1" if causal else size, y=f"{token} + 0.5")

    def column(token):
        return theme.at(x=f"{token} + 0.5", y=token if causal else 0, y2=size)

    return layered(*marking.guides("marked_token", clip=True, row=row, column=column))


def cursor() -> altair.LayerChart:
    """Outlines of the cell that is pointed at and of the pinned one, which is heavier."""
    return layered(
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
        .transform_calculate(
            right="datum.target_token + (datum.across || 1)",  # a region has several tokens
            below="datum.current_token + (datum.down || 1)",
        )
        .encode(
            x=altair.X("target_token:Q"),
            x2=altair.X2("right:Q"),
            y=altair.Y("current_token:Q"),
            y2=altair.Y2("below:Q"),
        )
    )
