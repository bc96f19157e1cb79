"""What changed in one head's attention between two models, token by token of a short text."""

import altair
import numpy as np

from report.datasets.formats.attention_pair import ERROR, FILE
from report.figures.parts import cells, map_part, marking, raster, signed_map, theme
from report.figures.parts import token_names as names
from report.figures.parts.choices import Control, Switch
from report.figures.parts.figure import Rows
from report.figures.parts.heads import head_label
from report.figures.parts.layers import layered
from report.kinds.difference.data import DifferenceData
from report.text import count, percent, set_apart

ASPECT, PHONE_ASPECT = 1.0, 0.9
PAINTS_PIXELS = True
"""`rows` paints with colours of its own, so it must be told `dark`."""

PARAM = "shows"

CHANGE = "change"
SHOWN = {"reference": "reference", CHANGE: "change", "model": "model"}
"""Values of the switch -> what a reader reads: a, b − a, b."""

MARKED = 0.1
"""A change of a probability from which on its cell has a mark."""

GAINED, LOST = "gets more", "gets less"

KINDS = {GAINED: signed_map.SIGNS[signed_map.FOR], LOST: signed_map.SIGNS[signed_map.AGAINST]}
"""Of the marks -> (shape, colour on light, colour on dark)."""


def left_out(data: DifferenceData) -> str:
    return data.no_maps


def title(data: DifferenceData) -> str:
    return "What changed in the attention of {chosen}"


def caption(data: DifferenceData) -> str:
    return (
        "A row looks, a column is looked at.\n"
        f"A colour is the probability in the model less that in the reference, {data.reference}: "
        "of a current token (query) for a target (key). Marks are on cells "
        f"whose probability changed by {percent(MARKED)} of the row or more: they point up where "
        "the target gets more, down where it gets less. All heads and models have the same "
        "colours, from −100 % to +100 %; they are stretched (by the square root), so that small "
        "changes are seen. Maps of one model are on the same scale, from 0. Each "
        f"probability was rounded, so a change may be off by {percent(ERROR, 1)}. {_which(data)}"
    )


def _which(data):
    all_heads = data.layers * data.heads
    which = "all heads" if len(data.mapped) == all_heads else "those that moved most"
    return (
        f"The text is the first of the {data.texts['texts']} that is short enough for a map. Heads "
        f"are sorted by how far they moved over all texts; {which} can be chosen, "
        f"{len(data.mapped)} of {all_heads}."
    )


def use(data: DifferenceData) -> str:
    return (
        "The switch “Attention” leads from the change to the map of either model. Point at a cell, "
        "or use the arrow keys, to read both probabilities and the change. A click on a head in "
        "another figure shows it here, if its map was kept."
    )


def controls(data: DifferenceData) -> list[Control | Switch]:
    labels = [head_label(*head) for head in data.mapped]
    return [
        Control("chosen", "Head", 0, len(labels) - 1, 0, labels=labels),
        Switch(PARAM, "Attention", SHOWN, CHANGE, look=True),
    ]


def chart(data: DifferenceData, **state: int | str) -> altair.LayerChart:
    before, _ = data.pair(state["chosen"])
    causal, size = before.visible.backward, len(data.tokens)
    words = f"{PARAM} === '{CHANGE}' ? 'change of probability' : 'probability'"
    drawn = layered(
        cells.picture(),
        cells.shades(
            signed_map.RAMP,
            **cells.legend_place(causal, 0),
            title=" ",
            values=[-1, -(MARKED**0.5), MARKED**0.5, 1],
            labelSeparation=2,
            labelExpr=f"{PARAM} === '{CHANGE}' ? format(datum.value * abs(datum.value), '+.0%') : "
            "datum.value < 0 ? '' : format(datum.value * datum.value, '.0%')",
        ),
        *([_legend_title(words)] if causal else []),
        cells.guides("size", causal),
        cells.markers("size", causal, KINDS, legend=_legend()),
        cells.cursor(),
    ).resolve_scale(color="independent", shape="independent")
    return theme.frame(
        drawn,
        theme.Source(
            FILE.format("{chosen}"), "attention_change", ["map", "markers", "cursor", "no_shade"]
        ),
        description="What changed in a head's attention: current token by target token",
        params=[
            names.labels(data.tokens),
            *marking.marked("token"),
            altair.param(name="size", value=size),
            altair.param(name=PARAM, value=state[PARAM]),
            altair.param(name="shade_low", value=-1),
            altair.param(name="shade_high", value=1),
            altair.param(name="legend_width", expr="clamp(width * 0.36, 120, 206)"),
        ],
        ramp=signed_map.RAMP,
        kinds={kind: list(look) for kind, look in KINDS.items()},
        paper=theme.PAPER,
        names={"reference": f"in {data.reference}", "model": f"in {data.label}"},
        least=MARKED,
    )


def _legend():
    """Of the marks, which only a change has."""
    parts = ("title", "label", "symbol")
    shown = {f"{part}Opacity": theme.only(f"{PARAM} === '{CHANGE}'") for part in parts}
    return {"title": f"by {percent(MARKED)} or more", **shown}


def _legend_title(words):
    style = {"align": "left", "baseline": "top", "fontWeight": 500, "aria": False}
    return theme.written(words, map_part.LEGEND_WITHIN, 0, **style)


def rows(data: DifferenceData, *, dark: bool = False, **state: int | str) -> dict[str, Rows]:
    values, seen_ = _values(data, **state)
    stretched = np.where(seen_, np.sign(values) * np.sqrt(np.abs(values)), -np.inf)
    picture = raster.raster(stretched, -1, 1, signed_map.RAMP["dark" if dark else "light"])
    return {
        "map": [{"image": raster.data_url(picture)}],
        "markers": _markers(values) if state[PARAM] == CHANGE else [],
        "cursor": [],
        "no_shade": [],
    }


def _values(data, chosen, shows):
    """What the map shows, float64 [query, key], and which cells are visible."""
    before, now = data.pair(chosen)
    maps = {"reference": before.probability, "model": now.probability}
    maps[CHANGE] = now.probability - before.probability
    seen_ = before.visible.mask()
    return np.where(seen_, maps[shows], 0.0), seen_


def _markers(change):
    return [
        {
            "current_token": int(current),
            "target_token": int(target),
            "kind": GAINED if change[current, target] > 0 else LOST,
        }
        for current, target in np.argwhere(np.abs(change) >= MARKED)
    ]


def seen(data: DifferenceData, **state: int | str) -> str:
    """Where most was gained and lost."""
    before, now = data.pair(state["chosen"])
    change, _ = _values(data, **state | {PARAM: CHANGE})
    name = head_label(before.layer, before.head)
    if np.abs(change).max() <= ERROR:
        return f"{name} gives every token what it gives it in {data.reference}."
    said = []
    for sign, most in ((1, "most is gained"), (-1, "most is lost")):
        at = np.unravel_index(int((sign * change).argmax()), change.shape)
        if sign * change[at] > ERROR:
            shares = f"{percent(before.probability[at])} to {percent(now.probability[at])}"
            current, target = (_word(data, int(n)) for n in at)
            to = "itself" if at[0] == at[1] else target
            said.append(f"{most} from {current} to {to}, {shares}.")
    number = int((np.abs(change) >= MARKED).sum())
    sentences = [f"In {name}, {said[0]}", *(f"{each[:1].upper()}{each[1:]}" for each in said[1:])]
    return f"{' '.join(sentences)} {count(number, 'cell')} changed by {percent(MARKED)} or more."


def _word(data, token):
    name = data.tokens[token].name
    return f"“{set_apart(name.strip() or name)}”"


def alt(data: DifferenceData, **state: int | str) -> str:
    return (
        f"Map of {len(data.tokens)} tokens by their targets, in {data.label} beside "
        f"{data.reference}. {seen(data, **state)}"
    )
