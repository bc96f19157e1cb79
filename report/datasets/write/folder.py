"""A folder of datasets being written: what is in it, for its manifest."""

from datetime import UTC, datetime

from report import files
from report.datasets import store


class Folder:
    """Writes datasets and remembers their sizes and checksums."""

    def __init__(self, path):
        self.path = path
        self.files = {}
        """dict of name to {"bytes", "sha256"}, as in a manifest."""

    def write(self, name, data):
        """Write one dataset under a name such as "effects.json"; ReportError as `store.write`."""
        path = self.path / name
        store.write(path, data)
        self.files[name] = {"bytes": path.stat().st_size, "sha256": files.sha256(path)}

    def write_manifest(self, facts):
        """Write the manifest/1 dataset, after everything else.

        facts: dict of its fields besides the day and the files
        """
        manifest = {
            "schema": "manifest/1",
            **facts,
            "date": datetime.now(UTC).date().isoformat(),
            "files": self.files,
        }
        store.write(self.path / "manifest.json", store.sealed(manifest))
