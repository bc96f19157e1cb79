"""Writes the dataset of generated sentences of one model: kilobytes of means."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from report.datasets.formats.generated import FILE, Sentence, encode
from report.datasets.write.folder import Folder


class Measured(Protocol):
    """What was measured, see `report.measuring.kinds.generated`."""

    sentences: Sequence[Sentence]
    told: Any


def write_generated(
    folder: Path,
    measured: Measured,
    provenance: dict,
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Write the dataset of one model into an empty folder, the manifest last.

    provenance: the manifest's fields that are not about the files themselves
    progress: called with (done, total)
    raises: ReportError if a number is not finite, or the folder cannot be written
    """
    files = Folder(folder)
    files.write(FILE, encode(measured.sentences, measured.told))
    files.write_manifest(provenance)
    if progress:
        progress(1, 1)
