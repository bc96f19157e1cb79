"""Histogram over tokens of one measure of the update, one series a head: figures 7 and 8.

Bars are stacked over heads. Heads that the reader singles out (click on a bar or on the legend,
with shift for several) stand on the base line in front of the grey total.
"""

import altair
import numpy as np

from report.figures import _controls, _theme, _updates
from report.text import number

ASPECT = 1.5
PHONE_ASPECT = 0.92
MOST_IN_LEGEND = 64
"""Heads that a legend has room for beside a chart; of more, only the bars can be clicked."""


def choosing(data):
    """How to single out heads and tokens."""
    marked = "When a token is marked, a small line for each head shows where that token is."
    if data.heads == 1:
        return marked
    legend = " or on a head in the legend" if data.heads <= MOST_IN_LEGEND else ""
    return (
        f"Bars of all heads are stacked. Click on a bar{legend} to single it out: it then stands "
        "on the base line, in front of the total in grey; with shift, several can be compared; a "
        f"click on the empty part or Esc brings all back. {marked}"
    )


def chart(data, name, title, measure, x_title, state, *, zero_rule=False, **binning):
    """The figure of one measure.

    measure: "magnitude" or "alignment"; zero_rule: draw a line at 0; binning: for `altair.Bin`
    """
    singled = altair.selection_point(
        name="singled",
        fields=["head"],
        **({"bind": "legend"} if _legend(data) else {}),
        on="click",
        clear="window:keydown[event.key === 'Escape']",
    )
    points = altair.Chart(altair.NamedData("points"))
    # binned before heads are filtered, so that all layers have the same bins
    binned = points.transform_bin(["low", "high"], field=measure, bin=altair.Bin(**binning))
    bars = binned.transform_calculate(
        range="format(datum.low, '.4~g') + ' to ' + format(datum.high, '.4~g')"
    ).mark_bar(
        stroke=altair.ExprRef("paper"),
        strokeWidth=0.4 if data.heads <= 12 else 0.15,
        binSpacing=0,
        aria=False,
    )
    channels = _channels(data, measure, x_title)
    colour = channels.pop("color")
    grey = altair.value(_theme.themed("#c9ccd3", "#4b505c"))
    nothing = "!length(data('singled_store'))"
    total = bars.add_params(singled).encode(
        **channels, color=altair.condition(nothing, colour, grey)
    )
    front = bars.transform_filter({"param": "singled", "empty": False}).encode(
        **channels, color=colour
    )
    layers = [total, front, _rug(points, measure)]
    if zero_rule:
        layers.append(_updates.zero_line())
    return _theme.frame(
        altair.layer(*layers),
        name=name,
        description=f"{title}: histogram over tokens, one series a head",
        controls=_controls.at_state(_updates.controls(data), state),
        url="updates/{layer}.json",
        decode="tables",
        datasets=["points"],
        params=_theme.marked("token"),
    )


def _channels(data, measure, x_title):
    counted = "tokens, over all heads" if data.heads > 1 else "tokens"
    return {
        "x": altair.X("low:Q", bin="binned", title=x_title)
        .axis(grid=False, tickCount=_theme.ticks_across())
        .scale(zero=True),
        "x2": "high:Q",
        "y": altair.Y("count():Q", title=counted, stack="zero").axis(tickCount=5, tickMinStep=1),
        "color": altair.Color("head:O", legend=_legend(data)).scale(
            domain=list(range(data.heads)), range=_theme.head_colours(data.heads)
        ),
        "order": altair.Order("head:O"),
        "tooltip": [
            altair.Tooltip("head:O", title="head"),
            altair.Tooltip("range:N", title=measure),
            altair.Tooltip("count():Q", title="tokens"),
        ],
    }


def _legend(data):
    if not 1 < data.heads <= MOST_IN_LEGEND:
        return None
    return altair.Legend(
        title="head (click to single out)",
        orient="top",
        direction="horizontal",
        columns=altair.ExprRef("width < 500 ? 8 : 16"),
        symbolType="square",
        symbolStrokeWidth=0,
        symbolLimit=0,
        columnPadding=8,
    )


def _rug(points, measure):
    tooltip = [
        altair.Tooltip("label:N", title="current token"),
        altair.Tooltip("head:O", title="head"),
        altair.Tooltip(f"{measure}:Q", title=measure, format=".3f"),
    ]
    strokes = (
        points.transform_filter("datum.token === marked_token")
        .transform_calculate(label=_theme.token_label("token", "token_text"))
        .mark_rule(strokeWidth=2, color=altair.ExprRef("ink"), aria=False)
    )
    return strokes.encode(
        x=altair.X(f"{measure}:Q"),
        y=altair.value(altair.ExprRef("height - 16")),
        y2=altair.value(altair.ExprRef("height")),
        tooltip=tooltip,
    )


def alt(data, what, measure, state):
    """Alt text: the median of the layer, and the heads with the smallest and largest median."""
    layer = _controls.values(_updates.controls(data), state)["layer"]
    points = data.updates(layer)["points"]
    medians = [np.median(points[measure][points["head"] == head]) for head in range(data.heads)]
    low, high = int(np.argmin(medians)), int(np.argmax(medians))
    return (
        f"Histogram of {what} in layer {layer}, {data.heads} heads stacked. "
        f"The median over all heads and tokens is {number(np.median(points[measure]))}; by head it "
        f"goes from {number(medians[low])} (head {low}) to {number(medians[high])} (head {high})."
    )


def medians(data, measure, state):
    """Median of each head at the layer of `state`, float [head], and of all together."""
    points = _updates.points(data, state)
    heads = [np.median(points[measure][points["head"] == head]) for head in range(data.heads)]
    return np.array(heads), float(np.median(points[measure]))
