"""Literature that articles may cite: `references.bib` beside them, in BibTeX; what its entries say,
as plain text; and what one article cites, in its prose and in the list at its end.

bibtexparser has read an entry; pylatexenc, which comes with it, reads what is LaTeX in a field.
Nothing in an entry is trusted: addresses lead to web pages, or nowhere.
"""

import functools
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from string import ascii_lowercase
from typing import Any
from urllib.parse import quote, urlsplit

from markupsafe import Markup

from report import files
from report.authored.boundary import read_text
from report.errors import ReportError
from report.pages.filters import markdown_text
from report.text import count, isolated, nearest, quoted, xml_text

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


FILE = "references.bib"
"""Beside the templates of articles."""

LARGEST = 10_000_000
"""Bytes of the file."""

KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/+-]{0,99}")
"""What an entry may be called: a part of addresses."""


class Bibliography:
    """The entries of a file, read one by one when they are cited."""

    def __init__(self, path: Path, entries: Mapping[str, Any], strings: Mapping[str, str]):
        self.path = path
        self._entries, self._strings = entries, strings
        self._works: dict[str, Work] = {}

    @property
    def keys(self) -> list[str]:
        """Of all entries, in the order of the file."""
        return list(self._entries)

    def require(self, key: str) -> None:
        """Stop where there is no entry of that key.

        raises: ReportError with the nearest key
        """
        if key not in self._entries:
            raise ReportError(self._missing(key))

    def work(self, key: str) -> Work:
        """The entry of a key.

        raises: ReportError if there is none, or with file and line if it cannot be shown
        """
        self.require(key)
        if key not in self._works:
            self._works[key] = read_work(self.path, self._entries[key], self._strings)
        return self._works[key]

    def _missing(self, key):
        if not self.path.is_file():
            return (
                f"cite({quoted(key)}): there is no {self.path}; write one, with an entry in BibTeX "
                "for each work that is cited."
            )
        near = nearest(str(key), self._entries)
        hint = f"did you mean {near[0]!r}?" if near else f"add it to {self.path}."
        return f"cite({quoted(key)}): {FILE} has no such entry; {hint}"


def read_bibliography(folder: Path) -> Bibliography:
    """The works that articles in a folder may cite; none if it has no `references.bib`.

    raises: ReportError with file and line if it is not BibTeX, or a key comes twice
    """
    path = files.inside(folder, FILE)
    if not path.is_file():
        return Bibliography(path, {}, {})
    if path.stat().st_size > LARGEST:
        raise ReportError(
            f"{path}: is larger than {LARGEST // 1_000_000} MB; keep the entries that are cited."
        )
    return _of_text(path, read_text(path))


@functools.lru_cache(maxsize=2)  # of all articles; works are read once as well
def _of_text(path, text):
    from bibtexparser import parse_string
    from bibtexparser.middlewares import NormalizeFieldKeys

    for package in ("bibtexparser", "pylatexenc"):  # what they complain of is said here
        logging.getLogger(package).setLevel(logging.CRITICAL)
    library = parse_string(text, append_middleware=[NormalizeFieldKeys()])
    for block in library.failed_blocks:
        raise ReportError(f"{path}, line {block.start_line + 1}: {_what_failed(block)}")
    for entry in library.entries:
        if not KEY.fullmatch(entry.key):
            raise ReportError(
                f"{path}, line {entry.start_line + 1}: the key {quoted(entry.key)} is a part of "
                "addresses; write letters, digits and . : / + - _, at most 100."
            )
    strings = {string.key.lower(): string.value for string in library.strings}
    return Bibliography(path, {entry.key: entry for entry in library.entries}, strings)


def _what_failed(block):
    if key := getattr(block, "key", None):
        return f"there is an entry {quoted(key)} already; give this one another key."
    if doubled := getattr(block, "duplicate_keys", None):
        return f"the field {sorted(doubled)[0]!r} comes twice in an entry; keep one."
    return "this entry is not BibTeX; close its braces and quotes, and put commas between fields."


def uncited(folder: Path) -> list[str]:
    """The keys that no template of a folder names, in the order of the file.

    A key that is named anywhere counts as cited: which parts of an article are shown depends on
    what is measured.
    """
    bibliography = read_bibliography(folder)
    if not bibliography.keys:
        return []
    texts = [path.read_text("utf-8", "replace") for path in files.meant(folder.rglob("*.j2"))]
    return [
        key
        for key in bibliography.keys
        if not any(f"{mark}{key}{mark}" in text for text in texts for mark in "\"'")
    ]


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
