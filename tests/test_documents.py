"""The documentation: it can be reached, and its examples are of commands and keys that exist."""

import re
import shlex
from urllib.parse import urlsplit

import pytest
import typer
import yaml

from report.__main__ import app
from report.errors import NAME
from report.study.front_matter import FrontMatter
from tests.commands import ROOT
from tests.documents import DOCS, GALLERY, REFERENCE, WRITTEN, blocks

MOST_BYTES = 6000
"""Of README.md."""

ELSEWHERE = {"git", "pip", "cd"}
"""Programs in examples that are not ours."""


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
    program = typer.main.get_command(app)
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    variables = set(re.findall(r"\$\((?:filter no,)?([A-Z_]+)", (ROOT / "Makefile").read_text()))
    lines = [
        (page, line)
        for page in WRITTEN
        for block in blocks(page, "sh")
        for line in block.splitlines()
    ]
    assert len(lines) > 30
    for page, line in lines:
        first, *words = shlex.split(line, comments=True)
        if first == "make":
            said = {word.partition("=")[0] for word in words if "=" in word}
            wrong = [word for word in words if "=" not in word and word not in targets]
            assert not wrong and said <= variables | {"SITE_URL"}, (page, line)
        elif first.endswith("python") or first == NAME:
            if first != NAME:
                assert words[:2] == ["-m", "report"], (page, line)
                words = words[2:]
            known = program.commands[words[0]].params
            options = {word for option in known for word in (*option.opts, *option.secondary_opts)}
            assert {word for word in words if word.startswith("--")} <= options, (page, line)
        else:
            assert first in ELSEWHERE or first.startswith("sha256sum"), (page, line)


def test_examples_of_front_matter_have_keys_that_exist():
    keys = set()
    for page in WRITTEN:
        for block in blocks(page, "yaml"):
            said = yaml.safe_load(block.replace("---\n", ""))
            assert said.keys() <= FrontMatter.model_fields.keys(), (page, said)
            keys |= said.keys()
    assert len(keys) > 12


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
    assert folders - {*seen} == {ROOT / "report" / "training"}  # named beside `embedded/`


def test_the_readme_is_short_and_leads_to_what_is_there():
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.encode()) <= MOST_BYTES
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 20
    assert [to for to in links if urlsplit(to).scheme or not (ROOT / to).is_file()] == []
    reached = {to for to in links if "/docs/" in to}
    assert reached == {f"site_src/docs/{page}.md" for page in WRITTEN if page != "index"}
