"""The measures of heads: every file whose name has no leading underscore is one.

A file is a docstring, words in capitals, and a function:

    \"\"\"What it is, in a sentence; equation, unit, range and source after an empty line.\"\"\"

    TITLE = "Attending to the first token"       heading of its figure
    AXIS = "share of tokens …"                   what a value is, with its unit
    RANGE = 0, 1                                 smallest and largest value; None: no bound
    NUMBER = ".1%"                               format of a value, of d3 and of Python
    DOES = "{head} has … for {value} …"          what the head with the largest value does
    NEEDS = ("values",)                          what it reads besides scores and probabilities

    def rows(attention): …                       a value for each [head, query], or NaN

`rows` gets a `report.measurements.rows.Rows`, some rows of one layer's attention, and returns a
tensor of one number for each head and current token: NaN where the measure does not apply. Row 0
of a text is left out afterwards, since token 0 of a decoder sees one target only. Nothing else is
to be written: sums over texts, spread, standard error, rank, and the control (the same function
of even attention over what is visible) follow for every measure alike, and so do its place in
tables, figures, prose, notebooks and sweeps.

`measures/NAME.py` of a publication is a measure like those here, of another name: figures and
sentences know those here by their names.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from report.authored.boundary import authored, read_text
from report.errors import OwnFileError, ReportError
from report.files import meant
from report.text import nearest, number, percent

FOLDER = Path(__file__).parent

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""A part of the names of datasets and figures."""

WORDS = ("TITLE", "AXIS", "NUMBER", "DOES", "COUNTED", "ALT", "LOOKS_AT")
"""Constants of a file that change no number."""

CONSTANTS = (*WORDS, "RANGE", "NEEDS")

NEEDED = ("values",)
"""What a measure may name in `NEEDS`: the lengths of values, which some models do not give."""

FORMATS = "%f"
"""How the format of a number may end."""


@dataclass(frozen=True)
class Measure:
    """A measure of heads: the function, and its words."""

    name: str
    shows: str
    """The first paragraph of the file's docstring."""
    rows: Callable[[Any], Any] = field(repr=False)
    """`Rows` to a tensor [head, query]: a number, or NaN where it does not apply."""
    file: str = ""
    """What errors name."""
    title: str = ""
    axis: str = ""
    number: str = ".2f"
    range: tuple[float | None, float | None] = (0, 1)
    does: str = ""
    counted: str = ""
    """First sentence of a figure's caption."""
    alt: str = ""
    """Beginning of a figure's text for those who do not see it."""
    looks_at: str = ""
    """What a head with much of it looks at; "" for a measure of another kind."""
    needs: tuple[str, ...] = ()
    by_author: bool = False
    """Whether it is one of a publication's own."""

    def computed(self, attention: Any) -> Any:
        """What `rows` returns; ReportError with file and line for what an author's raises."""
        if not self.by_author:
            return self.rows(attention)
        with authored(self.file):
            return self.rows(attention)

    def as_text(self, value: float) -> str:
        """A value in a sentence."""
        if "%" in self.number:
            return percent(value)
        return number(value) if self.range[1] is not None else format(value, self.number)

    @property
    def unit(self) -> str:
        """The range of values, in words."""
        low, high = self.range
        if low is None:
            return "any number"
        return f"{low:g} or more" if high is None else f"{low:g} to {high:g}"


@dataclass(frozen=True)
class OwnMeasure:
    """A measure of a publication's own as it travels to where models run: its file's text."""

    name: str
    file: str
    text: str = field(repr=False)

    @property
    def sha256(self) -> str:
        """Hash of what can change a number: the code without words, docstrings and layout."""
        return _hash(_counting(self.text, self.file))


def names() -> list[str]:
    """The measures that ship, sorted."""
    return sorted(path.stem for path in FOLDER.glob("[!_]*.py"))


@functools.cache
def shipped() -> dict[str, Measure]:
    """The measures that ship, by name."""
    return {name: _of_file(name, FOLDER / f"{name}.py") for name in names()}


def own_files(folder: Path) -> list[Path]:
    """The files of a publication's own measures, those of its folder `measures/`, sorted."""
    return sorted(meant(folder.glob("[!_]*.py")))


def own_measures(files: Iterable[Path | str]) -> tuple[OwnMeasure, ...]:
    """The measures of some files.

    raises: OwnFileError for a file that is none, or cannot be read
    """
    measures = []
    for path in map(Path, files):
        if not NAME.fullmatch(path.stem):
            raise OwnFileError(
                f"{path}: name a measure with small letters, digits and underscores, at most 64, "
                "e.g. two_back.py."
            )
        if path.stem in names():
            raise OwnFileError(
                f"{path}: a measure {path.stem!r} ships, and figures call it by its words; give "
                "yours another name."
            )
        try:
            measures.append(OwnMeasure(path.stem, str(path), read_text(path)))
            made(measures[-1])
        except ReportError as error:
            raise OwnFileError(error) from error
    return tuple(measures)


def parts(measures: Iterable[OwnMeasure], before: dict | None = None) -> dict:
    """What datasets depend on, for their key; before: as of `report.kinds.Kind.parts`."""
    if before is not None:  # what was measured stays right without a measure that came later
        return {"measures": before["measures"]} if "measures" in before else {}
    hashes = {each.name: each.sha256 for each in measures}
    return {"measures": hashes} if hashes else {}


def known(others: Iterable[OwnMeasure] = ()) -> dict[str, Measure]:
    """All measures by name: those that ship, and a publication's own."""
    return shipped() | {each.name: made(each) for each in others}


def named(name: str, among: Iterable[str]) -> str:
    """The name, if it is one of `among`; ReportError with the nearest one if not."""
    among = sorted(among)
    if name in among:
        return name
    near = nearest(name, among)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ReportError(f"unknown measure {name!r}; {hint}measured are: {', '.join(among)}.")


@functools.lru_cache(maxsize=200)
def made(measure: OwnMeasure) -> Measure:
    """The measure of a publication's own file, which is run.

    raises: ReportError with file and line for what is wrong with it
    """
    made_of = _of_text(measure.name, measure.file, measure.text)
    return replace(made_of, by_author=True)


def _of_file(name, path):
    return _of_text(name, str(path), path.read_text("utf-8"))


def _of_text(name, file, text):
    values: dict[str, Any] = {"__name__": f"measures.{name}", "__file__": file}
    with authored(file):
        exec(compile(text, file, "exec"), values)  # noqa: S102 (it is the author's own program)
    shows = " ".join((values.get("__doc__") or "").strip().split("\n\n")[0].split())
    if not shows or not callable(values.get("rows")):
        lacks = "function `rows(attention)`" if shows else "docstring that says what it is"
        raise ReportError(
            f"{file}: a measure needs a docstring and `rows(attention)`; this one has no {lacks}."
        )
    _require_words(file, values)
    words = {key.lower(): values[key] for key in CONSTANTS if key in values}
    title = words.pop("title", name.replace("_", " ").capitalize())
    sentence = shows[0].lower() + shows[1:].rstrip(".")
    defaults = {
        "title": title,
        "axis": sentence,
        "does": "{head} has the highest value, {value}",
        "counted": f"A point is a head: {sentence}.",
        "alt": shows.rstrip("."),
    }
    return Measure(name, shows, values["rows"], file, **defaults | words)


def _require_words(file, values):
    """Stop for a constant that is not what it must be, or is misspelt."""
    words = [name for name in values if name.isupper() or name.upper() in CONSTANTS]
    for name in [name for name in words if name[0] != "_" and not callable(values[name])]:
        near = nearest(name.upper(), CONSTANTS, similarity=0.75)
        if name not in CONSTANTS and near and near[0] not in values:
            raise ReportError(
                f"{file}: `{name}` is no part of a measure; did you mean `{near[0]}`? Call it "
                f"`_{name}` if it is a constant of your own."
            )
    for name in [name for name in WORDS if name in values]:
        if not isinstance(values[name], str) or not values[name].strip():
            raise ReportError(f"{file}: `{name}` must be a text.")
    try:
        low, high = values.get("RANGE", (0, 1))
        right = math.isfinite(low) and (high is None or low < high < math.inf)
        format(0.5, values.get("NUMBER", ".2f"))
        values.get("DOES", "").format(head="", value="")
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        right = False
    if not right or values.get("NUMBER", ".2f")[-1] not in FORMATS:
        raise ReportError(
            f"{file}: `RANGE` must be the smallest and the largest value, such as `0, 1` or "
            "`0, None`; `NUMBER` a format such as `.1%` or `.2f`; and `DOES` a sentence with "
            "{head} and {value}."
        )
    needs = values.get("NEEDS", ())
    if not isinstance(needs, tuple) or set(needs) - set(NEEDED):
        raise ReportError(f"{file}: `NEEDS` must be a tuple of {', '.join(map(repr, NEEDED))}.")


def _counting(text, file):
    """The code of a measure that can change a number."""
    with authored(file):
        tree = ast.parse(text, file)
    counting = [node for node in tree.body if not _is_word(node)]
    return "\n".join(ast.dump(node) for node in counting)


def _is_word(node):
    """Whether a statement is a docstring, or sets words."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    targets = node.targets if isinstance(node, ast.Assign) else ()
    return bool(targets) and all(getattr(t, "id", "") in WORDS for t in targets)


def _hash(text):
    return hashlib.sha256(text.encode()).hexdigest()
