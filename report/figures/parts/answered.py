"""What figures about answers share: switches of measures and questions, and intervals in words."""

from report.figures.parts.choices import Switch
from report.kinds.conditions.answers import Interval, ModelAnswers
from report.text import signed

MEASURES = {
    "log_probability": "log probability of the right answer",
    "right": "right answers",
}
"""Measure -> what a switch calls it."""

AXES = {
    "log_probability": "difference in log probability (nats)",
    "right": "difference in right answers (percentage points)",
}
"""Measure -> title of an axis."""

UNITS = {"log_probability": "nats", "right": "percentage points"}
SCALES = {"log_probability": 1, "right": 100}
"""Measure -> factor of its values in figures: shares become percentage points."""

ALL = "all questions"

ROWS = "rows/all.json"
"""Address of the rows of a figure whose controls choose among them in the page."""


def measure_control() -> Switch:
    """The switch between the measures that are compared."""
    return Switch("measure", "Compared", MEASURES, "log_probability")


def kind_control(data: ModelAnswers) -> Switch:
    """The switch between kinds of questions."""
    return Switch("kind", "Questions", {kind: kind for kind in kinds(data)}, ALL, seldom=True)


def kinds(data: ModelAnswers) -> dict[str, str | None]:
    """State of the switch of `kind_control` -> the kind of question, None for all."""
    return {ALL: None} | {kind: kind for kind in dict.fromkeys(data.kinds.tolist())}


def scaled(interval: Interval, measure: str) -> Interval:
    """An interval in the unit of `UNITS`."""
    factor = SCALES[measure]
    return Interval(interval.value * factor, interval.low * factor, interval.high * factor)


def in_words(interval: Interval, measure: str) -> str:
    """An interval, already `scaled`, as "+0.31 nats (+0.12 to +0.50)"."""
    ends = f"{signed(interval.low)} to {signed(interval.high)}"
    return f"{signed(interval.value)} {UNITS[measure]} ({ends})"
