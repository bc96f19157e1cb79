"""What is told of one head of an atlas: what it does most beside its control, and if it matters."""

from dataclasses import dataclass

import numpy as np

from report.kinds.atlas import beside
from report.kinds.atlas.data import AtlasData

FIRST = 3
"""Measures of a head that are named, those in which its place among all heads is highest."""

ERRORS = 2
"""Standard errors of their difference within which a control is as high as a value."""

EFFECTS = (beside.LOST, beside.DIRECT)
"""What says whether a head matters, and not what it does."""


@dataclass(frozen=True)
class Control:
    """What a measure is compared with, in few words."""

    short: str
    """Beside a number."""
    on: str
    """Where the control was measured, after a number."""
    cause: str = ""
    """What a value does not come of where it is no higher than there."""
    labels: bool = False
    """Whether the name of the measure says that it comes of that."""


SHUFFLED = Control("shuffled tokens", "on shuffled tokens", "the order of the text")
CONTROLS = (
    {
        beside.INDUCTION.name: Control(
            "nothing repeated",
            "where nothing is repeated",
            "the repetition",
            labels=True,
        ),
        beside.SUCCESSOR.name: Control(
            "other orders",
            "in other orders of the words",
            "their order",
            labels=True,
        ),
    }
    | {
        each.name: Control(
            "other words",
            "of the tokens of other words",
            "the word that is read",
            labels=True,
        )
        for each in (beside.COPYING, beside.SUPPRESSION)
    }
    | {
        each.name: Control("rest of the layer", "for the other heads of its layer")
        for each in EFFECTS
    }
)
"""Measure -> its control; of a measure of attention it is `SHUFFLED`."""


def control(measure: str) -> tuple[str, str]:
    """What the control of a measure is: in two words or three, and in full."""
    short = CONTROLS.get(measure, SHUFFLED).short
    return short, beside.CONTROLS.get(measure, beside.SHUFFLED)


def of_heads(data: AtlasData) -> list[list[str]]:
    """By layer and head, what each does, a line, and whether it matters, perhaps a second one."""
    places = {name: places_of(data.of_heads(name, name, "corpus")) for name in data.words}
    lines = [_of_head(data, places, at) for at in np.ndindex(data.layers, data.heads)]
    return [lines[at : at + data.heads] for at in range(0, len(lines), data.heads)]


def places_of(values: np.ndarray) -> np.ndarray:
    """The place of each head among all, 1 for the highest value; NaN where there is none; values:
    float [layer, head]."""
    flat = values.ravel()
    higher = (flat[None] > flat[:, None]).sum(1) + 1.0
    return np.where(np.isnan(flat), np.nan, higher).reshape(values.shape)


def _of_head(data, places, at):
    does = _does(data, places, at)
    matters = " ".join(filter(None, (_effect(data, each, at) for each in EFFECTS)))
    return f"{does}\n{matters}".strip()


def _does(data, places, at):
    """In which measures its place is highest, each beside its control, and what follows if that is
    as high."""
    names = [name for name in places if name not in [each.name for each in EFFECTS]]
    known = [name for name in names if not np.isnan(places[name][at])]
    known.sort(key=lambda name: (places[name][at], (*beside.ALSO, name).index(name)))
    known = known[:FIRST]
    if not known:
        return ""
    named = [f"{_place(places[name][at])} in {_beside(data, name, at)}" for name in known]
    does = f"Of {data.layers * data.heads} heads, L{at[0]}H{at[1]} is {_listed(named)}."
    alike: dict[Control, list[str]] = {}
    for name in known:
        if _compared(data, name, at):
            title = f"“{data.words[name].title}”"
            alike.setdefault(CONTROLS.get(name, SHUFFLED), []).append(title)
    return does + "".join(_not_of(control, titles) for control, titles in alike.items())


def beside_control(data: AtlasData, measure: str, at: tuple[int, int]) -> str:
    """The control of a number in a sentence, as " (shuffled tokens: 33 %)"; "" for none.

    at: layer and head
    """
    control = _as_text(data, measure, "control", at)
    return f" ({CONTROLS.get(measure, SHUFFLED).short}: {control})" if control else ""


def _not_of(control, titles):
    """What follows for measures that are no higher than their control."""
    holds = f", and the label {_listed(titles)} does not hold" if control.labels else ""
    return f" {_listed(titles)}: no lower {control.on}, so not due to {control.cause}{holds}."


def _beside(data, name, at):
    value, control = (_as_text(data, name, source, at) for source in ("corpus", "control"))
    if not control:
        return f"“{data.words[name].title}” ({value})"
    on, compared = CONTROLS.get(name, SHUFFLED).on, _compared(data, name, at)
    return f"“{data.words[name].title}” ({value}; {compared}{on}, {control})"


def _effect(data, measure, at):
    name = measure.name
    value = _as_text(data, name, "corpus", at) if name in data.words else ""
    if not value:
        return ""
    error = data.words[name].as_text(float(data.of_heads(f"error_{name}", name, "corpus")[at]))
    others = _as_text(data, name, "control", at)
    compared = f"; {CONTROLS[name].on}, {others}" if others else ""
    return f"{measure.title}: {value} ± {error.removeprefix('+')} {measure.unit}{compared}."


def _compared(data, name, at):
    """Whether a control cannot be told from a value, or is above it; "" where it is below."""
    values, errors = (
        [float(data.of_heads(each, name, source)[at]) for source in ("corpus", "control")]
        for each in (name, f"error_{name}")
    )
    least = ERRORS * float(np.hypot(*np.nan_to_num(errors)))
    if values[1] - values[0] > least:
        return "higher "
    return "as high " if values[0] - values[1] <= least else ""


def _as_text(data, name, source, at):
    """A number in a sentence; "" for none."""
    value = float(data.of_heads(name, name, source)[at])
    return "" if np.isnan(value) else data.words[name].as_text(value).replace("-", "−")


def _place(place):
    """As "1st"."""
    number = int(place)
    teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _listed(parts):
    """As "a, b and c"."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
