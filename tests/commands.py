"""Runs the command line as a reader types it, and makes projects to run it in."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from report import project

ROOT = Path(__file__).parents[1]


def report(*arguments, timeout=300, **variables):
    """`python -m report …` in a process of its own: CompletedProcess with text output.

    variables: more variables of its environment
    """
    return subprocess.run(
        [sys.executable, "-m", "report", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "NO_COLOR": "1"} | variables,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def copy_project(folder, articles=True):
    """What a fresh clone has of a publication: settings, articles and what is frozen of them,
    hand-written pages."""
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "mkdocs.yml", folder)
    shutil.copytree(ROOT / "templates" / "theme", folder / "templates" / "theme")
    if articles:
        shutil.copytree(ROOT / "templates" / "articles", folder / "templates" / "articles")
        shutil.copytree(ROOT / "frozen", folder / "frozen")
    generated = re.findall(r"^site_src/(.+?)/?$", (ROOT / ".gitignore").read_text(), re.MULTILINE)

    def made(parent, names):
        return generated if Path(parent) == ROOT / "site_src" else []

    shutil.copytree(ROOT / "site_src", folder / "site_src", ignore=made)
    return folder


def contents(folder):
    """dict of path to bytes of all files below a folder; the empty lock of builds aside."""
    folder = Path(folder)
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != project.LOCK
    }


def with_added(site, added):
    """What a branch holds after a site was published: also what hosts look for, listed as the rest.

    added: contents of what publishing adds, by path
    """
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in added.items()}
    found = contents(site)
    lines = [*found["SHA256SUMS"].decode().splitlines(), *(f"{s}  {n}" for n, s in sums.items())]
    listed = "".join(f"{line}\n" for line in sorted(lines, key=lambda line: line[66:]))
    return found | added | {"SHA256SUMS": listed.encode()}


def without_date(files):
    """Contents of a folder of datasets, the day of measurement taken out of the manifest."""
    day = re.compile(rb'"date":"\d{4}-\d\d-\d\d"')
    return {name: day.sub(b'"date":""', content) for name, content in files.items()}
