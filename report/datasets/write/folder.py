"""A folder of datasets being written, and its manifest."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from report import files
from report.datasets import store

SCHEMA = "manifest/1"


Step = Callable[[int, int], object]
"""Called with (done, total) while datasets are written."""


class Folder:
    """Writes datasets and remembers their sizes and checksums."""

    def __init__(self, path: Path):
        self.path = path
        self.files: dict[str, dict] = {}
        """Name -> {"bytes", "sha256"}, as in a manifest."""

    def write(self, name: str, data: dict) -> None:
        """Write one dataset under a name such as "effects.json"; ReportError as `store.write`."""
        self.files[name] = write_dataset(self.path / name, data)

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a dataset that was written elsewhere; ReportError as `files.write_bytes`."""
        files.write_bytes(self.path / name, content)
        self.files[name] = {"bytes": len(content), "sha256": files.sha256(self.path / name)}

    def write_manifest(self, facts: dict) -> None:
        """Write the manifest/1 dataset, after all other files.

        facts: its fields except for the day and the files
        raises: ReportError as `store.write`
        """
        manifest = {
            "schema": SCHEMA,
            **facts,
            "date": datetime.now(UTC).date().isoformat(),
            "files": self.files,
        }
        store.write(self.path / "manifest.json", store.sealed(manifest))


Write = Callable[[Folder, Any, Step], dict | None]
"""Writes what was measured into a folder, and gives what the manifest says of it besides."""


def write_folder(
    path: Path,
    write: Write,
    measured: Any,
    provenance: dict,
    progress: Step | None = None,
) -> None:
    """Write all datasets of one model into an empty folder, the manifest last.

    write: of the kind of article, see `report.measuring.kind.Kind`
    provenance: the manifest's fields that are not about the files
    raises: ReportError if a number is not finite, or the folder cannot be written
    """
    files = Folder(path)
    more = write(files, measured, progress or (lambda *_: None))
    files.write_manifest(provenance | (more or {}))


def write_dataset(path: Path, data: dict) -> dict:
    """Write one dataset; returns its "bytes" and "sha256"; ReportError as `store.write`."""
    store.write(path, data)
    return {"bytes": path.stat().st_size, "sha256": files.sha256(path)}
