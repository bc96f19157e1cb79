"""Runs the command line as a reader types it, and makes projects to run it in."""

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from report import project
from report.__main__ import app, main
from report.inputs import prompts

ROOT = Path(__file__).parents[1]


def report(*arguments, process=False, timeout=300, commands=app, **variables):
    """`python -m report …`: CompletedProcess with text output.

    It runs in this process: to import what measures takes longer than most of what it is used for.

    process: run it in one of its own, as where tests are about a process or what it reads of its
        environment when it starts; timeout: seconds that one may take
    commands: others than those of the package, in this process; variables: more variables of the
        environment
    """
    command = ["report", *map(str, arguments)]
    variables = {"PYTHONPATH": str(ROOT), "COLUMNS": "100", "NO_COLOR": "1"} | variables
    if not process:
        return _here(command, variables, commands)
    return subprocess.run(
        [sys.executable, "-m", *command],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def _here(command, variables, commands):
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", command)
        for name, value in variables.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as end:
            main(commands)
    return subprocess.CompletedProcess(command, end.value.code or 0, out.getvalue(), err.getvalue())


ARTICLES = ROOT / "tests" / "articles"
"""Articles of the names that ship, with the same figures, which are about whatever model."""


def copy_project(folder, articles=True, docs=False):
    """What a fresh clone has of a publication: settings, articles and what is frozen of them,
    hand-written pages. Articles about one model have the words of `ARTICLES`.

    docs: with the documentation, whose pages are most of the site; else as of a publication that
        has none
    """
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "mkdocs.yml", folder)
    shutil.copytree(ROOT / "templates" / "theme", folder / "templates" / "theme")
    if articles:
        shutil.copytree(ROOT / "templates" / "articles", folder / "templates" / "articles")
        shutil.copytree(ARTICLES, folder / "templates" / "articles", dirs_exist_ok=True)
        shutil.copytree(ROOT / "frozen", folder / "frozen")
    generated = re.findall(r"^site_src/(.+?)/?$", (ROOT / ".gitignore").read_text(), re.MULTILINE)

    def made(parent, names):
        inside = Path(parent).relative_to(ROOT / "site_src")
        return [name for name in names if (inside / name).as_posix() in generated]

    shutil.copytree(ROOT / "site_src", folder / "site_src", ignore=made)
    if not docs:
        _without_docs(folder)
    return folder


def _without_docs(project):
    shutil.rmtree(project / "site_src" / "docs")
    for name, links in (
        ("mkdocs.yml", r"^  - Docs:\n(?:   .*\n)+"),
        ("site_src/about.md", r"^.*\]\(docs/.*\n"),
    ):
        path = project / name
        text, found = re.subn(links, "", path.read_text("utf-8"), flags=re.MULTILINE)
        assert found == 1, name
        path.write_text(text, "utf-8")


def ask_less(project, number=4):
    """Leave the article about filler tokens so many of its questions: each takes a second of every
    model, and what is shown are means. Returns the file of those that are left."""
    lines = (prompts.FOLDER / "arithmetic.md").read_text("utf-8").splitlines(keepends=True)
    begins = lines.index("---\n", 1) + 2  # below the header and an empty line
    few = project / "few.md"
    few.write_text("".join(lines[: begins + number]), "utf-8")
    article = project / "templates" / "articles" / "filler-tokens.md.j2"
    text = article.read_text("utf-8")
    wanted = text.replace("\nconditions:", "\nprompts: few.md\nconditions:", 1)
    assert wanted != text
    article.write_text(wanted, "utf-8")
    return few


def read_less(project):
    """Give the atlas a tenth of its texts, which a model reads twice."""
    atlas = project / "templates" / "articles" / "which-heads-do-what.md.j2"
    text = atlas.read_text("utf-8")
    wanted = text.replace("\natlas: true", "\ncorpus: few.jsonl\natlas: true", 1)
    assert wanted != text
    atlas.write_text(wanted, "utf-8")
    texts = (
        (prompts.FOLDER.parent / "texts" / "many-kinds.jsonl")
        .read_text("utf-8")
        .splitlines(keepends=True)
    )
    (project / "few.jsonl").write_text("".join(texts[::10]), "utf-8")


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
