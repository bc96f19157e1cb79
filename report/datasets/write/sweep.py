"""Writes the datasets of a sweep: one small table a model."""

from typing import Protocol

from report.datasets.formats.measured import HeadStatistics, Repetition
from report.datasets.formats.sweep import FILE, encode
from report.datasets.write.folder import Folder, Step


class Measured(Protocol):
    """What was measured, see `report.measuring.kinds.sweep`."""

    corpus: HeadStatistics
    repetition: Repetition


def write_sweep(files: Folder, measured: Measured, progress: Step) -> None:
    """Write what was measured of one model."""
    files.write(FILE, encode(measured.corpus, measured.repetition))
    progress(1, 1)
