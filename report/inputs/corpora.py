"""Corpora: many texts, streamed from files on this machine or elsewhere."""

import functools
import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from report.errors import ReportError
from report.inputs import network
from report.inputs.passages import LARGEST, Passage
from report.inputs.records import OWN_DELIMITER, between, cells_of, delimiter_of
from report.inputs.specs import LINES, CorpusSpec, ending

CLIENTS = {
    **dict.fromkeys(("http", "https"), "aiohttp requests"),
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss"), "adlfs"),
    "hf": "huggingface_hub",
}
"""Protocols -> the packages that fsspec reads them with; none is locked, few corpora need one."""


HEAD, HEAD_SIZE = 100, 2**20
"""Most lines of a file of rows, and most of their characters, of which is found out what stands
between cells."""


@dataclass(frozen=True)
class Corpus:
    """Texts in order. Iterating gives pairs (index, text); indices count from 0."""

    title: str
    """What pages call the texts; "" for those that ship."""
    given: tuple[str, ...] = ()
    """The texts themselves, if there is no `spec`."""
    spec: CorpusSpec | None = None
    """Where the texts are."""
    allow_local: bool = False
    """Whether they may come from this machine's servers or a private network, see `network`."""

    @property
    def origin(self) -> str:
        """Where the texts are fetched from; "" for texts on this machine."""
        remote = self.spec is not None and network.is_remote(self.spec.file)
        return network.origin(self.spec.file) if remote else ""

    @functools.cached_property
    def form(self) -> str:
        """How rows were told apart, as builds say, "" where the ending says it; opens the file.

        raises: ReportError if that is not certain
        """
        if self.spec is None or ending(self.spec.file) not in LINES:
            return ""
        delimiter = next(_read(self.spec, lambda opened, spec: [_rows(opened, spec)[0]]))
        usual = OWN_DELIMITER[ending(self.spec.file)]
        return "" if delimiter == usual else f"cells between {between(delimiter)}"

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """raises: ReportError if a text cannot be read, or texts have changed since `scanned`"""
        digest, known = hashlib.sha256(), self.__dict__.get("scanned")
        for place, (index, text) in enumerate(self._texts()):
            digest.update(_in_list(place, text))
            yield index, text
        if known is not None and known[1] != _closed(digest):
            raise ReportError(
                f"{_called(self.spec)} changed while it was read; run the same command again"
            )

    def _texts(self):
        if self.spec is None:
            yield from enumerate(self.given)
            return
        texts, skip = _read(self.spec), set(self.spec.skip)
        if self.origin and not self.allow_local:
            network.require_public(self.spec.file)
            texts = network.only_public(texts, self.spec.file)
        for index, text in enumerate(texts):
            if index == self.spec.first:
                return
            if index not in skip:
                yield index, text.strip()

    def left_out(self, indices: str) -> str:
        """What to do about texts that cannot be measured; indices: theirs, listed."""
        them = "them" if "," in indices else "it"
        return f"Mend {them}, or leave {them} out: `skip: [{indices}]` below `corpus:`"

    @functools.cached_property
    def scanned(self) -> tuple[int, str]:
        """Number of texts, and SHA-256 of the JSON list of them; reads all texts.

        raises: ReportError if there is no text or one cannot be read
        """
        number, digest = 0, hashlib.sha256()
        for place, (_, text) in enumerate(self._texts()):
            digest.update(_in_list(place, text))
            number += 1
        if not number:
            corpus = _called(self.spec) if self.spec else "the corpus"
            raise ReportError(f"{corpus} has no text; write one into it")
        return number, _closed(digest)

    def __len__(self) -> int:
        return self.scanned[0]

    @property
    def sha256(self) -> str:
        """SHA-256 of the JSON list of the texts, as hex digits."""
        return self.scanned[1]

    def sha256_or(self, before: dict | None) -> str:
        """`sha256`; texts that are not on this machine count as unchanged.

        before: the parts of a key of the same texts; None: there is none
        raises: ReportError if the texts cannot be read, and there is none
        """
        try:
            return self.sha256
        except ReportError:
            if before is None:
                raise
            return before["corpus"]

    @property
    def words(self) -> list[str]:
        """The options of a command that reads the same texts."""
        return ["--allow-local"] if self.origin and self.allow_local else []


def shipped(passages: Iterable[Passage]) -> Corpus:
    """The corpus of some passages."""
    return Corpus("", given=tuple(passage.text for passage in passages))


def specified(spec: CorpusSpec, allow_local: bool = False) -> Corpus:
    """The corpus that front matter names; nothing is read yet.

    allow_local: as of `Corpus`
    """
    title = spec.title or _called(spec).rstrip("/").rpartition("/")[2]
    return Corpus(title, spec=spec, allow_local=allow_local)


def _called(spec):
    """What messages and pages call a corpus."""
    return network.without_secrets(spec.file)


def _in_list(place, text):
    """A text as part of the JSON list of all texts, after the opening bracket or a comma."""
    return f"{', ' if place else '['}{json.dumps(text)}".encode()


def _closed(digest):
    whole = digest.copy()
    whole.update(b"]")
    return whole.hexdigest()


def _read(spec, parsed=None):
    """The texts of all files that a `CorpusSpec` names.

    parsed: what is read of an open file instead
    """
    parsed = parsed or _parsed
    number = 0
    try:
        for file in _files(spec.file):
            newline = "" if ending(spec.file) in LINES else None
            text_file = {"encoding": "utf-8-sig", "newline": newline}
            with file as opened, io.TextIOWrapper(opened, **text_file) as lines:
                for text in parsed(lines, spec):
                    yield text
                    number += 1
    except (ReportError, GeneratorExit):
        raise
    except Exception as error:  # every kind of storage has errors of its own
        if isinstance(error, ImportError) or "Protocol not known" in str(error):
            raise _no_client(spec, error) from error
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        after = f" after {number} texts" if number else ""
        raise ReportError(
            f"the texts of {_called(spec)} cannot be read{after} ({reason}); give a path, or an "
            "address that fsspec reads, of UTF-8 text"
        ) from error


def _no_client(spec, error):
    """The error for a protocol that nothing installed here reads."""
    packages = CLIENTS.get(spec.file.partition("://")[0].lower())
    install = f"; run `python -m pip install {packages}` first" if packages else ""
    return ReportError(f"{_called(spec)} cannot be read here: {error}{install}")


def _files(path):
    import fsspec  # slow to import

    read = {"mode": "rb", "compression": "infer"}
    # A file that there is is meant itself: a folder may be called "*", and is no pattern then.
    if os.path.isfile(path):  # noqa: PTH113 (which stops for a long name)
        return [fsspec.open(path, expand=False, **read)]
    files = fsspec.open_files(path, **read)
    if not files:
        public = network.without_secrets(path)
        raise ReportError(f"no file fits {public}; give the path of a file of texts")
    for each in files:
        there = "file" in each.fs.protocol and Path(each.path).exists()
        if there and not Path(each.path).is_file():
            raise ReportError(f"{each.path} is no file; give the path of a file of texts")
    return files


def _parsed(opened, spec):
    if ending(spec.file) in LINES:
        texts, lines = _of_rows(opened, spec)
    else:
        texts = lines = _Lines(opened, spec)
        if ending(spec.file) != ".txt":
            texts = (_field(json.loads(line), spec) for line in lines if line.strip())
    for each in texts:
        lines.left = LARGEST
        yield each


def _of_rows(opened, spec):
    """The texts of a file of rows, and the lines that they are read of."""
    delimiter, lines = _rows(opened, spec)
    rows = cells_of(lines, delimiter)
    columns = next(rows)
    return (_field(dict(zip(columns, row, strict=True)), spec) for row in rows), lines


def _rows(opened, spec):
    """What stands between the cells of a file, and its lines without one that says so."""
    lines = _Lines(opened, spec)
    head, ended = [], False
    while not ended and len(head) < HEAD and sum(map(len, head)) < HEAD_SIZE:
        lines.left = LARGEST
        line = next(lines, "")
        head, ended = [*head, line], not line
    delimiter, rest = delimiter_of("".join(head), ending(spec.file), spec.delimiter, ended)
    lines.ahead = head if rest == "".join(head) else head[1:]
    return delimiter, lines


class _Lines:
    """Lines of a file, of which no text may take more than `LARGEST` characters: a small archive
    can hold a line that fills any memory."""

    def __init__(self, file, spec):
        self.file, self.spec, self.left = file, spec, LARGEST
        self.ahead = []
        """Lines that were looked at already, and come first."""

    def __iter__(self):
        return self

    def __next__(self):
        if self.ahead:
            return self.ahead.pop(0)
        line = self.file.readline(self.left + 1)
        if len(line) > self.left:
            raise ReportError(
                f"{_called(self.spec)} has a text of more than {LARGEST // 10**6} million "
                "characters, and no model takes one nearly as long; give a text a line"
            )
        self.left -= len(line)
        if not line:
            raise StopIteration
        return line


def _field(row, spec):
    if not isinstance(row, dict) or spec.column not in row:
        has = ", ".join(map(str, row)) if isinstance(row, dict) else "no columns"
        raise ReportError(
            f"a text of {_called(spec)} has no column {spec.column!r}; it has: {has}. Name the "
            "column with `column:`"
        )
    value = row[spec.column]
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
