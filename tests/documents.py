"""What the pages of the documentation show, for tests that run exactly that."""

import re

from report.figures.build.find import figure_names
from tests.commands import ROOT

DOCS = ROOT / "site_src" / "docs"

REFERENCE = ("front-matter", "command-line", "prose", "figures", "datasets", "errors")
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
