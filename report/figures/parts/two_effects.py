"""What is said of two effects of heads: what they add to a prediction, what is lost without."""

import numpy as np

from report.figures.parts import predicted
from report.text import number

NOTHING = 0.01
"""An effect below this part of the largest one is called next to nothing."""


def largest(direct: np.ndarray, drop: np.ndarray, one_unit: bool) -> str:
    """Which head adds most, and without which most is lost; "" if nothing is.

    direct, drop: float [layers, heads]; one_unit: whether both are in logits, else the second is in
    nats
    """
    adds, lost = predicted.strongest(direct, 1), predicted.strongest(drop, 1)
    if not adds or not lost:
        return ""
    units = ("", "") if one_unit else (" logits", " nats a token")
    effect, loss = (predicted.signed(one[0].value) for one in (adds, lost))
    effect, loss = effect + units[0], loss + units[1]
    first = f"{adds[0].label} has the largest direct effect ({effect})"
    if adds[0].label == lost[0].label:
        return f"{first}, and most is lost without it ({loss})."
    second = f"{first}. Most is lost without {lost[0].label} ({loss})"
    if not one_unit:
        return f"{second}."
    itself = predicted.signed(direct[lost[0].layer, lost[0].head])
    return f"{second}; by itself it adds {itself}."


def off_the_line(direct: np.ndarray, drop: np.ndarray) -> str:
    """The heads of which most more is lost than they add, and most less."""
    said = []
    for sign, what in ((1, "matters most through others"), (-1, "is missed least for its effect")):
        found = predicted.strongest(sign * (drop - direct), 1)
        if found:
            (head,) = found
            adds, lost = (values[head.layer, head.head] for values in (direct, drop))
            little = abs(adds) < NOTHING * np.abs(direct).max()
            adds = "adds next to nothing" if little else _verb("adds", "takes away", adds)
            lost = "is lost" if lost >= 0 else "is gained", number(abs(lost))
            said.append(f"{head.label} {what}: it {adds}, and {lost[1]} {lost[0]} without it.")
    return " ".join(said)


def _verb(more, less, value):
    return f"{more if value >= 0 else less} {number(abs(value))}"


def correlation(direct: np.ndarray, drop: np.ndarray) -> float:
    """Of both over all heads, from -1 to 1; 0 where one is the same everywhere."""
    if min(np.ptp(direct), np.ptp(drop)) == 0:
        return 0.0
    return float(np.corrcoef(direct.ravel(), drop.ravel())[0, 1])
