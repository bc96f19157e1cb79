"""Works of literature: what an entry of `references.bib` says, as plain text.

bibtexparser has read the entry; pylatexenc, which comes with it, reads what is LaTeX in a field.
Nothing in an entry is trusted: addresses lead to web pages, or nowhere.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from report.errors import ReportError
from report.text import count, isolated, quoted, xml_text

LONGEST = 20_000
"""Characters of a field."""

AUTHORS = ("author", "editor", "organization", "institution")
VENUES = ("journal", "journaltitle", "booktitle", "publisher", "institution", "school")
VENUES += ("howpublished",)

DOI = re.compile(r"10\.\d{4,9}/[!-~]+")
ARXIV = re.compile(r"\d{4}\.\d{4,5}(?:v\d+)?|[a-z-]+(?:\.[A-Z]{2})?/\d{7}(?:v\d+)?")
ON_ARXIV = re.compile(rf"arXiv[: ]+({ARXIV.pattern})", re.IGNORECASE)
"""As Google Scholar puts it into the field `journal`."""

JOINED = re.compile(r'\s*(?:"([^"]*)"|\{([^{}]*)\}|([^\s#"{}]+))\s*(?:#|$)')
"""A part of a value that is put together: `nips # " 2023"`."""


@dataclass(frozen=True)
class Name:
    """A person, or several under one name. Plain text."""

    short: str
    """The family name: "van der Berg"."""
    full: str
    """"Anna van der Berg"."""


@dataclass(frozen=True)
class Work:
    """What can be cited. Plain text, which is not escaped yet."""

    key: str
    authors: tuple[Name, ...]
    and_others: bool
    """Whether it has authors whom the file does not name."""
    year: str
    title: str
    venue: str
    """Where it was published, "" if the file does not say."""
    address: str
    """Of a web page, http or https; "" if there is none."""

    @property
    def by(self) -> str:
        """Its authors in a sentence: "Xiao et al.", else the beginning of its title."""
        names = [name.short for name in self.authors]
        if not names:
            words = self.title.split()
            return f"“{' '.join(words[:4])}{' …' if len(words) > 4 else ''}”"
        if self.and_others or len(names) > 2:
            return f"{names[0]} et al."
        return " and ".join(names)

    @property
    def everybody(self) -> str:
        """All authors by their full names; of many, the first eight. "" if there is none."""
        names = [name.full for name in self.authors]
        first = names if len(names) <= 10 else names[:8]
        if len(first) < len(names) or self.and_others:
            hidden = len(names) - len(first)
            return f"{', '.join(first)} and {count(hidden, 'other') if hidden else 'others'}"
        return ", ".join([*first[:-2], " and ".join(first[-2:])])


def read_work(path: Path, entry: Any, strings: Mapping[str, str]) -> Work:
    """What an entry of bibtexparser says.

    path: of its file; strings: what `@string` defines there, by names in small letters
    raises: ReportError with file and line if it has no title, or a field cannot be shown
    """
    return _Entry(path, entry, strings).work()


class _Entry:
    """An entry, and what its fields mean."""

    def __init__(self, path, entry, strings):
        self.path, self.entry, self.strings = path, entry, strings
        self.enclosed = entry.parser_metadata.get("removed_enclosing", {})

    def work(self):
        title = self.text("title")
        if not title:
            raise self.wrong("", "has no title; give it one")
        authors, more = self.authors()
        return Work(
            key=self.entry.key,
            authors=authors,
            and_others=more,
            year=self.year(),
            title=title,
            venue=self.venue(),
            address=self.address(),
        )

    def wrong(self, name, fault):
        field = self.entry.fields_dict.get(name)
        line = (field or self.entry).start_line + 1
        what = f"{name} of " if field else ""
        return ReportError(f"{self.path}, line {line}: {what}{self.entry.key!r} {fault}.")

    def raw(self, *names):
        """The name and the text of the first field of these that says something."""
        for name in names:
            field = self.entry.fields_dict.get(name)
            value = str(field.value).strip() if field else ""
            if self.enclosed.get(name) == "no-enclosing" and "#" in value:
                value = self.joined(name, value)
            if len(value) > LONGEST:
                raise self.wrong(name, f"has more than {LONGEST:,} characters; shorten it")
            if value:
                return name, value
        return names[0], ""

    def joined(self, name, value):
        parts = JOINED.findall(value)
        if "".join(match[0] for match in JOINED.finditer(value)) != value:
            raise self.wrong(name, "is no text; put it in braces")
        return "".join(
            quotes or braces or (self.strings.get(word.lower(), word) if word else "")
            for quotes, braces, word in parts
        )

    def text(self, *names):
        name, value = self.raw(*names)
        return self.plain(name, value)

    def plain(self, name, value):
        """What LaTeX would show of a value, in one line."""
        try:
            text = _to_text(re.sub(r"(?<!\\)%", r"\\%", value))
        except Exception as error:  # of a parser that is given anything
            raise self.wrong(name, "cannot be read as LaTeX; write plain text") from error
        return isolated(xml_text(" ".join(text.split())))

    def authors(self):
        """The authors, and whether there are others."""
        from bibtexparser.middlewares.names import (
            parse_single_name_into_parts,
            split_multiple_persons_names,
        )

        name, value = self.raw(*AUTHORS)
        if name not in AUTHORS[:2]:
            value = value and f"{{{value}}}"  # one name, whatever it consists of
        names = []
        people = split_multiple_persons_names(" ".join(value.split()))
        for person in people:
            parts = parse_single_name_into_parts(person, strict=False)
            family = self.plain(name, " ".join([*parts.von, *parts.last]))
            full = self.plain(name, parts.merge_first_name_first)
            if family and full:
                names.append(Name(family, full))
        if more := len(names) > 1 and people[-1] == "others":
            del names[-1]
        return tuple(names), more

    def year(self):
        return (self.text("year") or self.text("date")[:4] or "n.d.")[:20]

    def venue(self):
        name, _ = self.raw(*VENUES)
        place = self.text(*VENUES)
        volume, number = self.text("volume"), self.text("number")
        if place and volume:
            place += f" {volume}{f'({number})' if number else ''}"
        pages = re.sub(r"\s*[-–]+\s*", "–", self.text("pages"))
        if pages:
            place += f"{', ' if place else ''}{'pages ' if name == 'booktitle' else ''}{pages}"
        number = self.arxiv()
        known = number and number in place
        return ", ".join(filter(None, [place, f"arXiv {number}" if number and not known else ""]))

    def arxiv(self):
        """The number of a preprint on arXiv, "" if it has none."""
        value = self.raw("eprint")[1]
        kind = self.raw("archiveprefix", "eprinttype")[1] or "arxiv"
        if value and kind.lower() == "arxiv":
            value = re.sub(r"^arXiv:", "", value, flags=re.IGNORECASE)
            if not ARXIV.fullmatch(value):
                raise self.wrong("eprint", f"{quoted(value)} is no number of arXiv")
            return value
        match = ON_ARXIV.search(self.raw("journal")[1])
        return match[1] if match else ""

    def address(self):
        if value := self.raw("doi")[1]:
            number = re.sub(r"^(?:https?://(?:dx\.)?doi\.org/|doi:)\s*", "", value, flags=re.I)
            number = number.replace("\\_", "_")
            if not DOI.fullmatch(number):
                raise self.wrong("doi", f"{quoted(value)} is no DOI, which begins with 10.")
            return f"https://doi.org/{quote(number, safe='/:;().-_')}"
        if number := self.arxiv():
            return f"https://arxiv.org/abs/{number}"
        return self.web()

    def web(self):
        """The address in the field `url`.

        raises: ReportError if it is of no web page
        """
        value = self.raw("url")[1]
        if match := re.fullmatch(r"\\url\s*\{(.*)\}", value):
            value = match[1].strip()
        value = re.sub(r"\\([_%&#~{}$])", r"\1", value)
        try:
            parts = urlsplit(value)
            host = parts.hostname
        except ValueError:
            parts, host = None, None
        if not value:
            return ""
        plain = re.fullmatch(r"[!-~]+", value) and not re.search(r"[\"<>\\^`{|}]", value)
        if not (
            plain and host and parts.scheme.lower() in ("http", "https") and not parts.username
        ):
            raise self.wrong(
                "url", f"{quoted(value)} is no address of a web page; it begins with https://"
            )
        return value


def _to_text(value: str) -> str:
    from pylatexenc.latex2text import LatexNodes2Text
    from pylatexenc.latexwalker import LatexWalker

    known, meanings = _latex()
    nodes, *_ = LatexWalker(value, latex_context=known).get_latex_nodes()
    # a new one each time, as it remembers what a value says of titles and authors
    return LatexNodes2Text(latex_context=meanings, math_mode="text").nodelist_to_text(nodes)


@functools.cache  # to collect them for every value takes nearly as long as to read it
def _latex() -> tuple[Any, Any]:
    """The macros that LaTeX has, for its parser, and what they become as text."""
    from pylatexenc import latex2text, latexwalker

    return latexwalker.get_default_latex_context_db(), latex2text.get_default_latex_context_db()
