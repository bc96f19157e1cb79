"""The one look of all figures: colours for light and dark, type sizes, and the frame of a chart.

Every colour that depends on the palette is an expression over the param `ink`, the colour of text.
The page sets `ink` and the chart repaints, without being built again. `build/css.py` writes the
same values into the style sheet, so that a page and its figures cannot drift apart.

Why these colours (tests/figures/parts/test_theme.py holds them to it): colours that are compared
differ in lightness as well as in hue, so that they stay apart in grey and for readers who do not
see red, green or blue. Marks have a contrast of 3:1 with the page and text 4.5:1. A meaning has one
hue in all figures: green is the token itself, orange another token, purple the first token. Few
marks are purple, so it is also the colour of what a reader touches.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import ArrayLike

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

TYPE = {"tick": 11, "label": 12, "title": 13, "caption": 14, "text": 17, "lead": 21}
"""The scale of type, in pixels.

In order: ticks and small print; axis titles, legends and names in a chart; controls and titles of
panels; captions; prose; the sentence that opens a page.
"""
TICK, LABEL = TYPE["tick"], TYPE["label"]

INK = {"light": "#2a2d34", "dark": "#e2e5ec"}
PAPER = {"light": "#ffffff", "dark": "#1e2129"}
SOFT = {"light": "#5c6370", "dark": "#a9b0bd"}
"""Text that explains."""
CONTEXT = {"light": "#c3c8d1", "dark": "#4d5462"}
"""The marks behind those that a reader has singled out."""
FAINT = {"light": "#e4e6ea", "dark": "#3a3f4b"}
"""Hairlines."""
MASS = {"light": "#6b7da8", "dark": "#8fa3cc"}
"""Many marks of one kind, told apart by their place."""

SCORE_RAMP = {
    "light": ["#f4f2ee", "#d3d7e0", "#9aa7c2", "#566a96", "#1b2a52"],
    "dark": ["#22252f", "#333c55", "#55668f", "#8fa3cc", "#e3eafb"],
}
"""Of the cells of a map: nearly paper where the score is low, nearly ink where it is high."""
PROBABILITY_RAMP = {
    "light": ["#c38416", "#cb5a30", "#b0306c", "#741a72", "#2c0f57"],
    "dark": ["#7a5fc0", "#b26bb6", "#e58592", "#f9ad74", "#ffe793"],
}
"""Of single points. It begins well away from paper, so that all points are seen."""
RANK_RAMP = {
    "light": ["#bd8a17", "#7d8420", "#35745c", "#1d567c", "#2a2f78"],
    "dark": ["#6f78c9", "#4f9cc4", "#57bfa0", "#a5d06e", "#f3dc7c"],
}
"""Of lines that are sorted from bottom to top: lines that meet can be told apart."""

FIRST = ("#8426b0", "#a879f5")
"""The first token, and what a reader touches: (colour on light, colour on dark)."""

KINDS = {
    "the token itself": ("square", "#11693f", "#8fecb5"),
    "the first token": ("triangle-up", *FIRST),
    "another token": ("circle", "#dc780c", "#f08a1d"),
}
"""Kinds of target -> (shape, colour on light, colour on dark), the same in every figure."""

TERMS = {
    "content": ("#26309a", "#7b93f4"),
    "bias": ("#c93d08", "#ec6f24"),
    "position": ("#067f7f", "#9ff2ea"),
}
"""Score terms -> (colour on light, colour on dark); they colour text too."""


def of_term(name: str) -> tuple[str, str]:
    """The colours of a term; "mixed", content and position, has those of content."""
    return TERMS["content" if name == "mixed" else name]


def themed(light: str, dark: str) -> alt.ExprRef:
    """A colour that follows the palette."""
    return alt.ExprRef(f"dark ? '{dark}' : '{light}'")


def ramp(colours: dict[str, list[str]]) -> dict[str, Any]:
    """The options that give a scale the colours {"light": [...], "dark": [...]}.

    Between two stops a ramp is linear in RGB, like the pixels that `shades` paints. Left to itself,
    Vega-Lite interpolates in another colour space, which leads from cream to blue through pink.
    """
    stops = zip(colours["light"], colours["dark"], strict=True)
    return {"range": [themed(*pair) for pair in stops], "interpolate": "rgb"}


def shades(colours: Sequence[str], positions: ArrayLike) -> np.ndarray:
    """Colours of a ramp at `positions` in [0, 1]: uint8 [..., 3], linear between its stops."""
    stops = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in colours], float)
    at = np.clip(np.asarray(positions, float), 0, 1) * (len(stops) - 1)
    low = np.minimum(at.astype(int), len(stops) - 2)
    part = (at - low)[..., None]
    return np.floor(stops[low] * (1 - part) + stops[low + 1] * part + 0.5).astype(np.uint8)


def kind_scales(
    legend: alt.Legend, kinds: Mapping[str, tuple[str, str, str]] = KINDS
) -> dict[str, alt.Color | alt.Shape]:
    """Colour and shape channels of the field "kind" with one common legend."""
    colour = alt.Color("kind:N", legend=legend).scale(
        domain=list(kinds), range=[themed(light, dark) for _, light, dark in kinds.values()]
    )
    shape = alt.Shape("kind:N", legend=legend).scale(
        domain=list(kinds), range=[shape for shape, _, _ in kinds.values()]
    )
    return {"color": colour, "shape": shape}


def records(columns: Mapping[str, ArrayLike]) -> list[dict[str, Any]]:
    """A table, dict of name to array [rows], as a list of dicts of plain numbers and texts."""
    lists = {name: np.asarray(column).tolist() for name, column in columns.items()}
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


DATUMS = {"x": alt.X, "x2": alt.X2, "y": alt.Y, "y2": alt.Y2}
VALUES = {"x": alt.XValue, "x2": alt.X2Value, "y": alt.YValue, "y2": alt.Y2Value}
"""Channels of places, as classes: Altair takes 5 ms to find that of a text or a dict."""


def at(**values: float | str) -> dict[str, alt.FieldChannelMixin]:
    """Channels of `DATUMS` at fixed values, or at those of expressions, of quantitative scales."""
    return {key: DATUMS[key](datum=_given(at), type="quantitative") for key, at in values.items()}


def place(**pixels: float | str) -> dict[str, alt.ValueChannelMixin]:
    """Channels of `VALUES` at numbers of pixels, or at those that expressions give."""
    return {name: VALUES[name](_given(value)) for name, value in pixels.items()}


def _given(value):
    return alt.ExprRef(value) if isinstance(value, str) else value


def ticks_across() -> alt.ExprRef:
    """Number of ticks of a horizontal axis: so many that labels keep apart on a phone too."""
    return alt.ExprRef("clamp(floor(width / 80), 3, 8)")


ABOVE = 34
"""Pixels between a chart and a legend above it: the title of the vertical axis stands there."""

Y_EXTENT = 36
"""Pixels that a vertical axis takes: the same everywhere, so that charts above each other align."""


def y_title(expression: str) -> alt.Chart:
    """A layer with the title of a vertical axis that follows a switch."""
    style = {"align": "left", "baseline": "bottom", "fontWeight": 500, "aria": False}
    return written(expression, -Y_EXTENT, -10, **style)


def written(expression: str, x: float | str, y: float | str, **style: Any) -> alt.Chart:
    """A layer with one text, a Vega expression; x, y: pixels, or expressions."""
    text = alt.Chart(alt.InlineData([{}])).mark_text(text=alt.ExprRef(expression), **style)
    return text.encode(**place(x=x, y=y))


def dashes(text: str, **look: Any) -> list[alt.Chart]:
    """Layers with the name of a dashed line, above the upper right corner of the chart: beside the
    line it would lie on others.

    look: of the line
    """
    rule = alt.Chart(alt.InlineData([{}])).mark_rule(strokeDash=[5, 4], aria=False, **look)
    wide = 6.6 * len(text)
    style = {"align": "right", "baseline": "bottom", "aria": False}
    return [
        rule.encode(**place(x=f"width - {wide + 30}", x2=f"width - {wide + 6}", y=-29)),
        written(f"'{text}'", "width", -24, **style),
    ]


def halo(mark: Callable[..., alt.Chart], **style: Any) -> list[alt.Chart]:
    """Two layers of text: the first is a ground of paper, so that marks do not hide the second.

    mark: a chart's method `mark_text`
    """
    ground = {"stroke": alt.ExprRef("paper"), "strokeWidth": 4, "strokeJoin": "round"}
    colour = {"color": style.pop("color")} if "color" in style else {}
    return [mark(**style, **ground, aria=False), mark(**style, **colour, aria=False)]


def gradient(**more: Any) -> alt.Legend:
    """The legend of a ramp, above the chart; more: its title, the format of its numbers, …"""
    look = {"title": None, "orient": "top", "gradientLength": 160, "gradientThickness": 10}
    return alt.Legend(**look | {"gradientOpacity": 1, "offset": ABOVE} | more)


def only(condition: str) -> alt.ExprRef:
    """Opacity that shows a mark while an expression is true."""
    return alt.ExprRef(f"{condition} ? 1 : 0")


@dataclass(frozen=True)
class Source:
    """Where the page's script finds what a chart shows."""

    url: str
    """Address of the data, with {layer} and the like for values of the controls."""
    decode: str
    """Name of the script's decoder, which makes datasets of that file."""
    datasets: list[str]
    """Names of these datasets."""
    tokens: str | None = ""
    """Address of the file that has the tokens; "": the passage's; None: no token is named."""
    text: str = ""
    """Where no token is named, the file of the text whose tokens are marked; "": none are."""

    @property
    def as_json(self) -> dict[str, Any]:
        """What the specification has of it."""
        told = {"url": self.url, "decode": self.decode, "datasets": self.datasets}
        told |= {} if self.tokens == "" else {"tokens": self.tokens}
        return told | ({"text": self.text} if self.text else {})


def frame(
    chart: alt.LayerChart | alt.Chart,
    source: Source,
    *,
    description: str,
    params: Iterable[alt.Parameter] = (),
    **extra: Any,
) -> alt.LayerChart | alt.Chart:
    """The chart in the common look, with what the page's script must know about it.

    params: further ones; extra: further entries for the script
    A chart that draws only some of its rows says which as `shows`, so that its table and its CSV
    file have the same rows: {dataset: [[field, "=", ">" or ">=", value or "{control}"]]}.
    """
    report = {
        "data": source.as_json,
        "ink": INK,
        **extra,
    }
    # Attributes are set on one copy: each of Altair's own methods would copy all layers again.
    framed = chart.copy(deep=False)
    own = [] if framed.params is alt.Undefined else framed.params
    framed.params = [*own, *(param.param for param in (*_palette(), *params))]
    framed.width = framed.height = "container"
    framed.autosize = alt.AutoSizeParams(type="fit", contains="padding")
    framed.background = "transparent"
    framed.description = description
    framed.usermeta = {"report": report}
    framed.config = alt.Config(**_config())
    return framed


def _palette():
    """The params that colours depend on."""
    return (
        alt.param(name="ink", value=INK["light"]),
        alt.param(name="dark", expr="luminance(ink) > 0.4"),
        alt.param(name="paper", expr=f"dark ? '{PAPER['dark']}' : '{PAPER['light']}'"),
    )


def _config():
    ink = {"expr": "ink"}
    faint = {"expr": "dark ? 'rgba(255,255,255,.10)' : 'rgba(20,24,40,.08)'"}
    line = {"expr": "dark ? 'rgba(255,255,255,.45)' : 'rgba(20,24,40,.45)'"}
    soft = {"expr": f"dark ? '{SOFT['dark']}' : '{SOFT['light']}'"}
    return {
        "font": FONT,
        "padding": 4,
        "aria": True,
        "view": {"stroke": None},
        "axis": {
            "labelColor": soft,
            "titleColor": ink,
            "labelFontSize": TICK,
            "titleFontSize": LABEL,
            "titleFontWeight": 500,
            "titlePadding": 8,
            "gridColor": faint,
            "domainColor": line,
            "tickColor": line,
            "tickSize": 4,
            "labelOverlap": True,
            "labelFlush": False,
        },
        "axisX": {"labelSeparation": 6},  # two numbers side by side are not read as one
        # Titles lie flat above the axis: they are read like all text, and a phone keeps its width
        # for the picture.
        "axisY": {
            "titleAngle": 0,
            "titleAnchor": "end",
            "titleAlign": "left",
            "titleBaseline": "bottom",
            "titleX": -Y_EXTENT,
            "titleY": -10,
            "minExtent": Y_EXTENT - 4,
            "domain": False,
            "ticks": False,
            "labelPadding": 6,
        },
        "legend": {
            "labelColor": ink,
            "titleColor": ink,
            "labelFontSize": LABEL,
            "titleFontSize": LABEL,
            "titleFontWeight": 500,
            "labelSeparation": 8,
            "symbolSize": 70,
            "rowPadding": 4,
            "columnPadding": 18,
        },
        "text": {"color": ink, "fontSize": LABEL},
        "rule": {"color": ink},
    }
