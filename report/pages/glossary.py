"""What the words of the articles mean: glossary.toml, read and checked."""

import functools
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from report.errors import ReportError
from report.text import quoted

SOURCE = Path(__file__).with_name("glossary.toml")


@dataclass(frozen=True)
class Term:
    """A word and what it means, plain text."""

    anchor: str
    """Its key in glossary.toml, what templates call it, and its place on the glossary page."""
    name: str
    text: str
    figures: Sequence[str] = ()
    """Names of the figures that show it."""

    @property
    def word(self):
        """The name within a sentence: its first letter small, unless it is an abbreviation."""
        abbreviated = any(letter.isupper() for letter in self.name.partition(" ")[0][1:])
        return self.name if abbreviated else self.name[:1].lower() + self.name[1:]


@functools.cache
def glossary() -> dict[str, Term]:
    """All terms by their keys, sorted by name."""
    entries = tomllib.loads(SOURCE.read_text("utf-8"))
    terms = (Term(key, **entry) for key, entry in entries.items())
    return {term.anchor: term for term in sorted(terms, key=lambda term: term.name.casefold())}


def term(key: str) -> Term:
    """The `Term` of a key of glossary.toml.

    raises: ReportError that lists the known terms
    """
    known = glossary()
    if key not in known:
        raise ReportError(f"unknown term {quoted(key)}; known: {', '.join(sorted(known))}.")
    return known[key]
