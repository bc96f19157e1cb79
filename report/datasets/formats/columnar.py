"""Tables of columns with description and unit (schema table/1)."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from report.datasets.damaged import damaged, require_number

SCHEMA = "table/1"


@dataclass(frozen=True)
class Column:
    """A named column: what its numbers mean, their unit, and how finely they are kept."""

    description: str
    unit: str
    values: np.ndarray | Sequence
    """[rows]: integers or strings; or floats if `step` is given, NaN for unknown ones."""
    step: float | None = None
    """Unit of the stored integers; a value is off by at most half of it."""


def encode(tables: dict[str, dict[str, Column]], **fields: int) -> dict:
    """The table/1 dataset of some named tables.

    tables: table name -> column name -> `Column`
    fields: further integers to record, e.g. layer=3
    """
    return {
        "schema": SCHEMA,
        **fields,
        "tables": {name: _encode_table(columns) for name, columns in tables.items()},
    }


def decode(dataset: dict) -> dict[str, dict[str, np.ndarray]]:
    """Table name -> column name -> array [rows] of float, int or str; the inverse of `encode`.

    raises: ReportError if a column does not have the table's rows, or mixes texts and numbers;
        ArithmeticError if it has numbers too large for a float
    """
    return {
        name: {
            column: _decode_column(name, column, content, table["rows"])
            for column, content in table["columns"].items()
        }
        for name, table in dataset["tables"].items()
    }


def decode_known(
    dataset: dict,
    wanted: Mapping[str, Set[str]],
    counted: Mapping[str, Mapping[str, int | range]],
) -> dict[str, dict[str, np.ndarray]]:
    """As `decode`, of tables that are known.

    wanted: table name -> names of its columns
    counted: table name -> column -> how many it counts from 0, or what it counts; there is a row
        for each combination, and the last of these columns counts fastest
    raises: ReportError as `decode`, or if a table has other columns or rows
    """
    tables = decode(dataset)
    for name, columns in wanted.items():
        if odd := sorted(columns ^ tables.get(name, {}).keys()):
            raise damaged(f"table {name!r} has other columns than it should: {odd[0]!r}")
    for name, numbers in counted.items():
        each = {c: range(n) if isinstance(n, int) else n for c, n in numbers.items()}
        expected = np.array(np.meshgrid(*each.values(), indexing="ij")).reshape(len(each), -1)
        if not np.array_equal([tables[name][column] for column in each], expected):
            every = ", ".join(f"{len(values)} of {column}" for column, values in each.items())
            raise damaged(f"table {name!r} has not a row for each: {every}")
    return tables


def _encode_table(columns):
    rows = {len(column.values) for column in columns.values()}
    assert len(rows) == 1, f"columns of unequal length: {rows}"
    return {
        "rows": rows.pop(),
        "columns": {name: _encode_column(column) for name, column in columns.items()},
    }


def _encode_column(column):
    content = {"description": column.description, "unit": column.unit}
    if column.step is None:
        return {**content, "values": _array(column.values).tolist()}
    return {**content, "step": column.step, "values": steps(column.values, column.step)}


def _array(values):
    """The values as they are: arrays of texts would drop zeros at the end of one."""
    cut = any(isinstance(value, str) and value.endswith("\0") for value in values)
    return np.asarray(values, object if cut else None)


def steps(values: np.ndarray | Sequence, step: float) -> list[int | None]:
    """How many steps each value is; None for NaN."""
    values = np.ravel(np.asarray(values, float))
    known = ~np.isnan(values)
    rounded = np.rint(np.where(known, values, 0) / step).astype(np.int64).tolist()
    return [number if there else None for number, there in zip(rounded, known, strict=True)]


def from_steps(numbers: Sequence[int | None], step: float) -> np.ndarray:
    """float [any number], the inverse of `steps` but for rounding."""
    return np.asarray([np.nan if n is None else n for n in numbers], float) * step


def _decode_column(table, name, content, rows):
    values, where = content["values"], f"table {table!r}: column {name!r}"
    require_number(where, values, rows)
    kinds = {str if isinstance(value, str) else type(value) for value in values}
    if not (kinds <= {str} or kinds <= {int, float, type(None)}):
        raise damaged(f"{where} has texts among its numbers")
    if "step" not in content:
        return _array(values)
    with np.errstate(over="raise"):
        return from_steps(values, content["step"])
