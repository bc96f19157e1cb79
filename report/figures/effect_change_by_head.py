"""How much more or less each head adds by itself to the next token than in another model."""

import altair
import numpy as np

from report.datasets.formats import changes
from report.figures.parts import marking, over_models, signed_map, theme
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.figures.parts.layers import layered
from report.figures.parts.signed_map import Cells
from report.kinds.difference.beside import DISTANCE, EFFECT
from report.kinds.difference.data import DifferenceData
from report.text import count, number, signed

ASPECT, PHONE_ASPECT = 1.5, 1.0

NAMED = 3
"""Heads whose effect changed most and that are named."""


def left_out(data: DifferenceData) -> str:
    return data.no_effects


def title(data: DifferenceData) -> str:
    return "What heads add to the next token: more, or less"


def caption(data: DifferenceData) -> str:
    return (
        f"A mark is how much more or less a head adds than in {data.reference}.\n"
        "What a head adds by itself to the logit of the token that comes next, less the mean over "
        "the vocabulary, is its direct effect, here the mean over all tokens of all texts. A mark "
        "that points up is a head that adds more, one that points down adds less; the larger its "
        "area, the more; less than a twentieth of the largest change has none. Grey marks are "
        "changes of no more than two standard errors over texts, or than two halves of the texts "
        f"are apart in {data.reference}, where no weight changed. What a head does by way of "
        "later layers is not in it. Token 0 of each text is left out."
    )


def use(data: DifferenceData) -> str:
    return (
        "Point at a cell, or use the arrow keys, to read its change, and how far the head's "
        "attention moved. Click on it, and other figures show that head."
    )


def chart(data: DifferenceData, **state: str) -> altair.LayerChart:
    table = altair.Chart(altair.NamedData("rows"))
    sides = {"layer": data.layers, "head": data.heads}
    shape = Cells(_axis(altair.X, "layer", sides), _axis(altair.Y, "head", sides), *sides.values())
    told = [altair.Tooltip("told:N", title="title")]
    clear, rest = (table.transform_filter(f"{no}datum.clear") for no in ("", "!"))
    legend = signed_map.legend("adds more", "adds less")
    grey = theme.themed(*theme.CONTEXT.values())
    drawn = layered(
        signed_map.ground(table, shape, told),
        signed_map.marks(rest, shape, legend, grey),
        signed_map.marks(clear, shape, legend),
        signed_map.marked(table, shape, marking.HEAD),
        *signed_map.names(table, shape, f"datum.layer > {0.75 * data.layers}"),
    )
    return theme.frame(
        drawn,
        theme.Source(over_models.ROWS, "tables", ["rows"], tokens=None),
        description=f"{title(data)}: a map of heads",
        params=marking.marked("layer", "head"),
        walk=["layer", "head"],
    )


def _axis(channel, field, sides):
    size = sides[field]
    axis = altair.Axis(
        title=f"{field} (index from 0)",
        values=list(range(0, size, max(1, -(-size // 16)))),
        labelAngle=0,
        domain=False,
        ticks=False,
    )
    return channel(f"{field}:O", axis=axis)


def rows(data: DifferenceData, **state: str) -> dict[str, Rows]:
    change, clear = _changes(data)
    before, error, halves = (
        data.column(column, EFFECT.name)
        for column in (changes.REFERENCE, changes.ERROR, changes.HALVES)
    )
    moved = data.of_heads(DISTANCE.name, DISTANCE.name, "corpus")
    most = float(np.abs(change).max()) or 1.0
    named = {int(at) for at in np.argsort(-np.abs(change), axis=None, kind="stable")[:NAMED]}
    found = []
    for place, ((layer, head), value) in enumerate(np.ndenumerate(change)):
        at = layer, head
        name = head_label(layer, head)
        now = float(before[at] + value)
        found.append(
            {
                "layer": layer,
                "head": head,
                "value": float(value),
                "size": abs(float(value)) / most,
                "clear": bool(clear[at]),
                "name": name if place in named and value else "",
                "told": f"{name}: {_logits(before[at])} → {_logits(now)} logits, "
                f"{_logits(value)} ± {number(float(error[at]))}; two halves of the texts are "
                f"apart by {number(abs(float(halves[at])))}; its attention moved by "
                f"{number(float(moved[at]))}",
            }
        )
    return {"rows": found}


def _changes(data):
    """The change of each head, float [layer, head], and whether it is beyond what texts explain."""
    change, error, halves = (
        np.nan_to_num(data.column(column, EFFECT.name))
        for column in (changes.CHANGE, changes.ERROR, changes.HALVES)
    )
    return change, np.abs(change) > np.maximum(2 * error, np.abs(halves))


def _logits(value):
    return signed(float(value))


def seen(data: DifferenceData, **state: str) -> str:
    """Which heads add more and less, how many changes are clear, and whether heads whose attention
    moved far are those."""
    change, clear = _changes(data)
    if not change.any():
        return f"Every head adds what it adds in {data.reference}."
    said = []
    for sign, verb in ((1, "gains"), (-1, "loses")):
        layer, head = np.unravel_index(int((sign * change).argmax()), change.shape)
        if sign * change[layer, head] > 0:
            value = _logits(change[layer, head])
            said.append(f"{head_label(int(layer), int(head))} {verb} most ({value} logits)")
    moved = data.of_heads(DISTANCE.name, DISTANCE.name, "corpus")
    with np.errstate(invalid="ignore"):
        alike = float(np.corrcoef(moved.ravel(), np.abs(change).ravel())[0, 1])
    return (
        f"{' and '.join(said)}. In {data.label}, the change is beyond what the choice of texts "
        f"explains in {count(int(clear.sum()), 'head')} of {change.size}. Over all heads, its size "
        f"and how far attention moved correlate by {number(alike)}."
    )


def alt(data: DifferenceData, **state: str) -> str:
    return (
        f"Map of {data.layers} layers of {count(data.heads, 'head')} in {data.label} beside "
        f"{data.reference}. {seen(data, **state)}"
    )
