"""Rows of data as tables, and tables written as text, cell by cell.

A rendering is a Jinja template of `templates/tables`: it decides what stands around the cells. The
cells are put in afterwards, so that the role of every character is known, whatever a cell contains.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from report.errors import ReportError
from report.files import TEMPLATES
from report.inputs.records import Bare, Records, is_file, of_data_set, of_file, spelled
from report.text import whole

RENDERINGS = {"csv": "CSV", "json": "JSON", "sentences": "sentences"}
"""The renderings: name of the template -> what a reader sees."""

MARK = re.compile("\x00(\\d+)\x00")
"""Placeholder of a cell while a template is filled in; no template contains NUL."""

FEWEST_ROWS = 2
"""With fewer rows no cell has an earlier row."""
ROWS = 8
"""How many rows are read unless a study says otherwise."""
MOST_CELLS = 10_000
"""A larger table fits into no model in all its renderings."""


@dataclass(frozen=True)
class Cell:
    """One cell, as the data set or file spells it."""

    text: str
    """"" if the data set has no value."""
    bare: bool = False
    """Whether JSON writes it without quotes: all but text."""


@dataclass(frozen=True)
class Table:
    """Some columns and the first rows of a data set or file."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    form: str = ""
    """How its file was read, as of `Records`."""


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


def table(
    name: str,
    columns: Sequence[str] = (),
    rows: int | None = None,
    delimiter: str | None = None,
) -> Table:
    """The first rows of a data set inside vega_datasets, or of an author's own file.

    name: of the data set, or a path that ends in .csv, .tsv, .json or .jsonl
    columns: names in the order wanted; empty for all columns
    rows: how many; None for the first `ROWS`, or all if there are fewer
    delimiter: as of `records.of_file`
    raises: ReportError if there is no such data set or file, or it holds anything but rows; if it
        has no such column, fewer rows, or more is asked for than a table may hold
    """
    source = of_file(name, delimiter) if is_file(name) else of_data_set(name)
    return first_rows(source, columns, rows)


def first_rows(source: Records, columns: Sequence[str] = (), rows: int | None = None) -> Table:
    """The first rows of what was read; columns, rows and errors as of `table`."""
    source.require(columns)
    most = len(source.rows)
    if most < FEWEST_ROWS:
        raise ReportError(
            f"{source.called} has only {most} row; a table needs {FEWEST_ROWS} at least"
        )
    rows = min(ROWS, most) if rows is None else rows
    if not FEWEST_ROWS <= rows <= most:
        raise ReportError(
            f"got {rows} rows; of {source.called}, {FEWEST_ROWS} to {most} rows can be read"
        )
    chosen = tuple(columns) or source.columns
    if not all(column.strip() for column in chosen):
        raise ReportError(
            f"a column of {source.called} has no name; give it one, or name others: "
            "`columns: [...]`"
        )
    if rows * len(chosen) > MOST_CELLS:
        raise ReportError(
            f"{rows} rows of {len(chosen)} columns of {source.called} are too many cells for a "
            f"table, which has at most {MOST_CELLS:,}; ask for fewer `rows` or `columns`"
        )
    cells = tuple(tuple(_cell(row.get(column)) for column in chosen) for row in source.rows[:rows])
    return Table(source.name, tuple(map(whole, chosen)), cells, source.form)


def origin(table: Table) -> str:
    """Where a table is from, as pages say: the package of data sets, or the name of the file."""
    return table.name if is_file(table.name) else "vega_datasets"


def renderings(table: Table) -> list[Rendering]:
    """A table in all renderings of `RENDERINGS`."""
    return [rendering(table, name) for name in RENDERINGS]


def rendering(table: Table, name: str) -> Rendering:
    """A table as text, by the template `templates/tables/<name>.txt.j2`."""
    jinja = Environment(
        loader=FileSystemLoader(TEMPLATES / "tables"),
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
    rendered = template.render(columns=columns, rows=rows).rstrip("\n")
    stretches = MARK.split(rendered)  # delimiters and numbers of parts alternate
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


def _cell(value):
    """The value of a cell, as in `Records`, as `Cell`."""
    bare = value is not None and (isinstance(value, Bare) or not isinstance(value, str))
    return Cell(spelled(value), bare)
