"""Rows of data: of a data set inside vega_datasets, or of an author's own file.

Both are read by the same code, with the same limits and messages. Only data sets inside that
package are read, so nothing is downloaded. Numbers keep the digits that they are written with.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from report.errors import ReportError
from report.files import finite, strict_json
from report.inputs.passages import read_text
from report.inputs.specs import ROW_ENDINGS
from report.text import quoted, whole

NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
"""A number in JSON."""

LONGEST = 2**31 - 1
"""Most characters in a field of a .csv file."""

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
    said: str
    """What messages call it."""
    origin: str
    """Where it is from, as pages say."""
    columns: tuple[str, ...]
    """Names of all columns, in the order of their first row."""
    rows: Sequence[dict[str, object]]
    """Values by column: str, `Bare`, bool, None, or lists and dicts of them. A row of JSON may lack
    some."""

    @property
    def plain(self) -> list[dict[str, object]]:
        """The rows as values of Python."""
        return json.loads(f"[{', '.join(map(_json, self.rows))}]")

    def require(self, columns: Sequence[str]) -> None:
        """Stop for a column that no row has; ReportError that lists those there are."""
        unknown = [column for column in columns if column not in self.columns]
        if unknown:
            raise ReportError(
                f"{self.said} has no column {quoted(unknown[0])}; it has: {listed(self.columns)}"
            )


def of_file(name: str) -> Records:
    """The rows of a file, named by a path that ends in one of `ROW_ENDINGS`.

    raises: ReportError if it cannot be read, is too large or not UTF-8, or holds anything but rows
    """
    path = Path(name)
    text = read_text(path, "file of rows", "give the path of a file that there is")
    return _records(text, path.suffix.lower(), path.name, str(path), path.name)


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
    said = [quoted(str(name))[1:-1] for name in names[:SHOWN]]
    return ", ".join([*said, "…"] if len(names) > SHOWN else said)


def _records(text, ending, name, said, origin):
    what = "each an object {...}" if ending.startswith(".json") else "below a line of names"
    if not text.strip():
        raise ReportError(f"{said}: is empty; it must hold rows, {what}")
    try:
        columns, rows = (
            _of_json(text, ending)
            if ending.startswith(".json")
            else _of_csv(text, "\t" if ending == ".tsv" else ",")
        )
    except (ValueError, csv.Error, RecursionError) as error:
        reason = str(error).splitlines()[0][:200]
        kind = ending[1:].upper()
        raise ReportError(f"{said}: is not a {kind} file of rows: {reason}") from error
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise ReportError(f"{said}: has no rows; it must hold rows, {what}")
    return Records(name, said, origin, columns, rows)


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
    return strict_json(text, parse_int=Bare, parse_float=_finite)


def _finite(digits):
    finite(digits)
    return Bare(digits)


def _of_csv(text, delimiter):
    """Columns and rows of a text of lines.

    raises: ValueError if two columns have one name, or a row has more or fewer cells than there are
        columns
    """
    csv.field_size_limit(LONGEST)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    columns, *rows = [line for line in lines if line] or [[]]
    twice = [name for name, number in Counter(columns).items() if number > 1]
    if twice:
        raise ValueError(f"two columns are called {quoted(twice[0])}; give each a name of its own")
    for number, row in enumerate(rows):
        if len(row) != len(columns):
            more = "more" if len(row) > len(columns) else "fewer"
            raise ValueError(
                f"row {number} has {more} cells ({len(row)}) than there are columns "
                f"({len(columns)})"
            )
    return tuple(columns), [
        {name: _number(cell) for name, cell in zip(columns, row, strict=True)} for row in rows
    ]


def _number(cell):
    return Bare(cell) if NUMBER.fullmatch(cell) else cell


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
