"""Writes the dataset of the answers of one model: a small table."""

from collections.abc import Sequence
from typing import Protocol

from report.datasets.formats.answers import FILE, Cell, Question, encode
from report.datasets.write.folder import Folder, Step


class Measured(Protocol):
    """What was measured, see `report.measuring.kinds.answers`."""

    questions: Sequence[Question]
    cells: Sequence[Cell]


def write_answers(files: Folder, measured: Measured, progress: Step) -> None:
    """Write the answers of one model."""
    files.write(FILE, encode(measured.questions, measured.cells))
    progress(1, 1)
