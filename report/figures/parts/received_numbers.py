"""Average attention weight by position, under several conditions: the numbers of a panel, and what
they say. `received` has the panels."""

from collections.abc import Iterable

import numpy as np

from report.figures.parts import score_terms, theme
from report.figures.parts.received import BLUE, RED, Line, Panels, Place, named, styled
from report.text import percent


def rows(place: Place, lines: Iterable[Line], reduction: str, cut: bool) -> dict[str, list[dict]]:
    """The table "lines": dicts with condition, position, mean, standard_error, low and high.

    reduction: a key of `REDUCTIONS`
    cut: whether what a condition adds is left out, so that positions are those of the first
        condition of the study
    All numbers are probabilities, 0 to 1; low and high are one standard error from the mean. A
    position that a condition lacks has None, so that no line is drawn across it.
    """
    received = place.model.received(place.layer, place.head)
    records = []
    for line in lines:
        text = place.model.condition(line.condition)
        places = text.positions if cut else np.arange(len(text.counts))
        mean, error = (
            np.where(places < 0, np.nan, values[places])
            for values in received[line.condition][reduction]
        )
        records += theme.records(
            {
                "condition": [line.condition] * len(places),
                "position": np.arange(len(places)),
                "mean": _none_for_nan(mean),
                "standard_error": _none_for_nan(error),
                "low": _none_for_nan(mean - error),
                "high": _none_for_nan(mean + error),
            }
        )
    return {"lines": records}


def _none_for_nan(values):
    return [None if np.isnan(value) else float(value) for value in values]


def alt(place: Place, lines: Iterable[Line], reduction: str, cut: bool) -> str:
    """The position at which each line is highest, in words; arguments as of `rows`."""
    peaks = []
    for line in lines:
        table = rows(place, [line], reduction, cut)["lines"]
        known = [row for row in table if row["mean"] is not None]
        if not known:
            peaks.append(f"“{line.label}” has no position here")
            continue
        top = max(known, key=lambda row: row["mean"])
        peaks.append(f"“{line.label}” is highest at position {top['position']}, {top['mean']:.3f}")
    over = "over all current tokens that see it"
    if reduction == "last":
        over = "that the last current token gives it"
    return f"{place.title}: average attention weight of each position, {over}. {'; '.join(peaks)}."


def seen_kept(data: Panels, reduction: str) -> str:
    """The `weight_ratio` of the two conditions of each panel, in words."""
    lines = styled(data, BLUE, RED)
    ratios = [weight_ratio(place, lines, reduction) for place in data.places]
    if any(np.isnan(ratio) for ratio in ratios):
        return f"With {named(data)}, some of these heads share no tokens to compare."
    percents = score_terms.listed(percent(ratio) for ratio in ratios)
    panel = ", panel by panel" if len(ratios) > 1 else ""
    if not data.adds:
        return (
            f"Under “{lines[1].label}”, tokens of both prompts get {percents} of their weight "
            "under "
            f"“{lines[0].label}”. The weights are averages{panel}."
        )
    less = sum(round(100 * ratio) < 100 for ratio in ratios)
    if less == len(ratios):
        return (
            f"With {named(data)}, the other tokens keep {percents} of their average weight. It is "
            f"compared with the weight that they have without{panel}."
        )
    if less == 0:
        start = "the other tokens lose nothing"
    else:
        start = f"the other tokens get less in {less} of {len(ratios)} panels"
    return (
        f"With {named(data)}, {start}. They have {percents} of the average weight that they have "
        f"without{panel}."
    )


def weight_ratio(place: Place, lines: Iterable[Line], reduction: str) -> float:
    """The weight of the tokens that two conditions share, under the second over under the first.

    lines: two; reduction: a key of `REDUCTIONS`
    returns: the ratio of two sums over the positions that both have; NaN if the first is 0
    """
    first, second = (
        [row["mean"] for row in rows(place, [line], reduction, True)["lines"]] for line in lines
    )
    both = [pair for pair in zip(first, second, strict=False) if None not in pair]
    before, after = (sum(values) for values in zip(*both, strict=True)) if both else (0, 0)
    return after / before if before > 0 else float("nan")


def inside(place: Place, condition: str, reduction: str) -> float:
    """Mean weight of the positions that a condition adds, 0 to 1; NaN if it adds none."""
    mean, _ = place.model.received(place.layer, place.head)[condition][reduction]
    added = place.model.condition(condition).new
    return float(np.mean(mean[added.start : added.stop])) if added else float("nan")
