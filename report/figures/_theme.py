"""The one look of all figures: colours for light and dark, fonts, and the frame around a chart.

Every colour that depends on the palette is an expression over the param `ink` (the text colour):
the page sets `ink` and the chart repaints, without being built again.
"""

import altair as alt
import numpy as np

from report.figures import _controls

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
INK = {"light": "#2a2d34", "dark": "#e2e5ec"}

SCORE_RAMP = {
    "light": ["#f4f2ee", "#d3d7e0", "#9aa7c2", "#566a96", "#1b2a52"],
    "dark": ["#22252f", "#333c55", "#55668f", "#8fa3cc", "#e3eafb"],
}
PROBABILITY_RAMP = {
    "light": ["#eab84e", "#e8794a", "#c43d6b", "#7a1f76", "#2c0f57"],
    "dark": ["#6a4a94", "#a8478f", "#e0607a", "#f79b64", "#ffe793"],
}
RANK_RAMP = {
    "light": ["#c9a24a", "#8fa045", "#3f9270", "#1f7189", "#2b3f87"],
    "dark": ["#6f78c9", "#4f9cc4", "#57bfa0", "#a5d06e", "#f3dc7c"],
}

KINDS = {
    "the token itself": ("square", "#0b8457", "#45d69a"),
    "the first token": ("triangle-up", "#7b2fbe", "#c79bff"),
    "another token": ("circle", "#e07a10", "#ffb057"),
}
"""Kinds of target -> (shape, colour on light, colour on dark), the same in every figure."""

TERMS = {
    "content": ("#2b3a8c", "#9fb5ff"),
    "bias": ("#b8430a", "#ff9f70"),
    "position": ("#0d8068", "#58d3c1"),
}
"""Score terms -> (colour on light, colour on dark)."""

HEADS = {  # neighbours differ in hue and in lightness, so that a stack can be read
    "light": [
        "#35307f",
        "#78bfe0",
        "#2f9486",
        "#8fbf6b",
        "#b59a1f",
        "#ecc06a",
        "#c9565f",
        "#7d1f55",
    ],
    "dark": [
        "#8480e6",
        "#a5dcf5",
        "#3fae9d",
        "#b3dd8f",
        "#c4aa35",
        "#f7d588",
        "#e8737c",
        "#b8508c",
    ],
}


def themed(light, dark):
    """A colour that follows the palette."""
    return alt.ExprRef(f"dark ? '{dark}' : '{light}'")


def ramp(colours):
    """A scale's range from {"light": [...], "dark": [...]}."""
    return [themed(*pair) for pair in zip(colours["light"], colours["dark"], strict=True)]


def head_colours(heads):
    """A scale's range with one colour a head; more than 8 heads are spread over the palette."""
    return ramp({shade: _spread(colours, heads) for shade, colours in HEADS.items()})


def _spread(colours, count):
    if count <= len(colours):
        return colours[:count]
    return [
        "#" + "".join(f"{v:02x}" for v in rgb) for rgb in shades(colours, np.linspace(0, 1, count))
    ]


def shades(colours, positions):
    """Colours of a ramp: uint8 [..., 3] at `positions` in [0, 1], linear between its stops."""
    stops = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colours], float)
    at = np.clip(np.asarray(positions, float), 0, 1) * (len(stops) - 1)
    low = np.minimum(at.astype(int), len(stops) - 2)
    part = (at - low)[..., None]
    return np.floor(stops[low] * (1 - part) + stops[low + 1] * part + 0.5).astype(np.uint8)


def kind_scales(legend, kinds=KINDS):
    """Colour and shape channels of the field "kind" with one common legend."""
    colour = alt.Color("kind:N", legend=legend).scale(
        domain=list(kinds), range=[themed(light, dark) for _, light, dark in kinds.values()]
    )
    shape = alt.Shape("kind:N", legend=legend).scale(
        domain=list(kinds), range=[shape for shape, _, _ in kinds.values()]
    )
    return {"color": colour, "shape": shape}


def token_label(token, text):
    """Expression: index and text of a token, e.g. 17 “ lamp”, from two field names."""
    return f"datum.{token} + '  “' + datum.{text} + '”'"


APART = "abs(datum.distance) + (datum.distance > 0 ? ' before' : datum.distance ? ' after' : '')"
"""Expression for the field "apart" of rows that have a distance, current token less target."""


def apart(data):
    """Tooltip of a distance: where all targets are in the past, how far; else the field "apart"."""
    if data.causal:
        return alt.Tooltip("distance:Q", title="tokens in the past")
    return alt.Tooltip("apart:N", title="tokens apart")


def records(columns):
    """A table, dict of name to array [rows], as a list of dicts of plain numbers and texts."""
    lists = {name: np.asarray(column).tolist() for name, column in columns.items()}
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def at(value):
    """A channel at a fixed value, or an expression, of a quantitative scale."""
    return alt.datum(value, type="quantitative")


def ticks_across():
    """Number of ticks of a horizontal axis, so that labels keep apart on a phone too."""
    return alt.ExprRef("clamp(floor(width / 80), 3, 8)")


def only(condition):
    """Opacity that shows a mark while an expression holds."""
    return alt.ExprRef(f"{condition} ? 1 : 0")


def frame(
    chart, *, name, description, controls, url, decode, datasets, params=(), tokens=None, **extra
):
    """The chart in the common look, with what the page's script must know about it.

    controls: `Control`s at the state shown; url: address of its data, with {layer} and the like
    decode: how the script turns that file into the chart's datasets; datasets: their names
    params: further `alt.Parameter`s; extra: further entries for the script
    tokens: address of the file that says what was read, if it is not the passage's
    """
    report = {
        "figure": name,
        "controls": _controls.as_json(controls),
        "data": {"url": url, "decode": decode, "datasets": datasets}
        | ({"tokens": tokens} if tokens else {}),
        "ink": INK,
        **extra,
    }
    return (
        chart.add_params(
            alt.param(name="ink", value=INK["light"]),
            alt.param(name="dark", expr="luminance(ink) > 0.4"),
            alt.param(name="paper", expr="dark ? '#1e2129' : '#ffffff'"),
            *params,
        )
        .properties(
            width="container",
            height="container",
            autosize=alt.AutoSizeParams(type="fit", contains="padding"),
            background="transparent",
            description=description,
            usermeta={"report": report},
        )
        .configure(**_config())
    )


def marked(*names):
    """The params by which the page marks one token or one head in all figures (-1: none)."""
    return [alt.param(name=f"marked_{name}", value=-1) for name in names]


def _config():
    ink = {"expr": "ink"}
    faint = {"expr": "dark ? 'rgba(255,255,255,.13)' : 'rgba(20,24,40,.10)'"}
    line = {"expr": "dark ? 'rgba(255,255,255,.45)' : 'rgba(20,24,40,.45)'"}
    return {
        "font": FONT,
        "padding": 4,
        "aria": True,
        "view": {"stroke": None},
        "axis": {
            "labelColor": ink,
            "titleColor": ink,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": 500,
            "titlePadding": 8,
            "gridColor": faint,
            "domainColor": line,
            "tickColor": line,
            "tickSize": 4,
            "labelOverlap": True,
            "labelFlush": False,
        },
        "legend": {
            "labelColor": ink,
            "titleColor": ink,
            "labelFontSize": 11,
            "titleFontSize": 11.5,
            "titleFontWeight": 500,
            "symbolSize": 70,
            "rowPadding": 3,
        },
        "text": {"color": ink, "fontSize": 11},
        "rule": {"color": ink},
    }
