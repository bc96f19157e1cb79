"""What saying it twice is worth: the loss on random tokens said again, step by step."""

from itertools import pairwise

import altair
import numpy as np

from report.figures.parts import over_models, theme
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.layers import layered
from report.kinds.sweep.data import SweepData
from report.text import number

ASPECT, PHONE_ASPECT = 1.6, 1.0

LINES = {
    "second": ("second half, said again", [1, 0], theme.KINDS["another token"][1:]),
    "first": ("first half", [7, 3], tuple(theme.INK.values())),
    "unrepeated": ("control, nothing repeated", [2, 2], tuple(theme.SOFT.values())),
    "texts": ("short texts", [10, 3, 2, 3], tuple(theme.MASS.values())),
}
"""Which loss -> (name, dash, (colour on light, colour on dark))."""

LETTER = {"wide": 0.01, "phone": 0.021}
"""Width of a letter of a name, as a fraction of the width of a plot."""
ROOM = 0.08
"""Room enough for a name, as a fraction of the highest loss."""


def title(data: SweepData) -> str:
    return "What saying it twice is worth"


def left_out(data: SweepData) -> str:
    if reason := over_models.no_training(data):
        return reason
    if not all(model.predicts for model in data.training):
        return "These models do not predict the next token, or were measured in part."
    return ""


def caption(data: SweepData) -> str:
    sweep = data.training[-1].manifest["sweep"]
    more = ""
    if over_models.changes_at(data) is not None:
        more = (
            " The thin upright rule is where the training begins to drill other repetitions, too."
        )
    return (
        "A line is the loss on one kind of token: lower is better. At 0, a token is certain. The "
        f"halves are of {sweep['sequences']} sequences of {sweep['length']} random tokens said "
        "twice. The first token of each half is left out, as nothing announces it. The control "
        "has the same tokens at the same places as the second half, after other random tokens. "
        f"Short texts are the corpus.{more} In the grey band the highest induction score rises "
        "most. Steps are drawn closer together the later they are."
    )


def controls(data: SweepData) -> list[Control | Switch]:
    return []


def chart(data: SweepData, **state: int | str) -> altair.LayerChart:
    steps = [model.step for model in data.training]
    x = over_models.step_axis(steps)
    y = altair.Y("loss:Q", title="loss, nats a token").scale(zero=True, nice=True)
    y = y.axis(tickCount=6)
    names = [name for name, *_ in LINES.values()]
    colour = altair.Color("line:N", legend=None).scale(
        domain=names, range=[theme.themed(*colours) for *_, colours in LINES.values()]
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
        mark.encode(x=x, y=altair.Y("name_at:Q"), text=altair.Text("line:N"))
        for up, shift in ((1, -11), (0, 15))
        for mark in theme.halo(
            named.transform_filter(f"datum.above === {up}").mark_text, dy=shift, fontWeight=600
        )
    ]
    return theme.frame(
        layered(
            *over_models.jump(data)[:1],
            *over_models.turn(data),
            table.mark_line(strokeWidth=2, aria=False).encode(
                x=x, y=y, color=colour, strokeDash=dash
            ),
            points.encode(x=x, y=y, color=colour),
            around.encode(x=x, y=y, tooltip=tooltip),
            *texts,
        ),
        theme.Source(over_models.ROWS, "tables", ["rows"], tokens=None),
        description=f"{title(data)}: lines of losses by training step",
        walk=["step", "line"],
    )


def rows(data: SweepData, **state: int | str) -> Rows:
    losses = {of: [model.loss(of) for model in data.training] for of in LINES}
    along = over_models.along([model.step for model in data.training])
    turn = over_models.changes_at(data)
    ruled = None if turn is None else np.interp(turn, [m.step for m in data.training], along)
    places = {of: _place(of, losses, along, ruled) for of in LINES}
    return [
        {
            "step": model.step,
            "line": LINES[of][0],
            "loss": losses[of][at],
            "error": model.loss_error(of),
            "named": int(places[of][0] == at),
            "above": places[of][1],
            "name_at": places[of][2],
        }
        for of in LINES
        for at, model in enumerate(data.training)
    ]


def _place(of, losses, along, ruled):
    """Where the name of a line stands: (index of a step, 1 if above the line else 0, loss).

    The best place is the one farthest from other lines, clear of the line's own bends and near it,
    for the width of a name on a phone too. Places inside the plot go first, then places with enough
    room, then places off the rule at `ruled`.

    of: key of `LINES`; losses: dict of such a key to the loss at each step
    along: where the steps lie along the axis, from 0 to 1; ruled: likewise, or None
    """
    wide, half = (len(LINES[of][0]) * LETTER[where] / 2 for where in ("wide", "phone"))
    enough = ROOM * max(map(max, losses.values()))
    candidates = []
    for at, middle in enumerate(along):
        under = np.union1d(along, [middle - half, middle + half])
        under = under[(abs(under - middle) <= half) & (under >= 0) & (under <= 1)]
        own, *others = (
            np.interp(under, along, losses[name]) for name in sorted(losses, key=lambda n: n != of)
        )
        here = losses[of][at]
        nearest = min(abs(values[at] - here) for name, values in losses.items() if name != of)
        inside = half <= middle <= 1 - half or len(along) <= 4
        free = ruled is None or abs(middle - ruled) > wide
        for above in (1, 0):
            edge = float(own.max() if above else own.min())
            gaps = [other - edge if above else edge - other for other in others]
            beyond = [gap.min() for gap in gaps if gap.max() > 0]
            room = min([nearest, *beyond, *([] if above else [edge])])
            room -= abs(edge - here) / 2
            candidates.append((inside, room > enough, free, room, -at, above, edge))
    *_, at, above, edge = max(candidates)
    return -at, above, edge


def seen(data: SweepData, **state: int | str) -> str:
    gains = [(model.loss("unrepeated") - model.loss("second"), model) for model in data.training]
    steps = [b[0] - a[0] for a, b in pairwise(gains)]
    at = int(np.argmax(steps))
    (before, low), (after, high) = gains[at], gains[at + 1]
    return (
        f"At step {gains[-1][1].step:,}, the second half costs {number(gains[-1][0])} nats less "
        f"than the control. The difference rises most from step {low.step:,} ({number(before)}) "
        f"to step {high.step:,} ({number(after)})."
    )


def alt(data: SweepData, **state: int | str) -> str:
    said = "; ".join(
        f"{LINES[of][0]} from {data.training[0].loss(of):.2f} to {data.training[-1].loss(of):.2f}"
        for of in LINES
    )
    steps = f"step {data.training[0].step:,} to step {data.training[-1].step:,}"
    return f"Lines of the loss in nats a token, {steps}: {said}."
