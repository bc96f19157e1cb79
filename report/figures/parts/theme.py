"""The one look of all figures: colours for light and dark, type sizes, and the frame of a chart.

Every colour that depends on the palette is an expression over the param `ink` (the text colour):
the page sets `ink` and the chart repaints, without being built again. Style sheets get the same
values through `_css`, so that a page and its figures cannot drift apart.

Why these colours (tests/figures/test_theme.py holds them to it): what is compared differs in
lightness as well as in hue, so that it stays apart without red, without green, without blue and in
grey; marks have a contrast of 3:1 with the page and text 4.5:1; and one meaning keeps one hue
wherever it appears. Purple is the first token and, being the colour of few marks, also what a
reader touches; green is a token itself, orange another one.
"""

import altair as alt
import numpy as np

from report.figures.parts import choices
from report.text import shortened

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

TYPE = {"tick": 11, "label": 12, "title": 13, "caption": 14, "text": 17, "lead": 21}
"""The one scale of type, in pixels: ticks and small print; axis titles, legends and names in a
chart; controls and titles of panels; captions; prose; what opens a page."""
TICK, LABEL = TYPE["tick"], TYPE["label"]

INK = {"light": "#2a2d34", "dark": "#e2e5ec"}
PAPER = {"light": "#ffffff", "dark": "#1e2129"}
SOFT = {"light": "#5c6370", "dark": "#a9b0bd"}
"""Text that explains."""
CONTEXT = {"light": "#c3c8d1", "dark": "#4d5462"}
"""What stands behind the marks that a reader has singled out."""
FAINT = {"light": "#e4e6ea", "dark": "#3a3f4b"}
"""Hairlines."""
MASS = {"light": "#6b7da8", "dark": "#8fa3cc"}
"""Marks of many equals, told apart by their place: the ink of scores, thinned."""

SCORE_RAMP = {
    "light": ["#f4f2ee", "#d3d7e0", "#9aa7c2", "#566a96", "#1b2a52"],
    "dark": ["#22252f", "#333c55", "#55668f", "#8fa3cc", "#e3eafb"],
}
"""Of a map, cell beside cell: nearly paper where the score is low, nearly ink where it is high."""
PROBABILITY_RAMP = {
    "light": ["#c38416", "#cb5a30", "#b0306c", "#741a72", "#2c0f57"],
    "dark": ["#7a5fc0", "#b26bb6", "#e58592", "#f9ad74", "#ffe793"],
}
"""Of single points, all of which must be seen: it begins well away from paper."""
RANK_RAMP = {
    "light": ["#bd8a17", "#7d8420", "#35745c", "#1d567c", "#2a2f78"],
    "dark": ["#6f78c9", "#4f9cc4", "#57bfa0", "#a5d06e", "#f3dc7c"],
}
"""Of lines that are sorted from bottom to top, so that where they meet they can be followed."""

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

PASSAGE = {
    "light": ("#dfe5f7", "#fbe3d3", "#d9efe6", "#f2dff0", "#f6edc6", "#d8edf5"),
    "dark": ("#363f63", "#5c3d2a", "#23503f", "#573553", "#524a1e", "#234b5a"),
}
"""Grounds behind the tokens of a passage, in turn: they part neighbours and mean nothing."""


def themed(light, dark):
    """A colour that follows the palette."""
    return alt.ExprRef(f"dark ? '{dark}' : '{light}'")


def ramp(colours):
    """The colours of a scale, from {"light": [...], "dark": [...]}: options of the scale.

    Between its stops a ramp is linear in RGB, as `shades` paints it; Vega-Lite would take a way of
    its own, past pink from cream to blue.
    """
    stops = zip(colours["light"], colours["dark"], strict=True)
    return {"range": [themed(*pair) for pair in stops], "interpolate": "rgb"}


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


ABOVE = 34
"""Pixels between a chart and a legend above it: the title of the vertical axis stands there."""

Y_EXTENT = 36
"""Pixels that a vertical axis takes: the same everywhere, so that charts above each other align."""


def y_title(expression):
    """A layer with the title of the vertical axis where it follows a switch."""
    style = {"align": "left", "baseline": "bottom", "fontWeight": 500, "aria": False}
    return written(expression, -Y_EXTENT, -10, **style)


def written(expression, x, y, **style):
    """A layer with one text, a Vega expression; x, y: pixels, or expressions."""
    text = alt.Chart(alt.InlineData([{}])).mark_text(text=alt.ExprRef(expression), **style)
    return text.encode(x=place(x), y=place(y))


def place(pixels):
    """A channel at a number of pixels, or at what an expression gives."""
    return alt.value(alt.ExprRef(pixels) if isinstance(pixels, str) else pixels)


LABELS = "labels"
"""The param that holds the texts of tokens, for axes."""

NAMED = 40
"""Characters of a token's text that a specification has; axes show fewer still."""


def labels(tokens):
    """The param of `token_axis`, from a list of tokens."""
    return alt.param(
        name=LABELS, value=[shortened(each.label.strip() or each.label, NAMED) for each in tokens]
    )


TOKENS_LEFT = {
    "titleX": alt.ExprRef("width > 500 ? -84 : -62"),
    # for letters as wide as those of any system
    "minExtent": alt.ExprRef("width > 500 ? 84 : 62"),
}
"""For the vertical one: its title begins where the texts do."""


def token_axis(title, count, length, *, across, cell=True, **more):
    """An axis of token positions that names every so many by text and index, as many as fit.

    count: of tokens; length: "width" or "height", the axis's; across: whether it is horizontal
    cell: whether a token is a cell that begins at its index, and not a point there
    """
    middle = alt.ExprRef(f"{length} / {2 * count}") if cell else 0
    text = f"truncate({LABELS}[datum.value], width > 500 ? 8 : 5)"
    # a text that is a number must not be taken for an index, nor the two for one number
    text = f"(isFinite(toNumber({text})) ? '“' + {text} + '”' : {text})"
    # an unseen mark keeps the index behind a text that runs from right to left; a picture would
    # make one of two plain spaces
    return alt.Axis(
        title=title,
        grid=False,
        domain=False,
        ticks=False,
        tickMinStep=1,
        tickCount=alt.ExprRef(f"clamp(floor({length} / 17), 2, {count})"),
        labelExpr=(
            f"isValid({LABELS}[datum.value]) ? {text} + '\u200e\u00a0\u00a0' + datum.value : ''"
        ),
        labelOffset=middle,
        # beyond what a text of that many wide letters takes with its index, which is never cut
        labelLimit=alt.ExprRef("width > 500 ? 160 : 110"),
        **({"labelAngle": -90, "labelAlign": "right", "labelBaseline": "middle"} if across else {}),
        titlePadding=14,
        **more,
    )


def halo(mark, **style):
    """Two layers of text, the first a ground of paper, so that it can be read over marks.

    mark: a chart's method `mark_text`
    """
    ground = {"stroke": alt.ExprRef("paper"), "strokeWidth": 4, "strokeJoin": "round"}
    colour = {"color": style.pop("color")} if "color" in style else {}
    return [mark(**style, **ground, aria=False), mark(**style, **colour, aria=False)]


def only(condition):
    """Opacity that shows a mark while an expression holds."""
    return alt.ExprRef(f"{condition} ? 1 : 0")


def frame(
    chart, *, name, description, controls, url, decode, datasets, params=(), tokens="", **extra
):
    """The chart in the common look, with what the page's script must know about it.

    controls: `Control`s at the state shown; url: address of its data, with {layer} and the like
    decode: how the script turns that file into the chart's datasets; datasets: their names
    params: further `alt.Parameter`s; extra: further entries for the script
    tokens: address of the file that says what was read, if it is not the passage's; None where no
        token is named
    A chart that draws a part of its rows says which as `shows`, so that its table and its CSV file
    have the same: {dataset: [[field, "=", ">" or ">=", value or "{control}"]]}.
    """
    report = {
        "figure": name,
        "controls": choices.as_json(controls),
        "data": {"url": url, "decode": decode, "datasets": datasets}
        | ({} if tokens == "" else {"tokens": tokens}),
        "ink": INK,
        **extra,
    }
    return (
        chart.add_params(
            alt.param(name="ink", value=INK["light"]),
            alt.param(name="dark", expr="luminance(ink) > 0.4"),
            alt.param(name="paper", expr=f"dark ? '{PAPER['dark']}' : '{PAPER['light']}'"),
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


MARKS = {"marked": [3, 2], "pinned": [1, 0]}
"""How a reader marks -> dash of what is drawn for it: pointed at or pinned."""


def marked(*names):
    """The params by which the page marks one token or one head in all figures (-1: none)."""
    return [alt.param(name=f"{how}_{name}", value=-1) for how in MARKS for name in names]


def either(condition):
    """Expression: a condition on params marked_..., or the same on those that are pinned."""
    return f"({condition}) || ({pinned(condition)})"


def pinned(condition):
    """A condition on params marked_... as one on what is pinned."""
    return condition.replace("marked_", "pinned_")


def ring(chart, condition, size, width=1.6, heavier=1.2):
    """Rings around the points of a chart that a condition on params marked_... holds for.

    size: area of a ring in pixels; width: of its line; what is pinned has a solid one,
    so much heavier
    """
    here = pinned(condition)
    return chart.transform_filter(either(condition)).mark_point(
        size=size,
        filled=False,
        color=alt.ExprRef("ink"),
        strokeWidth=alt.ExprRef(f"{here} ? {width + heavier} : {width}"),
        strokeDash=alt.ExprRef(f"{here} ? [1, 0] : [3, 2]"),
        aria=False,
    )


def guides(param, **channels):
    """Lines at the value of a param marked_..., dashed, and at that of the pinned one, solid.

    channels: of each line, a function from an expression of the value to channels
    """
    found = []
    for how, dash in MARKS.items():
        name = param.replace("marked", how)
        for lines in channels.values():
            mark = alt.Chart(alt.InlineData([{}])).mark_rule(
                strokeWidth=1 if how == "marked" else 1.6,
                strokeDash=dash,
                opacity=only(f"{name} >= 0"),
                aria=False,
            )
            found.append(mark.encode(**lines(f"max({name}, 0)")))
    return found


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
        # read from left to right like all text, above the axis: no head must be turned, and a
        # phone has its width for the picture
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
            "symbolSize": 70,
            "rowPadding": 4,
            "columnPadding": 18,
        },
        "text": {"color": ink, "fontSize": LABEL},
        "rule": {"color": ink},
    }
