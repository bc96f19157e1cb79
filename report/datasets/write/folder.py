"""A folder of datasets being written, and its manifest."""

from datetime import UTC, datetime
from pathlib import Path

from report import files
from report.datasets import store

SCHEMA = "manifest/1"


class Folder:
    """Writes datasets and remembers their sizes and checksums."""

    def __init__(self, path: Path):
        self.path = path
        self.files: dict[str, dict] = {}
        """Name -> {"bytes", "sha256"}, as in a manifest."""

    def write(self, name: str, data: dict) -> None:
        """Write one dataset under a name such as "effects.json"; ReportError as `store.write`."""
        self.files[name] = write_dataset(self.path / name, data)

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


def write_dataset(path: Path, data: dict) -> dict:
    """Write one dataset; returns its "bytes" and "sha256"; ReportError as `store.write`."""
    store.write(path, data)
    return {"bytes": path.stat().st_size, "sha256": files.sha256(path)}
