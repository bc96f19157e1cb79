"""The glossary's figures are those of articles."""

import re

from report.pages.glossary import glossary
from tests.commands import ROOT

PLACED = re.compile(r'figure\("(\w+)"(?:, key="(\w+)")?')


def test_every_figure_that_shows_a_term_is_placed_in_an_article_that_ships():
    """One that is not would have no link, and nobody would notice."""
    texts = (path.read_text("utf-8") for path in (ROOT / "templates" / "articles").rglob("*.j2"))
    placed = {key or name for text in texts for name, key in PLACED.findall(text)}
    assert len(placed) > 15
    for term in glossary().values():
        assert term.figures, term.anchor
        assert set(term.figures) <= placed, term.anchor
