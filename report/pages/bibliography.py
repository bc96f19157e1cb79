"""Literature that articles may cite: `references.bib` beside them, in BibTeX; works.py has what an
entry says."""

import functools
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from report import files
from report.authored.boundary import read_text
from report.errors import ReportError
from report.pages.works import Work, read_work
from report.text import nearest, quoted

FILE = "references.bib"
"""Beside the templates of articles."""

LARGEST = 10_000_000
"""Bytes of the file."""

KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/+-]{0,99}")
"""What an entry may be called: a part of addresses."""


class Bibliography:
    """The entries of a file, read one by one when they are cited."""

    def __init__(self, path: Path, entries: Mapping[str, Any], strings: Mapping[str, str]):
        self.path = path
        self._entries, self._strings = entries, strings
        self._works: dict[str, Work] = {}

    @property
    def keys(self) -> list[str]:
        """Of all entries, in the order of the file."""
        return list(self._entries)

    def require(self, key: str) -> None:
        """Stop where there is no entry of that key.

        raises: ReportError with the nearest key
        """
        if key not in self._entries:
            raise ReportError(self._missing(key))

    def work(self, key: str) -> Work:
        """The entry of a key.

        raises: ReportError if there is none, or with file and line if it cannot be shown
        """
        self.require(key)
        if key not in self._works:
            self._works[key] = read_work(self.path, self._entries[key], self._strings)
        return self._works[key]

    def _missing(self, key):
        if not self.path.is_file():
            return (
                f"cite({quoted(key)}): there is no {self.path}; write one, with an entry in BibTeX "
                "for each work that is cited."
            )
        near = nearest(str(key), self._entries)
        hint = f"did you mean {near[0]!r}?" if near else f"add it to {self.path}."
        return f"cite({quoted(key)}): {FILE} has no such entry; {hint}"


def read_bibliography(folder: Path) -> Bibliography:
    """The works that articles in a folder may cite; none if it has no `references.bib`.

    raises: ReportError with file and line if it is not BibTeX, or a key comes twice
    """
    path = files.inside(folder, FILE)
    if not path.is_file():
        return Bibliography(path, {}, {})
    if path.stat().st_size > LARGEST:
        raise ReportError(
            f"{path}: is larger than {LARGEST // 1_000_000} MB; keep the entries that are cited."
        )
    return _of_text(path, read_text(path))


@functools.lru_cache(maxsize=2)  # of all articles; works are read once as well
def _of_text(path, text):
    from bibtexparser import parse_string
    from bibtexparser.middlewares import NormalizeFieldKeys

    for package in ("bibtexparser", "pylatexenc"):  # what they complain of is said here
        logging.getLogger(package).setLevel(logging.CRITICAL)
    library = parse_string(text, append_middleware=[NormalizeFieldKeys()])
    for block in library.failed_blocks:
        raise ReportError(f"{path}, line {block.start_line + 1}: {_what_failed(block)}")
    for entry in library.entries:
        if not KEY.fullmatch(entry.key):
            raise ReportError(
                f"{path}, line {entry.start_line + 1}: the key {quoted(entry.key)} is a part of "
                "addresses; write letters, digits and . : / + - _, at most 100."
            )
    strings = {string.key.lower(): string.value for string in library.strings}
    return Bibliography(path, {entry.key: entry for entry in library.entries}, strings)


def _what_failed(block):
    if key := getattr(block, "key", None):
        return f"there is an entry {quoted(key)} already; give this one another key."
    if doubled := getattr(block, "duplicate_keys", None):
        return f"the field {sorted(doubled)[0]!r} comes twice in an entry; keep one."
    return "this entry is not BibTeX; close its braces and quotes, and put commas between fields."


def uncited(folder: Path) -> list[str]:
    """The keys that no template of a folder names, in the order of the file.

    A key that is named anywhere counts as cited: which parts of an article are shown depends on
    what is measured.
    """
    bibliography = read_bibliography(folder)
    if not bibliography.keys:
        return []
    texts = [path.read_text("utf-8", "replace") for path in files.meant(folder.rglob("*.j2"))]
    return [
        key
        for key in bibliography.keys
        if not any(f"{mark}{key}{mark}" in text for text in texts for mark in "\"'")
    ]
