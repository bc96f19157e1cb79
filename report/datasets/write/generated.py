"""Writes the dataset of generated sentences of one model: kilobytes of means."""

from collections.abc import Sequence
from typing import Any, Protocol

from report.datasets.formats.generated import FILE, Sentence, encode
from report.datasets.write.folder import Folder, Step


class Measured(Protocol):
    """What was measured, see `report.measuring.kinds.generated`."""

    sentences: Sequence[Sentence]
    told: Any


def write_generated(files: Folder, measured: Measured, progress: Step) -> None:
    """Write the dataset of one model."""
    files.write(FILE, encode(measured.sentences, measured.told))
    progress(1, 1)
