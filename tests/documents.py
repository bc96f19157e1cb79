"""What the pages of the documentation show, for tests that run exactly that."""

import re
from pathlib import Path

from report.errors import NAME
from report.figures.build.find import figure_names
from tests.commands import ROOT

DOCS = ROOT / "site_src" / "docs"

REFERENCE = ("front-matter", "command-line", "prose", "figures", "datasets")
"""Pages that are made from the code, in `reference/`."""

GALLERY = "gallery/index"
"""The page that leads to those of the figures, which are made from their files."""

WRITTEN = sorted(
    path.relative_to(DOCS).with_suffix("").as_posix()
    for path in DOCS.rglob("*.md")
    if path.relative_to(DOCS).parts[0] not in ("reference", "gallery")
)
"""The pages that are written by hand."""

FIGURES = [f"docs/gallery/{name}/" for name in figure_names()]
"""Addresses of the pages of figures."""

ADDRESSES = sorted(
    f"docs/{page}/".replace("/index/", "/")
    for page in (*WRITTEN, GALLERY, *(f"reference/{name}" for name in REFERENCE))
)
"""Of all pages, below that of the site."""


def blocks(page: str, language: str) -> list[str]:
    """All blocks of code in a language on a page, "how-to/figures", in order."""
    text = (DOCS / f"{page}.md").read_text("utf-8")
    return re.findall(rf"^```{language}\b[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


NOT_RUN = {
    "a copy of the program": r"make |-m (report|training) |arcee",
    "a package registry": r"\b(pip|pipx|uv|uvx) ",
    "a cluster": r"--ray |helm |#SBATCH",
    "minutes": r"--answers|--generated|\bmodels\b",
    "a change of the front matter": r"--composition|--copying|--successor",
    "a file of another program": r"compare scatter_data.json",
}
"""What a block may need to be run -> how it shows. A comment before the block says so."""

COMMANDS = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]*) -->\n)?"
    r"^```(?P<language>sh|python|text)[^\n]*\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def commands(path: Path) -> list[tuple[str, str, str]]:
    """What a reader of a Markdown file would run: (language, code, why tests do not run it or "").

    A text is among it where it begins with the program's name.
    """
    found = COMMANDS.finditer(path.read_text("utf-8"))
    return [
        (block["language"], block["code"], block["reason"] or "")
        for block in found
        if block["language"] != "text" or block["code"].startswith(NAME)
    ]
