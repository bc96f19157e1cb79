"""Data sets of vega_datasets as tables, and tables written as text, cell by cell.

Only data sets inside that package are read, so nothing is downloaded. A rendering is a Jinja
template of `templates/tables`: it decides what stands around the cells. The cells are put in
afterwards, so that the role of every character is known, whatever a cell contains.
"""

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from report.errors import ReportError
from report.text import quoted

TEMPLATES = Path(__file__).parents[2] / "templates" / "tables"
RENDERINGS = {"csv": "CSV", "json": "JSON", "sentences": "sentences"}
"""The renderings: name of the template -> what a reader sees."""

NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
"""A number in JSON."""
MARK = re.compile("\x00(\\d+)\x00")
"""Placeholder of a cell while a template is filled in; no template contains NUL."""

FEWEST_ROWS = 2
"""With fewer rows no cell has an earlier row."""


@dataclass(frozen=True)
class Cell:
    """One cell of a data set, as the data set spells it."""

    text: str
    """"" if the data set has no value."""
    bare: bool = False
    """Whether JSON writes it without quotes: a number, true or false."""


@dataclass(frozen=True)
class Table:
    """Some columns and the first rows of a data set."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Part:
    """A stretch of a rendering with one role."""

    text: str
    role: str
    """"header": the name of a column; "value": a cell; "delimiter": what stands between them."""
    row: int = -1
    """Row of a cell, index from 0; -1 for other parts."""
    column: int = -1
    """Column of a cell or a name, index from 0; -1 for a delimiter."""


@dataclass(frozen=True)
class Rendering:
    """A table as text."""

    name: str
    label: str
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """What a model reads: all parts joined."""
        return "".join(part.text for part in self.parts)


def table(name: str, columns: Sequence[str] = (), rows: int = 8) -> Table:
    """The first rows of a data set inside vega_datasets.

    columns: names in the order wanted; empty for all columns
    rows: how many
    raises: ReportError if the data set is unknown, not inside the package, or not a table; if it
        has no such column, or fewer rows
    """
    header, all_rows = records(name)
    unknown = [column for column in columns if column not in header]
    if unknown:
        raise ReportError(
            f"data set '{name}' has no column {quoted(unknown[0])}; it has: {', '.join(header)}"
        )
    if not FEWEST_ROWS <= rows <= len(all_rows):
        raise ReportError(
            f"got {rows} rows; of data set '{name}', {FEWEST_ROWS} to {len(all_rows)} rows can be "
            "read"
        )
    chosen = tuple(columns) or header
    cells = tuple(tuple(_cell(row.get(column)) for column in chosen) for row in all_rows[:rows])
    return Table(name, chosen, cells)


def renderings(table: Table) -> list[Rendering]:
    """A table in all renderings of `RENDERINGS`."""
    return [rendering(table, name) for name in RENDERINGS]


def rendering(table: Table, name: str) -> Rendering:
    """A table as text, by the template `templates/tables/<name>.txt.j2`."""
    jinja = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 (plain text, and the cells are put in afterwards)
        trim_blocks=True,
        lstrip_blocks=True,
    )
    parts = []
    columns = [
        _Shown(parts, Cell(text), "header", -1, column) for column, text in enumerate(table.columns)
    ]
    rows = [
        [_Shown(parts, cell, "value", row, column) for column, cell in enumerate(cells)]
        for row, cells in enumerate(table.rows)
    ]
    template = jinja.get_template(f"{name}.txt.j2")
    written = template.render(columns=columns, rows=rows).rstrip("\n")
    stretches = MARK.split(written)  # delimiters and numbers of parts alternate
    all_parts = [
        parts[int(stretch)] if place % 2 else Part(stretch, "delimiter")
        for place, stretch in enumerate(stretches)
    ]
    return Rendering(name, RENDERINGS[name], tuple(part for part in all_parts if part.text))


class _Shown:
    """A cell or a name as templates see it: `{{ cell.csv }}` is its placeholder in the text."""

    def __init__(self, parts, cell, role, row, column):
        self.parts, self.cell, self.place = parts, cell, (role, row, column)

    @property
    def csv(self):
        """Quoted where a comma, a quote or a line end would break the line (RFC 4180)."""
        if not re.search('[,"\r\n]', self.cell.text):
            return self._mark(self.cell.text)
        return f'"{self._mark(self.cell.text.replace(chr(34), chr(34) * 2))}"'

    @property
    def json(self):
        """As JSON: in quotes unless it is bare; null if it is missing."""
        if self.cell.bare:
            return self._mark(self.cell.text)
        if not self.cell.text:
            return "null"
        return f'"{self._mark(json.dumps(self.cell.text, ensure_ascii=False)[1:-1])}"'

    @property
    def words(self):
        """For a sentence: names without underscores; "missing" for a missing cell."""
        if self.place[0] == "header":
            return self._mark(self.cell.text.replace("_", " "))
        return self._mark(self.cell.text) if self.cell.text else "missing"

    def _mark(self, text):
        self.parts.append(Part(text, *self.place))
        return f"\x00{len(self.parts) - 1}\x00"


class _Bare(str):
    """A value that JSON writes without quotes, with the digits of the file."""


def records(name: str) -> tuple[tuple[str, ...], list[dict[str, str | None]]]:
    """The names of the columns of a data set inside vega_datasets, and its rows by these names.

    raises: ReportError if it is unknown, would have to be downloaded, or has no rows
    """
    from vega_datasets import data, local_data  # imports pandas

    local = local_data.list_datasets()
    if name not in local:
        what = "is not inside vega_datasets and would have to be downloaded"
        if name not in data.list_datasets():
            what = "is unknown"
        raise ReportError(f"data set {quoted(name)} {what}; inside it are: {', '.join(local)}")
    raw = local_data(name, return_raw=True).decode("utf-8-sig")
    if raw.lstrip()[:1] == "[":
        rows = json.loads(raw, parse_int=_Bare, parse_float=_Bare)
    else:
        rows = [
            {
                column: _Bare(text) if NUMBER.fullmatch(text) else text
                for column, text in row.items()
            }
            for row in csv.DictReader(io.StringIO(raw, newline=""))
        ]
    return tuple(rows[0]), rows


def _cell(value):
    """The value of a cell in a file (str, `_Bare`, bool or None) as `Cell`."""
    if isinstance(value, bool):
        return Cell(str(value).lower(), bare=True)
    return Cell("" if value is None else str(value), isinstance(value, _Bare))
