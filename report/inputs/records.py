"""Rows of data: of a data set inside vega_datasets, or of an author's own file.

Both are read by the same code, with the same limits and messages. Only data sets inside that
package are read, so nothing is downloaded. Numbers keep the digits that they are written with.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from report.errors import ReportError
from report.files import finite, strict_json
from report.inputs.passages import read_text
from report.inputs.specs import ROW_ENDINGS
from report.text import quoted, whole

NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
"""A number in JSON, which knows no digits of other scripts."""

INTEGER = re.compile(r"-?(0|[1-9]\d*)", re.ASCII)

LONGEST = 2**31 - 1
"""Most characters in a field of a .csv file."""

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""What stands between cells -> what sentences call it."""

OWN_DELIMITER = {".csv": ",", ".tsv": "\t"}

SEP_LINE = re.compile(r"sep=(.)(\r?\n|\Z)", re.IGNORECASE)
"""What Excel writes above a table to say what stands between its cells."""

DECIMAL_COMMA = re.compile(r"-?\d{1,3}((\.\d{3})+|\d*),\d+", re.ASCII)

GIVEN = "rows.json"
"""What rows that are in no file are called."""

SHOWN = 12
"""Most columns that a sentence names."""


class Bare(str):
    """A number with the digits of its file; JSON writes it without quotes."""


@dataclass(frozen=True)
class Records:
    """Rows with named columns."""

    name: str
    """Of the data set, or of the file without its folder."""
    called: str
    """What messages call it."""
    origin: str
    """Where it is from, as pages say."""
    columns: tuple[str, ...]
    """Names of all columns, in the order of their first row."""
    rows: Sequence[dict[str, object]]
    """Values by column: str, `Bare`, bool, None, or lists and dicts of them. A row of JSON may lack
    some."""
    form: str = ""
    """How a file of lines was read, as builds and pages say: what stands between its cells if its
    ending does not say so, and that a decimal comma makes a text."""

    @property
    def plain(self) -> list[dict[str, object]]:
        """The rows as values of Python."""
        return json.loads(f"[{', '.join(map(_json, self.rows))}]")

    @property
    def described(self) -> str:
        """Where it is from and how it was read, as builds and pages say."""
        return f"{self.origin} ({self.form})" if self.form else self.origin

    def require(self, columns: Sequence[str]) -> None:
        """Stop for a column that no row has, or for a first line that is a row and not names.

        columns: names that the author gave
        raises: ReportError that lists the columns there are, or names the number in their place
        """
        number = next((name for name in self.columns if NUMBER.fullmatch(name)), None)
        if number and not columns and self.name.lower().endswith((*OWN_DELIMITER,)):
            raise ReportError(
                f"{self.called} has the number {number} where its first line should name a column; "
                "put a line of names above the rows, or name the columns with `columns:`"
            )
        unknown = [column for column in columns if column not in self.columns]
        if unknown:
            raise ReportError(
                f"{self.called} has no column {quoted(unknown[0])}; it has: {listed(self.columns)}"
            )


def of_file(name: str, delimiter: str | None = None) -> Records:
    """The rows of a file, named by a path that ends in one of `ROW_ENDINGS`.

    delimiter: what stands between the cells of a .csv or .tsv file; None: as `delimiter_of`
    raises: ReportError if it cannot be read, is too large or not UTF-8, or holds anything but rows
    """
    path = Path(name)
    text = read_text(path, "file of rows", "give the path of a file that there is")
    return _records(text, path.suffix.lower(), path.name, str(path), path.name, delimiter)


def of_data_set(name: str) -> Records:
    """The rows of a data set inside vega_datasets.

    raises: ReportError if it is unknown, would have to be downloaded, or holds anything but rows
    """
    from vega_datasets import data, local_data  # imports pandas

    local = local_data.list_datasets()
    if name not in local:
        what = "is not inside vega_datasets and would have to be downloaded"
        if name not in data.list_datasets():
            what = "is unknown"
        raise ReportError(
            f"data set {quoted(name)} {what}; inside it are: {', '.join(local)}; a file of your "
            f"own ends in {', '.join(ROW_ENDINGS)}"
        )
    text = local_data(name, return_raw=True).decode("utf-8-sig")
    ending = ".json" if text.lstrip()[:1] in ("[", "{") else ".csv"
    return _records(text, ending, name, f"data set '{name}'", "vega_datasets")


def of_rows(text: str) -> Records:
    """Rows that are in no file, from their JSON text; ReportError if it holds anything but rows."""
    return _records(text, ".json", GIVEN, "the table", GIVEN)


def is_file(name: str) -> bool:
    """Whether a name is that of a file of rows, by its ending."""
    return name.lower().endswith(ROW_ENDINGS)


def spelled(value: object) -> str:
    """A value as its file spells it: "" for None, JSON for what is neither text nor a number."""
    if value is None:
        return ""
    return whole(value if isinstance(value, str) else _json(value))


def listed(names: Sequence[str]) -> str:
    """Names in a sentence, at most the first 12."""
    quoted_names = [quoted(str(name))[1:-1] for name in names[:SHOWN]]
    return ", ".join([*quoted_names, "…"] if len(names) > SHOWN else quoted_names)


def _records(text, ending, name, called, origin, delimiter=None):
    what = "each an object {...}" if ending.startswith(".json") else "below a line of names"
    if not text.strip():
        raise ReportError(f"{called}: is empty; it must hold rows, {what}")
    form = ""
    try:
        if ending.startswith(".json"):
            columns, rows = _of_json(text, ending)
        else:
            delimiter, text = delimiter_of(text, ending, delimiter)
            columns, rows, form = _of_csv(text, delimiter, OWN_DELIMITER[ending])
    except (ValueError, csv.Error, RecursionError) as error:
        reason = str(error).splitlines()[0][:200]
        kind = ending[1:].upper()
        raise ReportError(f"{called}: is not a {kind} file of rows: {reason}") from error
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise ReportError(f"{called}: has no rows; it must hold rows, {what}")
    return Records(name, called, origin, columns, rows, form)


def _of_json(text, ending):
    """Columns and rows of a JSON text: a list of objects, or an object a line."""
    if ending == ".json":
        value = _parsed(text)
        rows = value if isinstance(value, list) else [value]
    else:
        rows = [_parsed(line) for line in text.split("\n") if line.strip()]
    names = (name for row in rows if isinstance(row, dict) for name in row)
    return tuple(dict.fromkeys(names)), rows


def _parsed(text):
    return strict_json(text, parse_int=_finite, parse_float=_finite)


def _finite(digits):
    finite(digits)
    return Bare(digits)


def delimiter_of(
    text: str, ending: str, given: str | None = None, whole: bool = True
) -> tuple[str, str]:
    """What stands between the cells of lines, and the lines without one that says so (`sep=;`).

    It is taken where it is certain: the only sign of `DELIMITERS` that splits every line into as
    many cells, two at least; or the one of the ending where the first line has no other.
    `csv.Sniffer` is not asked: it guesses from frequencies, also where lines differ.

    text: the lines, or the first of them if not `whole`
    given: by the author, counts before all else
    raises: ValueError that says what was seen
    """
    usual, stated = OWN_DELIMITER[ending], SEP_LINE.match(text)
    text = text[stated.end() :] if stated else text
    if given or stated:
        return given or stated[1], text
    widths = {sign: _widths(text, sign, whole) for sign in DELIMITERS}
    fitting = {sign: counts[0] for sign, counts in widths.items() if len({*counts}) == 1}
    fitting = {sign: number for sign, number in fitting.items() if number > 1}
    if len(fitting) > 1:
        listed = " or ".join(f"{DELIMITERS[s]} ({n} columns)" for s, n in fitting.items())
        raise ValueError(f'its lines can be split at {listed}; say which: `delimiter: ";"`')
    named = next(
        (s for s, counts in widths.items() if s != usual and counts and counts[0] > 1), None
    )
    if not fitting and named and widths[usual][:1] in ([], [1]):
        names, row = widths[named][0], next(n for n in widths[named] if n != widths[named][0])
        raise ValueError(
            f"its first line has {names} names between {DELIMITERS[named]}, but another line has "
            f'{row} cells; mend that line, or say what stands between cells: `delimiter: ","`'
        )
    return next(iter(fitting), usual), text


def _widths(text, delimiter, whole):
    """How many cells each line has, blank ones left out; [] if it cannot be read so."""
    csv.field_size_limit(LONGEST)
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=whole)
        counts = [len(line) for line in lines if line]
    except csv.Error:
        return []
    return counts if whole or len(counts) < 2 else counts[:-1]  # the last may go on


def cells_of(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """The cells of each line that is not blank; the first line's are the names of the columns.

    raises: ValueError if two columns have one name, or a row has more or fewer cells than there are
        columns
    """
    csv.field_size_limit(LONGEST)
    rows = (row for row in csv.reader(lines, delimiter=delimiter, strict=True) if row)
    columns = next(rows, [])
    twice = [name for name, number in Counter(columns).items() if number > 1]
    if twice:
        raise ValueError(f"two columns are called {quoted(twice[0])}; give each a name of its own")
    yield columns
    for number, row in enumerate(rows):
        if len(row) != len(columns):
            more = "more" if len(row) > len(columns) else "fewer"
            raise ValueError(
                f"row {number} has {more} cells ({len(row)}) than there are columns "
                f"({len(columns)})"
            )
        yield row


def _of_csv(text, delimiter, usual):
    """Columns and rows of a text of lines, and how it was read."""
    columns, *rows = cells_of(io.StringIO(text, newline=""), delimiter)
    commas = any(DECIMAL_COMMA.fullmatch(cell) for row in rows for cell in row)
    form = [] if delimiter == usual else [f"cells between {between(delimiter)}"]
    form += ["numbers with a decimal comma are texts"] if commas else []
    number = INTEGER if commas else NUMBER  # 1.234 may be a thousand there
    values = [
        {
            # what no float holds is a text, since nothing could compute with it
            name: Bare(cell) if number.fullmatch(cell) and isfinite(float(cell)) else cell
            for name, cell in zip(columns, row, strict=True)
        }
        for row in rows
    ]
    return tuple(columns), values, ", ".join(form)


def between(delimiter: str) -> str:
    """What stands between cells, in a sentence."""
    return DELIMITERS.get(delimiter, quoted(delimiter))


def _json(value):
    """A value as JSON, with the digits of its numbers."""
    if isinstance(value, Bare):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_json, value))}]"
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key, ensure_ascii=False)}: {_json(v)}" for key, v in value.items())
        return f"{{{', '.join(pairs)}}}"
    return json.dumps(value, ensure_ascii=False)
