"""Stamps of files, their time and size, which tell whether they were written since; of which files
all that a program makes depends; and what was drawn of an article already, so that a process that
renders it again draws only what changed.
"""

import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from importlib import metadata
from pathlib import Path
from stat import S_ISDIR
from typing import Any

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


class Drawn:
    """Results by name, each with the objects that it was made of.

    It is made again if one of them is another object now. They are compared by identity, because
    datasets and figures are large; so who changes one must put another in its place.
    """

    def __init__(self, look: Callable[[], object] = lambda: None) -> None:
        """look: called before every piece of drawing; what it raises ends that"""
        self.look = look
        self.results: dict[Hashable, tuple[Sequence[object], Any]] = {}
        self.used: set[Hashable] = set()

    def get(self, name: Hashable, of: Sequence[object], make: Callable[[], Any]) -> Any:
        """The result of that name; made if there is none of just these objects."""
        self.used.add(name)
        known, result = self.results.get(name, (None, None))
        if known is None or [*map(id, known)] != [*map(id, of)]:
            self.forget(name)  # what fails half-way has no result
            result = make()
            self.results[name] = [*of], result
        return result

    def forget(self, name: Hashable) -> None:
        """Have it made again the next time."""
        self.results.pop(name, None)

    def finish(self) -> None:
        """Let go of what was not asked for since the last time."""
        self.results = {name: self.results[name] for name in self.used & self.results.keys()}
        self.used = set()
