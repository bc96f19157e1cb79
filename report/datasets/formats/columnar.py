"""Tables of columns with description and unit (schema table/1): figures 4 to 10."""

from dataclasses import dataclass

import numpy as np

from report.errors import ReportError


@dataclass(frozen=True)
class Column:
    """A named column: what its numbers mean, their unit, and how finely they are kept."""

    description: str
    unit: str
    values: object
    """[rows]: integers, strings, or floats when `step` is given, NaN where not known."""
    step: float | None = None
    """Unit of the stored integers; a value is off by at most half of it."""


def encode(tables, **fields):
    """The table/1 dataset of some named tables.

    tables: dict of table name to dict of column name to `Column`
    fields: further integers to record, e.g. layer=3
    """
    return {
        "schema": "table/1",
        **fields,
        "tables": {name: _encode_table(columns) for name, columns in tables.items()},
    }


def decode(dataset):
    """dict of table name to dict of column name to array [rows] (float, int or str)."""
    return {
        name: {
            column: _decode_column(name, column, content, table["rows"])
            for column, content in table["columns"].items()
        }
        for name, table in dataset["tables"].items()
    }


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
        return {**content, "values": np.asarray(column.values).tolist()}
    return {**content, "step": column.step, "values": steps(column.values, column.step)}


def steps(values, step):
    """list of int, how many steps each value is; None where it is NaN."""
    values = np.ravel(np.asarray(values, float))
    known = ~np.isnan(values)
    rounded = np.rint(np.where(known, values, 0) / step).astype(np.int64).tolist()
    return [number if there else None for number, there in zip(rounded, known, strict=True)]


def from_steps(numbers, step):
    """float [any number], the inverse of `steps` but for rounding."""
    return np.asarray([np.nan if n is None else n for n in numbers], float) * step


def _decode_column(table, name, content, rows):
    values = content["values"]
    if len(values) != rows:
        raise ReportError(
            f"table {table!r}: column {name!r} has {len(values)} values, not {rows}; "
            "delete the dataset and run `make site`."
        )
    kinds = {str if isinstance(value, str) else type(value) for value in values}
    if not (kinds <= {str} or kinds <= {int, float, type(None)}):
        raise ReportError(
            f"table {table!r}: column {name!r} has texts among its numbers; delete the dataset and "
            "run `make site`."
        )
    if "step" not in content:
        return np.asarray(values)
    if str in kinds:
        raise ReportError(
            f"table {table!r}: column {name!r} has a step and no numbers; delete the dataset and "
            "run `make site`."
        )
    with np.errstate(over="ignore"):
        found = from_steps(values, content["step"])
    if np.isinf(found).any():
        raise ReportError(
            f"table {table!r}: column {name!r} has numbers that are too large; delete the dataset "
            "and run `make site`."
        )
    return found
