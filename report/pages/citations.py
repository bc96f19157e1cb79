"""What one article cites: the words in its prose, and the list at its end."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from string import ascii_lowercase

from markupsafe import Markup

from report.errors import ReportError
from report.pages.bibliography import Bibliography, read_bibliography
from report.pages.filters import markdown_text
from report.pages.works import Work

ANCHOR = "ref:"
"""Before the key of an entry: its place in the list. No heading has such an anchor."""


@dataclass(frozen=True)
class Listed:
    """A work in the list of an article."""

    work: Work
    year: str
    """With a letter, where the article cites several works of these authors and this year."""

    @property
    def anchor(self) -> str:
        """Where it stands on the page."""
        return ANCHOR + self.work.key

    @property
    def label(self) -> str:
        """What stands for it in prose: "Xiao et al., 2023"."""
        return f"{self.work.by}, {self.year}"


class Citations:
    """Collects what an article cites while its template is rendered."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.keys: dict[str, None] = {}
        """Of the works that were cited so far."""
        self.announced: Collection[str] | None = None
        """Keys of all works that the article cites; None while they are being counted."""

    @cached_property
    def bibliography(self) -> Bibliography:
        """What can be cited; read when something is."""
        return read_bibliography(self.folder)

    def cite(self, keys: Sequence[str], text: str | None = None) -> Markup | str:
        """Links to works, as `ArticleFigures.cite` says; "" while they are being counted."""
        require_citation(keys, text)
        works = [self.bibliography.work(key) for key in keys]
        self.keys |= dict.fromkeys(work.key for work in works)
        if self.announced is None:
            return ""
        listed = {each.work.key: each for each in self.listed}
        if text is not None:
            return _link(listed[keys[0]], text)
        links = [_link(listed[key], listed[key].label) for key in keys]
        return Markup("({})").format(Markup("; ").join(links))

    @cached_property
    def listed(self) -> list[Listed]:
        """The works that the article cites, by authors, year and title."""
        works = sorted(
            map(self.bibliography.work, self.announced or ()),
            key=lambda work: (work.by.casefold(), work.by, work.year, work.title),
        )
        listed = []
        for _, group in groupby(works, key=lambda work: (work.by, work.year)):
            same = list(group)
            letters = ascii_lowercase if len(same) > 1 else ""
            listed += [
                Listed(work, work.year + (letters[number : number + 1] or ""))
                for number, work in enumerate(same)
            ]
        return listed


def require_citation(keys: Sequence[object], text: object = None) -> None:
    """Stop where `cite` is given something else than keys, or words for several works.

    raises: ReportError
    """
    if not keys or not all(isinstance(key, str) for key in keys):
        raise ReportError('cite() wants keys of references.bib in quotes: cite("xiao2023").')
    if text is not None and len(keys) > 1:
        raise ReportError("cite(): `text` stands for one work; cite the others apart.")


def _link(listed, text):
    return Markup('<a class="cite" href="#{}">{}</a>').format(listed.anchor, markdown_text(text))
