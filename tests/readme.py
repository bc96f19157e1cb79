"""What README.md shows, for tests that run exactly that."""

import re

from tests.commands import ROOT


def block(heading, language):
    """The first block of code in a language below a heading of README.md."""
    text = (ROOT / "README.md").read_text("utf-8")
    below = text.split(f"# {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.search(rf"^```{language}\n(.*?)^```$", below, re.MULTILINE | re.DOTALL)[1]
