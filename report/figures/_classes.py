"""Classes of targets in a table as readers see them: names, colours and shapes; see
`report.datasets.token_classes`.
"""

from report.datasets.token_classes import CLASSES
from report.errors import ReportError

SEEN = {
    "the first token": ("triangle-up", "#7b2fbe", "#c79bff"),
    "column names": ("diamond", "#1667b7", "#79b8ff"),
    "delimiters": ("cross", "#5d6470", "#aeb6c4"),
    "its own cell": ("square", "#0b8457", "#45d69a"),
    "same column above": ("circle", "#d2440c", "#ff9a57"),
    "other cells": ("triangle-down", "#8a6d00", "#e3c545"),
    "anything else": ("stroke", "#2a2d34", "#e2e5ec"),
}
"""What a reader reads -> (shape, colour on light, colour on dark), in the order of `CLASSES`."""

NAMES = dict(zip(CLASSES, SEEN, strict=True))
"""Class -> what a reader reads."""


def named(name):
    """What a reader reads of a class within a sentence."""
    seen = NAMES[name]
    return f"the {seen}" if seen.startswith("same") else seen


ROLES = {
    "header": SEEN["column names"],
    "delimiter": SEEN["delimiters"],
    "value": SEEN["other cells"],
    "added": SEEN["anything else"],
}
"""What a token is, whoever looks at it, and how that is drawn."""


def left_out(data):
    """Why figures of classes cannot be drawn, in one sentence; "" if they can."""
    if getattr(data, "kind", "") == "table":
        return ""
    return "It shows how a table is read, so it must be given what was measured of one."


def check(data):
    """Stop where there are no classes to draw.

    raises: ReportError saying why
    """
    reason = left_out(data)
    if reason:
        raise ReportError(reason)


def present(data):
    """The classes that occur in the data: dict of class to what a reader reads."""
    return {name: NAMES[name] for name in data.targets}


def renderings(data):
    """dict of rendering to what a reader reads."""
    return {name: each.label for name, each in data.renderings.items()}
