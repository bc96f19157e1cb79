"""How often heads of one model turn a word of an ordered list into the next one."""

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from report.datasets.read.heads import MeasuredHeads, require_heads
from report.kinds.atlas.beside import CONTROLS, SUCCESSOR


def opened(paths: Iterable[Path]) -> "list[Successor]":
    """The data of folders, one a model."""
    return [Successor(path) for path in paths]


def verify(data: "list[Successor]") -> None:
    """ReportError if the table is not of every head, once of lists and once of a control."""
    for each in data:
        require_heads(each)


class Successor(MeasuredHeads):
    """The successor scores of one model, and their control."""

    kind = "successor"
    sources: ClassVar = {"corpus": "ordered lists", "control": CONTROLS[SUCCESSOR.name]}

    @property
    def about(self) -> dict:
        """The manifest's successor: lists, dict of name to how many words, and steps."""
        return self.manifest["successor"]
