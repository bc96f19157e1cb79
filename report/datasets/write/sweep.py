"""Writes the datasets of a sweep: one small table a model."""

from report.datasets.formats.sweep import FILE, encode
from report.datasets.write.folder import Folder


def write_sweep(folder, measured, provenance, progress=None):
    """Write what was measured of one model into an empty folder, the manifest last.

    measured: `Measured` (see report.measuring.kinds.sweep)
    provenance: dict of the manifest's fields that are not about the files themselves
    progress: called with (done, total)
    raises: ReportError if a number is not finite, or the folder cannot be written
    """
    files = Folder(folder)
    files.write(FILE, encode(measured.corpus, measured.repetition))
    files.write_manifest(provenance)
    if progress:
        progress(1, 1)
