"""Self-checks that were passed, kept on disk: with the same files, program, libraries and processor
a model need not be checked again each time that it is loaded.

They lie in a folder that nobody else may read or write, each in a file named by all that its
outcome depends on. A file that is damaged, or of somebody else, counts as missing.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from report import files
from report.datasets import store
from report.errors import PACKAGE, ReportError
from report.measuring.key import files_of, hashed
from report.measuring.kind import Announce

if TYPE_CHECKING:
    from report.models.find.names import Source
    from report.models.load.load import LoadedModel

FOLDER = "checks"

MOST = 64
"""Files that are kept, the newest; one is of some kilobytes."""


class KeptCheck:
    """The self-check of a model, in this process or in an earlier one."""

    def __init__(self, root: Path, source: Source, settings: dict):
        """Begin to read the weights for their checksum, while the model is loaded.

        root: folder of caches; settings: as of `measuring_settings`
        """
        self.folder, self.source, self.settings = root / FOLDER, source, settings
        self._depends: dict[str, Any] | None = None
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self):
        with suppress(ReportError, OSError):  # whoever loads the model says what is wrong
            self._depends = {
                "files": files_of(self.source, self.settings["layers"]),
                "settings": self.settings,
                "program": _program(),
                "python": sys.version,
                "packages": sorted(f"{each.name} {each.version}" for each in packages()),
            }

    def require(self, loaded: LoadedModel, announce: Announce) -> None:
        """Have a model checked, unless it has passed the same check before.

        announce: called with what libraries warn of
        raises: ReportError as `self_check`
        """
        from report.models.attention import passed
        from report.models.attention.self_check import checked
        from report.models.load.sentences import heard

        if loaded.checked is not None:
            return
        self._reading.join()
        path = None
        if self._depends is not None:
            depends = self._depends | {"computes": passed.computes(loaded)}
            if self.source.folder is None:  # a commit says what should be in its files
                depends["weights"] = loaded.weights_sha256
            path = self.folder / f"{hashed(depends)}.json"
            found = self._found(path)
            if found and found["depends"] == depends and passed.take(loaded, found["outcome"]):
                return
        with heard(loaded.identity["name"], announce):
            checked(loaded)
        if path is not None:
            self._keep(path, {"depends": depends, "outcome": passed.outcome(loaded)})

    def _found(self, path):
        if not (_is_own(self.folder, stat.S_ISDIR) and _is_own(path, stat.S_ISREG)):
            return None
        try:
            found = files.strict_json(files.read_bytes(path))
            whole = found.keys() == {"depends", "outcome", "seal"} and store.is_whole(found)
        except (OSError, ValueError, AttributeError, RecursionError):
            return None
        return found if whole else None

    def _keep(self, path, found):
        """Nothing is lost where it cannot be written."""
        with suppress(ReportError, OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_own(self.folder, stat.S_ISDIR):
                return
            files.write_text(path, store.dumps(store.sealed(found)))
            others = sorted(self.folder.glob("*.json"), key=lambda each: each.stat().st_mtime)
            for other in others[:-MOST]:
                other.unlink(missing_ok=True)


def packages() -> list[metadata.Distribution]:
    """All that are installed: each may change what another does."""
    return [*metadata.distributions()]


def _program():
    """A hash of all code of this program."""
    paths = sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".toml"))
    return hashed([str(path.relative_to(PACKAGE)) for path in paths] + [files.sha256(*paths)])


def _is_own(path, kind):
    """Whether a path is no link, but a file or a folder that only its owner, this user, can use."""
    try:
        about = path.lstat()
    except OSError:
        return False
    shut = stat.S_ISREG(about.st_mode) or not about.st_mode & 0o077
    return kind(about.st_mode) and about.st_uid == os.geteuid() and shut
