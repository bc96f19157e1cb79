"""Do heads that add much add something new? Orientation against strength of every update."""

import altair
import numpy as np

from report.figures import _controls, _terms, _theme, _updates
from report.figures._updates import controls, left_out, rows  # noqa: F401
from report.text import number, percent

ASPECT = 1.35
PHONE_ASPECT = 0.92


def title(data):
    return "Impact Orientation vs Impact Strength"


def caption(data):
    return (
        f"A point is one token in one head. Impact orientation is the orientation of an update, "
        f"impact strength its magnitude. {_updates.explained(data)} Colour and shape say what the "
        f"head looks at most from that token. {_updates.without_first(data)}"
    )


def chart(data, **state):
    at = _controls.at_state(controls(data), state)
    points = altair.Chart(altair.NamedData("points")).transform_filter(_updates.AFTER_FIRST)
    return _theme.frame(
        altair.layer(
            _updates.zero_line(),
            _cloud(data, points),
            *(ring.encode(**_axes()) for ring in _updates.marked(points, 110)),
        ),
        name="alignment_vs_magnitude",
        description=f"{title(data)}: a scatter plot, one point a token and head",
        controls=at,
        url="updates/{layer}.json",
        decode="tables",
        datasets=["points"],
        shows={"points": _updates.DRAWN},
        params=_updates.params(at),
    )


def _axes():
    return {
        "x": altair.X("alignment:Q", title=f"{_updates.ALIGNMENT} (−1 to 1)").axis(
            tickCount=_theme.ticks_across()
        ),
        "y": altair.Y("magnitude:Q", title=f"{_updates.MAGNITUDE} (ratio)").axis(tickCount=6),
    }


def _cloud(data, points):
    legend = _updates.legend()
    tooltip = [
        altair.Tooltip("label:N", title="current token"),
        altair.Tooltip("head:O", title="head"),
        altair.Tooltip("target_label:N", title="largest target"),
        altair.Tooltip("alignment:Q", title="orientation", format=".3f"),
        altair.Tooltip("magnitude:Q", title="magnitude", format=".3f"),
    ]
    return (
        points.transform_calculate(
            kind=_terms.KIND,
            label=_theme.token_label("token", "token_text"),
            target_label=_theme.token_label("largest_target", "largest_target_text"),
        )
        .mark_point(
            filled=True,
            size=altair.ExprRef(f"width > 500 ? {_updates.point_size(data)} : 16"),
            opacity=0.6,
            aria=False,
        )
        .encode(**_axes(), **_theme.kind_scales(legend), tooltip=tooltip)
    )


def alt(data, **state):
    layer = _controls.values(controls(data), state)["layer"]
    columns = _updates.points(data, state)
    seen = columns["token"] > 0
    alignment, magnitude = columns["alignment"][seen], columns["magnitude"][seen]
    return (
        f"Scatter plot of layer {layer}: {seen.sum()} updates, one a token and head. "
        f"{np.mean(alignment < 0):.0%} point against the hidden state"
        f"{_correlation(alignment, magnitude)}."
    )


def _correlation(alignment, magnitude):
    if min(np.ptp(alignment), np.ptp(magnitude)) == 0:
        return ""  # what does not vary has no correlation
    value = np.corrcoef(alignment, magnitude)[0, 1]
    return f"; the correlation of orientation and magnitude is {value:+.2f}"


def seen(data, **state):
    """On which side most points lie, and whether that goes with how far up they are."""
    columns = _updates.points(data, state)
    after_first = columns["token"] > 0
    alignment, magnitude = columns["alignment"][after_first], columns["magnitude"][after_first]
    against = float(np.mean(alignment < 0))
    side = "against the hidden state" if against >= 0.5 else "along with the hidden state"
    said = f"Of the updates, {percent(max(against, 1 - against))} point {side}"
    if min(np.ptp(alignment), np.ptp(magnitude)) == 0:
        return f"{said}."
    correlation = float(np.corrcoef(alignment, magnitude)[0, 1])
    if abs(correlation) < 0.3:
        more = "how long an update is says little about which way it points"
    else:
        more = f"longer updates tend to lie more to the {'left' if correlation < 0 else 'right'}"
    return f"{said}; {more} (correlation {number(correlation)})."
