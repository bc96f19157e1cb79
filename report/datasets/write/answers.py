"""Writes the dataset of the answers of one model: a small table."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from report.datasets.formats.answers import FILE, Cell, Question, encode
from report.datasets.write.folder import Folder


class Measured(Protocol):
    """What was measured, see `report.measuring.kinds.answers`."""

    questions: Sequence[Question]
    cells: Sequence[Cell]


def write_answers(
    folder: Path,
    measured: Measured,
    provenance: dict,
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Write the answers of one model into an empty folder, the manifest last.

    provenance: the manifest's fields that are not about the files themselves
    progress: called with (done, total)
    raises: ReportError if a number is not finite, or the folder cannot be written
    """
    files = Folder(folder)
    files.write(FILE, encode(measured.questions, measured.cells))
    files.write_manifest(provenance)
    if progress:
        progress(1, 1)
