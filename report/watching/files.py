"""What a publication is written in: its files, and which of them changed since the last look."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from report.files import NOT_MEANT, meant, read_bytes
from report.pages.lists import PAGES
from report.project import Project
from report.study.study import ENDING, MARK

FOLDERS = ("templates", "figures", "passages", "prompts", "site_src")
"""Folders of a project that are looked at, with all below them."""

MADE = {
    *(
        "articles",
        "datasets",
        "docs/gallery",
        "docs/reference",
        "embed",
        "figures",
        "schemas",
        "assets",
    ),
    *("index.md" if name == "index" else name for name in PAGES),
    "feed.xml",
}
"""Below site_src, what a build writes: changes there are its own."""

Seen = dict[str, tuple[int, int, int]]
"""Name of a file from the folder of the project, or a whole path -> what changes when somebody
writes it: its time, its size and its place on the disk."""


def look(project: Project, more: Iterable[Path] = ()) -> Seen:
    """The files of a publication as they are now.

    more: files elsewhere, as of `named`
    """
    seen = {}
    for path in (project.config, *more, *_below(project)):
        try:
            about = path.stat()
        except OSError:  # it is gone already
            continue
        seen[_name(path, project)] = about.st_mtime_ns, about.st_size, about.st_ino
    return seen


def changed(before: Seen, after: Seen) -> list[str]:
    """The names of files that were written, added or removed between two looks, sorted."""
    return sorted(name for name in before.keys() | after if before.get(name) != after.get(name))


def named(project: Project) -> list[Path]:
    """The files that front matter names, such as a corpus or a table, by words that are paths."""
    return sorted(
        {
            path
            for template in meant(project.articles.glob(f"*{ENDING}"))
            for word in re.split(r"[\s,\[\]{}\"']+", _front_matter(template))
            if word and (path := _file(project.root, word))
        }
    )


def _front_matter(template):
    try:
        lines = read_bytes(template).decode("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError):  # is told when it is built
        return ""
    end = next((n for n, line in enumerate(lines) if n and line.rstrip() == MARK), 0)
    return "\n".join(lines[1:end])


def _file(root, word):
    try:
        path = root / word
        return path if path.is_file() else None
    except (OSError, ValueError):  # too long, or with a NUL
        return None


def _below(project: Project) -> Iterator[Path]:
    """All files below `FOLDERS` but those that builds make."""
    for folder in FOLDERS:
        for here, folders, names in os.walk(project.root / folder):
            inside = Path(here)
            folders[:] = [name for name in folders if _is_meant(inside / name, project)]
            yield from (inside / name for name in names if _is_meant(inside / name, project))


def _is_meant(path, project):
    if NOT_MEANT.fullmatch(path.name):
        return False
    source = project.site_src
    return not (path.is_relative_to(source) and path.relative_to(source).as_posix() in MADE)


def _name(path, project):
    inside = path.is_relative_to(project.root)
    return (path.relative_to(project.root) if inside else path).as_posix()
