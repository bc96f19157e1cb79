"""What tells whether files were written since, the time and the size of each; and of which files
all that a program makes depends."""

import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from stat import S_ISDIR

from report.errors import PACKAGE
from report.kinds import folders_of_kinds

Stamp = tuple[int, int] | None
"""Time and size of a file; None for one that is missing."""

Stamps = dict[Path, Stamp]

NOT_READ = ("site", "site-zensical", "site_src", "__pycache__", "node_modules")
"""Parts of a project that are looked at elsewhere, or of which no page is made."""


def stamps(paths: Iterable[Path]) -> Stamps:
    """The stamps of files."""
    return {path: _stamp(_about(path)) for path in paths}


def below(top: Path, *without: Path) -> list[tuple[str, Stamp]]:
    """The stamps of a file, or of all below a folder but for some, sorted by path."""
    paths = sorted(top.rglob("*")) if top.is_dir() else [top]
    return [
        (str(path), _stamp(about))
        for path in paths
        if "__pycache__" not in path.parts and not any(map(path.is_relative_to, without))
        if not ((about := _about(path)) and S_ISDIR(about.st_mode))
    ]


def authored(root: Path, *without: Path) -> list[list[tuple[str, Stamp]]]:
    """The stamps of all that authors wrote into a project, but for `NOT_READ`."""
    parts = (path for path in root.iterdir() if path.name[0] != "." and path.name not in NOT_READ)
    return [below(part, *without) for part in sorted(parts) if not (part / "pyvenv.cfg").exists()]


def program() -> list[object]:
    """The stamps of this program's files but for templates, and the versions of what it uses."""
    versions = sorted(f"{each.name} {each.version}" for each in metadata.distributions())
    return [sys.version, versions, *map(below, [PACKAGE, *folders_of_kinds()])]


def _about(path):
    try:
        return path.stat()
    except OSError:
        return None


def _stamp(about):
    return about and (about.st_mtime_ns, about.st_size)
