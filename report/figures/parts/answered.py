"""What figures about answers have in common: what is compared, of which questions, in words."""

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
"""Measure -> what its values are multiplied by where they are shown."""

ALL = "all questions"

ROWS = "rows/all.json"
"""Address of the rows of a figure whose controls choose among them in the page."""


def measure_control() -> Switch:
    """The switch between what is compared."""
    return Switch("measure", "Compared", MEASURES, "log_probability")


def kind_control(data: ModelAnswers) -> Switch:
    """The switch between kinds of questions."""
    return Switch("kind", "Questions", {kind: kind for kind in kinds(data)}, ALL, seldom=True)


def kinds(data: ModelAnswers) -> dict[str, str | None]:
    """State of that switch -> the kind of question, None for all."""
    return {ALL: None} | {kind: kind for kind in dict.fromkeys(data.kinds.tolist())}


def scaled(found: Interval, measure: str) -> Interval:
    """An interval in the unit in which it is shown."""
    factor = SCALES[measure]
    return Interval(found.value * factor, found.low * factor, found.high * factor)


def in_words(found: Interval, measure: str) -> str:
    """A scaled interval: "+0.31 nats (+0.12 to +0.50)"."""
    ends = f"{signed(found.low)} to {signed(found.high)}"
    return f"{signed(found.value)} {UNITS[measure]} ({ends})"
