"""What a target token brings with it, whoever looks: its bias term against its position term."""

import altair
import numpy as np

from report.errors import ReportError
from report.figures import _controls, _terms, _theme

ASPECT = 1.6
PHONE_ASPECT = 1.05
PAIR = ("bias", "position")


def title(data):
    return f"Bias vs {_names(data)['position']}"


def caption(data):
    position = _names(data)["position"]
    return (
        f"The bias term and the {position} term of a score depend on the target token alone; "
        f"{position} does so up to a constant for each current token, which changes nothing after "
        "softmax. For the same reason each line has its mean removed: only the "
        f"trend matters. Where the bias falls while {position} rises, the head works against its "
        "pull to the recent past; the dashed line is the straight line that fits the bias best. "
        "Both are in units of score (natural logarithm)."
    )


def controls(data):
    return [_controls.layer_control(data), _controls.head_control(data)]


def _names(data):
    names = _terms.names(data)
    if not set(PAIR) <= set(names):
        raise ReportError(
            f"bias_vs_position compares the terms {' and '.join(PAIR)}, this model has "
            f"{', '.join(names)}; leave the figure out of the article."
        )
    return names


def chart(data, **state):
    names = _names(data)
    targets = altair.Chart(altair.NamedData("targets"))
    return _theme.frame(
        altair.layer(
            _zero(),
            _marked_token(),
            _trend(targets),
            _line(targets, "bias", 1.1, 0.7),
            _points(targets),
            _line(targets, "position", 2.2, 1),
            *(label for term in PAIR for label in _label(term, names[term])),
            _hover(targets, names),
        ),
        name="bias_vs_position",
        description=f"{title(data)}: two terms of each target's score, mean removed",
        controls=_controls.at_state(controls(data), state),
        url="attention/{layer}/{head}.json",
        decode="bias_vs_position",
        datasets=["targets"],
        params=_theme.marked("token"),
        terms=names,
    )


def _x():
    return altair.X("token:Q", title="target token (index)").scale(nice=False, zero=False).axis(
        grid=False, tickMinStep=1, format="d"
    )  # fmt: skip


def _y(term):
    # padding: the name of a line that ends at the top stands above its end
    y = altair.Y(f"{term}:Q", title="term of the score, mean removed")
    return y.axis(tickCount=6).scale(padding=22, nice=False)


def _zero():
    return altair.Chart(altair.InlineData([{}])).mark_rule(
        strokeWidth=1, opacity=0.5, aria=False
    ).encode(y=_theme.at(0))  # fmt: skip


def _marked_token():
    shown = _theme.only("marked_token >= 0")
    return altair.Chart(altair.InlineData([{}])).mark_rule(
        strokeDash=[3, 2], opacity=shown, aria=False
    ).encode(x=_theme.at(altair.ExprRef("max(marked_token, 0)")))  # fmt: skip


def _line(targets, term, width, opacity):
    colour = _theme.themed(*_theme.TERMS[term])
    return targets.mark_line(strokeWidth=width, opacity=opacity, color=colour, aria=False).encode(
        x=_x(), y=_y(term)
    )


def _points(targets):
    colour = _theme.themed(*_theme.TERMS["bias"])
    return targets.mark_circle(
        size=altair.ExprRef("width > 500 ? 16 : 9"), opacity=0.9, color=colour, aria=False
    ).encode(x=_x(), y=_y("bias"))


def _trend(targets):
    colour = _theme.themed(*_theme.TERMS["bias"])
    line = targets.transform_regression("token", "bias").mark_line(
        strokeDash=[6, 4], strokeWidth=2, color=colour, aria=False
    )
    return line.encode(x=_x(), y=_y("bias"))


def _label(term, name):
    """The line's name at the end where there is room: ALiBi's line ends at the upper right."""
    at = "datum.last" if term == "position" else "round(datum.last * 0.03)"
    place = (
        altair.Chart(altair.NamedData("targets"))
        .transform_joinaggregate(last="max(token)")
        .transform_filter(f"datum.token === {at}")
    )
    style = {
        "text": f"{name} term",
        "align": "right" if term == "position" else "left",
        "baseline": "bottom",
        "dx": -4 if term == "position" else 2,
        "dy": -8,
        "fontSize": 12,
        "fontWeight": 600,
        "aria": False,
    }
    paper = altair.ExprRef("paper")  # a rim, so that the name can be read on top of points
    rim = place.mark_text(**style, color=paper, stroke=paper, strokeWidth=5, strokeJoin="round")
    text = place.mark_text(**style, color=_theme.themed(*_theme.TERMS[term]))
    return [layer.encode(x=_x(), y=_y(term)) for layer in (rim, text)]


def _hover(targets, names):
    """A strip a token as wide as the token is apart, unseen: a tooltip without aiming."""
    tooltip = [
        altair.Tooltip("label:N", title="target token"),
        *(altair.Tooltip(f"{term}:Q", title=f"{names[term]} term", format="+.2f") for term in PAIR),
    ]
    strip = targets.transform_calculate(label=_theme.token_label("token", "token_text")).mark_rule(
        color="transparent",
        strokeWidth=altair.ExprRef("max(2, width / max(1, length(data('targets'))))"),
        aria=False,
    )
    return strip.encode(x=_x(), tooltip=tooltip)


def rows(data, **state):
    attention = data.attention(*_controls.values(controls(data), state).values())
    return {"targets": targets(attention, data.tokens)}


def targets(attention, tokens):
    """One dict a target token: token, token_text, and both terms less their means."""
    centred = {}
    for term in PAIR:
        values = attention.terms[term].values
        centred[term] = values - values.mean()
    return [
        {"token": t.index, "token_text": t.label}
        | {term: float(values[t.index]) for term, values in centred.items()}
        for t in tokens
    ]


def alt(data, **state):
    layer, head = _controls.values(controls(data), state).values()
    attention = data.attention(layer, head)
    bias, position = (attention.terms[term].values for term in PAIR)
    places = np.arange(data.length)
    slope = np.polyfit(places, bias, 1)[0] * 100
    other = np.polyfit(places, position, 1)[0] * 100
    name = _names(data)["position"]
    return (
        f"Bias and {name} terms of layer {layer}, head {head} by target token, means removed. "
        f"Over 100 tokens the {name} term changes by {other:+.2f}, the bias by {slope:+.2f} on "
        f"average; the bias of single targets spreads over {np.ptp(bias):.2f}."
    )
