"""The names, colours and shapes of classes of targets in figures about a table; the classes are
those of `report.datasets.formats.token_classes`.
"""

from report.datasets.formats.token_classes import CLASSES
from report.figures.parts.theme import FIRST, INK
from report.kinds.table.data import TableData

SEEN = {
    "the first token": ("triangle-up", *FIRST),
    "column names": ("diamond", "#5489e0", "#8fc7ee"),
    "delimiters": ("cross", "#4d5562", "#748492"),
    "its own cell": ("square", "#1f8560", "#2fb389"),
    "same column above": ("circle", "#9a2f1a", "#cb6a2c"),
    "other cells": ("triangle-down", "#a38e22", "#e0c83b"),
    "anything else": ("stroke", INK["light"], INK["dark"]),
}
"""Name of a class in figures -> (shape, colour on light, colour on dark), in the order of
`CLASSES`."""

NAMES = dict(zip(CLASSES, SEEN, strict=True))
"""Class in datasets -> its name in figures."""


def named(name: str) -> str:
    """The name of a class within a sentence; name: as in datasets."""
    seen = NAMES[name]
    return f"the {seen}" if seen.startswith("same") else seen


ROLES = {
    "header": SEEN["column names"],
    "delimiter": SEEN["delimiters"],
    "value": SEEN["other cells"],
    "edge": SEEN["the first token"],
    "added": SEEN["anything else"],
}
"""Role of a token in the table, whoever attends -> (shape, colour on light, colour on dark)."""


def present(data: TableData) -> dict[str, str]:
    """The classes that occur in the data: dict of class to its name in figures."""
    return {name: NAMES[name] for name in data.targets}


def renderings(data: TableData) -> dict[str, str]:
    """The renderings of the table: dict of name to label."""
    return {name: rendering.label for name, rendering in data.renderings.items()}
