"""Writes the datasets of a sweep: one small table a model."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from report.datasets.formats.measured import HeadStatistics, Repetition
from report.datasets.formats.sweep import FILE, encode
from report.datasets.write.folder import Folder


class Measured(Protocol):
    """What was measured, see `report.measuring.kinds.sweep`."""

    corpus: HeadStatistics
    repetition: Repetition


def write_sweep(
    folder: Path,
    measured: Measured,
    provenance: dict,
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Write what was measured of one model into an empty folder, the manifest last.

    provenance: the manifest's fields that are not about the files themselves
    progress: called with (done, total)
    raises: ReportError if a number is not finite, or the folder cannot be written
    """
    files = Folder(folder)
    files.write(FILE, encode(measured.corpus, measured.repetition))
    files.write_manifest(provenance)
    if progress:
        progress(1, 1)
