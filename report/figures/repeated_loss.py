"""What saying it twice is worth: the loss on random tokens said again, step by step."""

from itertools import pairwise

import altair
import numpy as np

from report.figures import _controls, _sweep, _theme
from report.text import number

ASPECT, PHONE_ASPECT = 1.6, 1.0

LINES = {
    "second": ("said again", [1, 0], _theme.KINDS["another token"][1:]),
    "first": ("random tokens, said first", [7, 3], tuple(_theme.INK.values())),
    "unrepeated": ("same places, not said before", [2, 2], tuple(_theme.SOFT.values())),
    "texts": ("short texts", [10, 3, 2, 3], tuple(_theme.MASS.values())),
}
"""Which loss -> (name, dash, (colour on light, colour on dark))."""


def title(data):
    return "What saying it twice is worth"


def left_out(data):
    """Why this figure cannot be drawn, in one sentence; "" if it can."""
    if reason := _sweep.no_training(data):
        return reason
    if not all(model.predicts for model in data.training):
        return "These models do not predict the next token, or were measured in part."
    return ""


def caption(data):
    sweep = data.training[-1].manifest["sweep"]
    more = ""
    if _sweep.changes_at(data) is not None:
        more = " The dotted rule is where the training begins to drill other repetitions, too."
    return (
        "The loss is the mean negative logarithm of the probability that the model gave to the "
        f"right token: 0 is certain. “Said again” is over {sweep['sequences']} sequences of "
        f"{sweep['length']} random tokens that are said twice, and over the same tokens as “said "
        "first”; the first of each copy is left out, as nothing announces it. “Not said before”, "
        "the control, is the same tokens at the same places after other random tokens: how far "
        "“said again” lies below it is what having been said is worth. Short texts are the corpus."
        f"{more} Steps are drawn closer together the later they are."
    )


def controls(data):
    return []


def chart(data, **state):
    at = _controls.at_state(controls(data), state)
    steps = [model.step for model in data.training]
    x = _sweep.step_axis(steps)
    y = altair.Y("loss:Q", title="loss, nats a token").scale(zero=True, nice=True)
    y = y.axis(tickCount=6)
    names = [name for name, *_ in LINES.values()]
    colour = altair.Color("line:N", legend=None).scale(
        domain=names, range=[_theme.themed(*colours) for *_, colours in LINES.values()]
    )
    dash = altair.StrokeDash("line:N", legend=None).scale(
        domain=names, range=[dash for _, dash, _ in LINES.values()]
    )
    table = altair.Chart(altair.NamedData("rows"))
    tooltip = [
        altair.Tooltip("line:N", title="loss on"),
        altair.Tooltip("step:Q", title="training step", format=",d"),
        altair.Tooltip("loss:Q", title="nats a token", format=".2f"),
    ]
    points = table.mark_circle(size=34, opacity=1, aria=False)
    around = table.mark_circle(size=260, color="transparent", aria=False)
    named = table.transform_filter("datum.named === 1")
    texts = [
        mark.encode(x=x, y=y, text="line:N")
        for up, shift in ((1, -11), (0, 15))
        for mark in _theme.halo(
            named.transform_filter(f"datum.above === {up}").mark_text, dy=shift, fontWeight=600
        )
    ]
    return _theme.frame(
        altair.layer(
            *_sweep.turn(data, "more kinds of drill"),
            table.mark_line(strokeWidth=2, aria=False).encode(
                x=x, y=y, color=colour, strokeDash=dash
            ),
            points.encode(x=x, y=y, color=colour),
            around.encode(x=x, y=y, tooltip=tooltip),
            *texts,
        ),
        name="repeated_loss",
        description=f"{title(data)}: lines of losses by training step",
        controls=at,
        url=_sweep.ROWS,
        decode="tables",
        datasets=["rows"],
        tokens=None,
        walk=["step", "line"],
    )


def rows(data, **state):
    _controls.at_state(controls(data), state)
    losses = {of: [model.loss(of) for model in data.training] for of in LINES}
    places = {of: _place(of, losses) for of in LINES}
    return [
        {
            "step": model.step,
            "line": LINES[of][0],
            "loss": losses[of][at],
            "error": model.loss_error(of),
            "named": int(places[of][0] == at),
            "above": places[of][1],
        }
        for of in LINES
        for at, model in enumerate(data.training)
    ]


def _place(of, losses):
    """(where along a line its name stands, 1 if above it): farthest from all other lines, and on
    the side of the farther neighbour; not at the ends, where the plot ends too."""
    own = np.array(losses[of])
    others = np.array([values for name, values in losses.items() if name != of]) - own
    inner = slice(1, -1) if len(own) > 4 else slice(None)
    far = np.abs(others).min(0)[inner]
    at = int(far.argmax()) + (inner.start or 0)
    over, under = others[:, at][others[:, at] >= 0], -others[:, at][others[:, at] < 0]
    return at, int(over.min(initial=np.inf) >= under.min(initial=np.inf))


def seen(data, **state):
    gains = [(model.loss("unrepeated") - model.loss("second"), model) for model in data.training]
    steps = [b[0] - a[0] for a, b in pairwise(gains)]
    at = int(np.argmax(steps))
    (before, low), (after, high) = gains[at], gains[at + 1]
    return (
        f"Having been said before makes random tokens {number(gains[-1][0])} nats easier than in "
        f"the control at step {gains[-1][1].step:,}; the largest gain is from step {low.step:,} "
        f"({number(before)}) to step {high.step:,} ({number(after)})."
    )


def alt(data, **state):
    said = "; ".join(
        f"{LINES[of][0]} from {data.training[0].loss(of):.2f} to {data.training[-1].loss(of):.2f}"
        for of in LINES
    )
    steps = f"step {data.training[0].step:,} to step {data.training[-1].step:,}"
    return f"Lines of the loss in nats a token, {steps}: {said}."
