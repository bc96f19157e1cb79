"""Why a target is attended to: the shares of content, bias and position in its score."""

import altair
import numpy as np

from report.errors import ReportError
from report.figures import _controls, _terms, _ternary, _theme

ASPECT = 1.12
PHONE_ASPECT = 0.98
CORNERS = ("content", "bias", "position")
"""The terms at the top, at the lower left and at the lower right of the triangle."""


def title(data):
    return "Attention Breakdown"


def caption(data):
    names = _names(data)
    return (
        "A point is the target that the slider picks for a current token: 0 is its largest "
        "target, 1 the second largest. Its place says which part each term has in the score: at "
        f"a corner the score is all {names['content']}, all {names['bias']} or all "
        f"{names['position']}; read each axis along its own grid lines. So that no term is "
        "negative, each is shifted by its smallest value over the targets that the current token "
        "can see, which changes nothing after softmax. Targets whose three terms are all at that "
        "minimum have no place and are left out: token 0, which has one target only, is always "
        "one of them. Colour is the probability."
    )


def controls(data):
    return [
        _controls.layer_control(data),
        _controls.head_control(data),
        _controls.Control("sort_idx", "Rank (0 = largest)", 0, 10, 0),
    ]


def _names(data):
    names = _terms.names(data)
    if set(names) != set(CORNERS):
        raise ReportError(
            f"attention_breakdown shows the terms {', '.join(CORNERS)}, this model has "
            f"{', '.join(names)}; leave the figure out of the article."
        )
    return names


def chart(data, **state):
    names = _names(data)
    return _theme.frame(
        altair.layer(*_ternary.layers(CORNERS, names), _points(names), _marked()),
        name="attention_breakdown",
        description=title(data) + ": shares of three score terms, a ternary plot",
        controls=_controls.at_state(controls(data), state),
        url="attention/{layer}/{head}.json",
        decode="attention_breakdown",
        datasets=["points"],
        params=_theme.marked("token") + _ternary.params(),
        terms=names,
    )


def _points(names):
    legend = altair.Legend(
        orient="top-right",
        title="probability",
        gradientLength=altair.ExprRef("clamp(height * 0.22, 60, 120)"),
        gradientThickness=10,
        values=[0, 0.5, 1],
        format=".1f",
        offset=2,
    )
    scale = altair.Scale(domain=[0, 1], range=_theme.ramp(_theme.PROBABILITY_RAMP))
    tooltip = [
        altair.Tooltip("current:N", title="current token"),
        altair.Tooltip("target:N", title="target token"),
        altair.Tooltip("distance:Q", title="tokens in the past"),
        altair.Tooltip("probability:Q", title="probability", format=".3f"),
        *(
            altair.Tooltip(f"{term}:Q", title=f"{names[term]} term", format=".2f")
            for term in CORNERS
        ),
    ]
    mark = altair.Chart(altair.NamedData("points")).mark_circle(
        size=altair.ExprRef("width > 500 ? 46 : 30"),
        opacity=0.85,
        stroke=altair.ExprRef("paper"),
        strokeWidth=0.5,
        aria=False,
    )
    return _placed(mark).encode(
        **_ternary.position("x", "y"),
        color=altair.Color("probability:Q", scale=scale, legend=legend),
        tooltip=tooltip,
    )


def _marked():
    ring = altair.Chart(altair.NamedData("points")).mark_point(
        size=150, strokeWidth=2, filled=False, color=altair.ExprRef("ink"), aria=False
    )
    return (
        _placed(ring)
        .transform_filter(
            "datum.current_token === marked_token || datum.target_token === marked_token"
        )
        .encode(**_ternary.position("x", "y"))
    )


def _placed(mark):
    top, _, right = (f"datum.share_{term}" for term in CORNERS)
    return mark.transform_calculate(
        x=f"{right} + {top} / 2",
        y=f"{top} * {_ternary.HEIGHT}",
        current=_theme.token_label("current_token", "current_text"),
        target=_theme.token_label("target_token", "target_text"),
    )


def rows(data, **state):
    layer, head, sort_idx = _controls.values(controls(data), state).values()
    return {"points": points(data.attention(layer, head), data.tokens, sort_idx)}


def points(attention, tokens, sort_idx):
    """One dict for each current token that has a place in the triangle.

    Keys: current_token, current_text, target_token, target_text, distance, probability, the
    three terms as they are, and share_<term>: the shifted terms, divided by their sum.
    """
    terms = {name: attention.terms[name].matrix() for name in CORNERS}
    found = []
    for current, target in enumerate(attention.largest_targets[:, sort_idx].tolist()):
        if target < 0:
            continue
        values = {name: float(term[current, target]) for name, term in terms.items()}
        shifted = {
            name: float(term[current, target] - term[current, : current + 1].min())
            for name, term in terms.items()
        }
        total = sum(shifted.values())
        if total > 0:
            found.append(
                {
                    "current_token": current,
                    "current_text": tokens[current].label,
                    "target_token": target,
                    "target_text": tokens[target].label,
                    "distance": current - target,
                    "probability": float(attention.probability[current, target]),
                    **values,
                    **{f"share_{name}": value / total for name, value in shifted.items()},
                }
            )
    return found


def alt(data, **state):
    layer, head, sort_idx = _controls.values(controls(data), state).values()
    found = points(data.attention(layer, head), data.tokens, sort_idx)
    names = _names(data)
    start = f"Ternary plot of layer {layer}, head {head}, target number {sort_idx} by size: "
    if not found:
        return start + "no target has a place in it."
    means = [np.mean([p[f"share_{name}"] for p in found]) for name in CORNERS]
    parts = ", ".join(f"{names[n]} {m:.0%}" for n, m in zip(CORNERS, means, strict=True))
    return f"{start}{len(found)} points; on average the score is {parts}."
