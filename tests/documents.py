"""What the pages of the documentation show, for tests that run exactly that."""

import re

from tests.commands import ROOT

DOCS = ROOT / "site_src" / "docs"


def blocks(page: str, language: str) -> list[str]:
    """All blocks of code in a language on a page, "how-to/figures", in order."""
    text = (DOCS / f"{page}.md").read_text("utf-8")
    return re.findall(rf"^```{language}\b[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
