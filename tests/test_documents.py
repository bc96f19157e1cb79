"""The documentation: it can be reached, and its examples are of commands and keys that exist."""

import re
import shlex
import subprocess
from urllib.parse import urlsplit

import pytest
import typer
import yaml
from pydantic import ValidationError

from report.__main__ import app
from report.errors import NAME
from report.study.front_matter import FrontMatter
from tests.commands import ROOT
from tests.documents import DOCS, GALLERY, REFERENCE, WRITTEN, blocks
from training.__main__ import app as training_app

MOST_BYTES = 6000
"""Of README.md."""

ELSEWHERE = {"git", "pip", "pipx", "uv", "uvx", "cd", "python3", "."}
"""Programs in examples that are not ours."""

NEEDED = {"title": "T", "date": "2026-01-31", "author": "A", "summary": "S", "tags": ["a"]}
"""Keys of front matter that examples leave out."""


def test_the_navigation_has_every_page():
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = re.findall(r": docs/(\S+)\.md$", text, re.MULTILINE)
    made = [GALLERY, *(f"reference/{name}" for name in REFERENCE)]
    assert sorted(listed) == sorted([*WRITTEN, *made])


@pytest.mark.parametrize("page", WRITTEN)
def test_a_page_says_what_it_is_about(page):
    _, header, text = (DOCS / f"{page}.md").read_text("utf-8").split("---\n", 2)
    front = yaml.safe_load(header)
    assert front["title"] and front["description"].endswith(".")
    assert front["search"] == {"boost": 0.1}  # what is sought is an article, as a rule
    assert re.match(r"\n# .+\n", text)


def test_examples_name_commands_and_options_that_exist():
    program, training = map(typer.main.get_command, (app, training_app))
    makefile = (ROOT / "Makefile").read_text("utf-8")
    known_to_make = re.findall(r"^([a-z-]+(?=:.*##)|[A-Z_]+(?= \?=))", makefile, re.MULTILINE)
    lines = [
        (page, line)
        for page in WRITTEN
        for block in blocks(page, "sh")
        for line in block.splitlines()
    ]
    assert len(lines) > 30
    for page, line in lines:
        words = shlex.split(line, comments=True)
        while re.fullmatch(r"[A-Z_]+=.*", words[0]):
            assert words.pop(0).startswith("SITE_URL=")
        first, *words = words
        if first == "make":
            wrong = [word for word in words if word.partition("=")[0] not in known_to_make]
            assert not wrong, (page, line)
        elif first == NAME or words[:2] == ["-m", "training"]:
            if first != NAME:
                words = words[2:]
            known = (program if first == NAME else training).commands[words[0]].params
            options = {word for option in known for word in (*option.opts, *option.secondary_opts)}
            assert {word for word in words if word.startswith("--")} <= options, (page, line)
        else:
            assert first in ELSEWHERE or first.startswith("sha256sum"), (page, line)


def test_commands_are_those_of_the_installed_program():
    """`make` is said only in a section that speaks of a copy of the program."""
    ours = re.compile(
        r"(`|^|\| )make [a-z]|-m (report|training)\b|\.venv/bin/(?!activate)", re.MULTILINE
    )
    for page in [*WRITTEN, "../about"]:
        text = (DOCS / f"{page}.md").read_text("utf-8")
        for section in re.split(r"^(?=## )", text, flags=re.MULTILINE):
            assert "copy of the program" in section or not ours.search(section), (page, section)


def test_make_does_what_the_documentation_says():
    """Of each line of the table, `make` is asked what it would run. A remote, which may hold a
    password, is no argument of it but a variable."""
    text = (DOCS / "how-to" / "install.md").read_text("utf-8")
    rows = re.findall(rf"^\| `([^`]*{NAME}[^`]*)`.* \| `(make [^`]+)`(.*) \|$", text, re.MULTILINE)
    assert len(rows) == 6
    variables = re.findall(r"^([A-Z_]+) \?=", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for here, there, more in rows:
        assert {*re.findall(r"([A-Z_]+)=", more)} <= {*variables}
        asked = ["make", "--dry-run", *shlex.split(there)[1:]]
        done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
        words = shlex.split(here.partition(f"{NAME} ")[2].replace("--remote origin", ""))
        ran = re.findall(r"-m report (.*)", done.stdout.replace("\\\n", " "))
        assert any({*words} <= {*shlex.split(line)} for line in ran), (here, ran)


def is_valid(keys):
    """Whether an article may say this, with what examples leave out."""
    model = {} if {"models", "difference"} & keys.keys() else {"model": "falcon-8x8"}
    try:
        return bool(FrontMatter.model_validate(NEEDED | model | keys))
    except ValidationError:
        return False


def test_examples_of_front_matter_are_valid():
    """An example stands for itself, or adds to one above it."""
    known = set()
    for page in WRITTEN:
        earlier = [{}]
        for block in blocks(page, "yaml"):
            said = yaml.safe_load(block.replace("---\n", ""))
            assert said.keys() <= FrontMatter.model_fields.keys(), (page, said)
            fitting = [keys | said for keys in earlier if is_valid(keys | said)]
            assert fitting, (page, said)
            earlier.append(fitting[-1])
            known |= said.keys()
    assert len(known) > 12
    assert not is_valid({"layers": "few"})


def test_the_layout_names_folders_that_exist():
    """A folder is that of the entry it stands below."""
    above, seen = {-1: ROOT}, []
    text = (DOCS / "explanation" / "layout.md").read_text("utf-8")
    for indent, name in re.findall(r"^( *)- `(\S+)`: ", text, re.MULTILINE):
        depth = len(indent) // 4
        above[depth] = above[depth - 1] / name
        seen.append(above[depth])
    assert [path for path in seen if not path.exists()] == []
    folders = {path for path in (ROOT / "report").iterdir() if (path / "__init__.py").is_file()}
    assert folders - {*seen} == set()


def test_the_readme_is_short_and_leads_to_what_is_there():
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.encode()) <= MOST_BYTES
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 20
    assert [to for to in links if urlsplit(to).scheme or not (ROOT / to).is_file()] == []
    reached = {to for to in links if "/docs/" in to}
    assert reached == {f"site_src/docs/{page}.md" for page in WRITTEN if page != "index"}
