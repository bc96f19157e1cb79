"""Sentences about one head of an atlas: its highest measures beside controls, and its effects."""

from dataclasses import dataclass

import numpy as np

from report.kinds.atlas import beside
from report.kinds.atlas.data import AtlasData

NAMED = 3
"""Measures named for a head: those in which it ranks highest among all heads."""

ERRORS = 2
"""A control is as high as a value if they differ by at most this many standard errors."""

EFFECTS = (beside.LOST, beside.DIRECT)
"""Measures of whether a head matters; all others are of what it does."""


@dataclass(frozen=True)
class Control:
    """Words for the control of a measure."""

    short: str
    """A label of a number, such as "shuffled tokens: 33 %"."""
    on: str
    """Where the control was measured; follows "higher" or "as high"."""
    cause: str = ""
    """What the value is not due to if the control is as high."""
    labels: bool = False
    """Whether the measure's title claims that cause."""


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
"""Measure -> its control; `SHUFFLED` for all others, which are measures of attention."""


def control(measure: str) -> tuple[str, str]:
    """The control of a measure: its label, two or three words, and what it is in full."""
    short = CONTROLS.get(measure, SHUFFLED).short
    return short, beside.CONTROLS.get(measure, beside.SHUFFLED)


def by_head(data: AtlasData) -> list[list[str]]:
    """[layer][head] -> text: a line on what the head does, and a second on whether it matters if
    that was measured."""
    places = {name: ranks(data.of_heads(name, name, "corpus")) for name in data.words}
    lines = [_of_head(data, places, at) for at in np.ndindex(data.layers, data.heads)]
    return [lines[at : at + data.heads] for at in range(0, len(lines), data.heads)]


def ranks(values: np.ndarray) -> np.ndarray:
    """Rank of each head, 1 for the highest value, NaN for NaN: float [layer, head], as values."""
    flat = values.ravel()
    higher = (flat[None] > flat[:, None]).sum(1) + 1.0
    return np.where(np.isnan(flat), np.nan, higher).reshape(values.shape)


def _of_head(data, places, at):
    """places: measure -> `ranks`; at: (layer, head), as in all functions here."""
    does = _does(data, places, at)
    matters = " ".join(filter(None, (_effect(data, each, at) for each in EFFECTS)))
    return f"{does}\n{matters}".strip()


def _does(data, places, at):
    """The measures in which a head ranks highest, each beside its control, and a caveat for those
    with a control as high."""
    names = [name for name in places if name not in [each.name for each in EFFECTS]]
    known = [name for name in names if not np.isnan(places[name][at])]
    known.sort(key=lambda name: (places[name][at], (*beside.ALSO, name).index(name)))
    known = known[:NAMED]
    if not known:
        return ""
    named = [f"{_ordinal(places[name][at])} in {_beside(data, name, at)}" for name in known]
    does = f"Of {data.layers * data.heads} heads, L{at[0]}H{at[1]} is {_listed(named)}."
    as_high: dict[Control, list[str]] = {}
    for name in known:
        if _comparison(data, name, at):
            title = f"“{data.words[name].title}”"
            as_high.setdefault(CONTROLS.get(name, SHUFFLED), []).append(title)
    return does + "".join(_caveat(control, titles) for control, titles in as_high.items())


def beside_control(data: AtlasData, measure: str, at: tuple[int, int]) -> str:
    """The control after a number in a sentence: " (shuffled tokens: 33 %)"; "" for none.

    at: layer and head
    """
    control = _as_text(data, measure, "control", at)
    return f" ({CONTROLS.get(measure, SHUFFLED).short}: {control})" if control else ""


def _caveat(control, titles):
    """A caveat on measures whose control is as high; titles: theirs, quoted."""
    holds = f", and the label {_listed(titles)} does not hold" if control.labels else ""
    return f" {_listed(titles)}: no lower {control.on}, so not due to {control.cause}{holds}."


def _beside(data, name, at):
    value, control = (_as_text(data, name, source, at) for source in ("corpus", "control"))
    if not control:
        return f"“{data.words[name].title}” ({value})"
    on, comparison = CONTROLS.get(name, SHUFFLED).on, _comparison(data, name, at)
    return f"“{data.words[name].title}” ({value}; {comparison}{on}, {control})"


def _effect(data, measure, at):
    name = measure.name
    value = _as_text(data, name, "corpus", at) if name in data.words else ""
    if not value:
        return ""
    error = data.words[name].as_text(float(data.of_heads(f"error_{name}", name, "corpus")[at]))
    others = _as_text(data, name, "control", at)
    compared = f"; {CONTROLS[name].on}, {others}" if others else ""
    return f"{measure.title}: {value} ± {error.removeprefix('+')} {measure.unit}{compared}."


def _comparison(data, name, at):
    """Of a control above a value, or within `ERRORS` of it: "higher " or "as high "; else ""."""
    values, errors = (
        [float(data.of_heads(each, name, source)[at]) for source in ("corpus", "control")]
        for each in (name, f"error_{name}")
    )
    margin = ERRORS * float(np.hypot(*np.nan_to_num(errors)))
    if values[1] - values[0] > margin:
        return "higher "
    return "as high " if values[0] - values[1] <= margin else ""


def _as_text(data, name, source, at):
    """A number in a sentence; "" for none."""
    value = float(data.of_heads(name, name, source)[at])
    return "" if np.isnan(value) else data.words[name].as_text(value).replace("-", "−")


def _ordinal(rank):
    """As "1st"."""
    number = int(rank)
    teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _listed(parts):
    """As "a, b and c"."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
