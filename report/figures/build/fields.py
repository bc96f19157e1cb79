"""What a chart names, its rows must have. Else it would be drawn empty, and nobody would say so.

A chart names tables (`altair.NamedData`) and fields: in encodings, in tooltips, in transforms and
in expressions ("datum.value"). A field is in the rows, or a transform before makes it.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from report.errors import ReportError
from report.figures.parts.figure import Rows, Spec
from report.text import nearest, shortened, whole

MOST = 400
"""Characters of names that a sentence lists."""

PARTS = ("layer", "concat", "hconcat", "vconcat")
"""Keys of a specification whose charts inherit its data."""

NO_DATA = ("scale", "axis", "legend", "header")
"""Keys of a channel below which `field` and `datum` mean something else than a row."""

IN_EXPRESSION = re.compile(r"""\bdatum(?:\.([A-Za-z_]\w*)|\[\s*(['"])(.+?)\2\s*\])""")
FIRST_STEP = re.compile(r"[^.\[\\]+")
"""Of a path such as "place.x" or "values[0]"."""

EXPRESSIONS = ("test", "filter", "calculate", "expr", "and", "or", "not")
"""Keys whose texts are Vega expressions."""

OPERATIONS = ("window", "joinaggregate", "aggregate")
"""Transforms that are lists of operations, each of which makes a field."""

MADE_BY_DEFAULT = {"fold": ["key", "value"], "density": ["value", "density"]}
"""Transforms that make fields of these names unless `as` says others."""

ANYTHING = ("pivot", "regression", "loess", "quantile")
"""Transforms after which the fields are not known here: data name them, or few charts use them."""


def check(name: str, spec: Spec, tables: Mapping[str, Rows]) -> None:
    """Stop where a chart reads a table or a field that there is not.

    name: of the figure; spec: its Vega-Lite specification; tables: name of each table to its rows
    raises: ReportError with the nearest name, and all there are
    """
    for what, wanted, known in missing(spec, tables):
        near = nearest(wanted, known)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ReportError(
            f"figure {name!r}: its chart reads the {what} {wanted!r}, which its rows do not "
            f"have{hint} There are: {shortened(', '.join(sorted(known)), MOST) or 'none'}."
        )


def missing(spec: Spec, tables: Mapping[str, Rows]) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Yields ("table" or "field", the name that a chart reads, the names that there are)."""
    yield from _of_view(spec, tables | spec.get("datasets", {}), None, {})


def _of_view(view, tables, fields, encoding):
    """What is missing in a chart and in those inside it.

    fields, encoding: those of the chart around it
    """
    if "data" in view:
        table = (view["data"] or {}).get("name")
        inline = (view["data"] or {}).get("values")
        if table is not None and inline is None and table not in tables:
            yield "table", table, tables.keys()
        fields = _columns(inline if isinstance(inline, list) else tables.get(table))
    for step in view.get("transform", []):
        yield from _unknown(_read_by(step), fields)
        fields = _after(step, fields)
    encoding = encoding | view.get("encoding", {})
    inner = [part for key in PARTS for part in view.get(key, [])]
    inner += [view["spec"]] if isinstance(view.get("spec"), dict) else []
    if not inner:
        yield from _unknown(_named(encoding), fields)
        yield from _unknown(_named(view.get("mark")), fields)
    yield from _unknown(_named(view.get("facet")), fields)
    for part in inner:
        yield from _of_view(part, tables, fields, encoding if "layer" in view else {})


def _columns(rows):
    """The fields of a table; rows without any say nothing about what others may have."""
    if not rows or not all(isinstance(row, dict) for row in rows):
        return None
    return frozenset().union(*rows) or None


def _unknown(names, fields):
    if fields is not None:
        yield from (("field", name, fields) for name in names if name not in fields)


def _named(part, key=""):
    """Every field that a part of a chart reads of its rows."""
    if isinstance(part, str):
        if key in EXPRESSIONS:
            yield from (match[1] or match[3] for match in IN_EXPRESSION.finditer(part))
        elif key == "field" and (first := FIRST_STEP.match(part)):
            yield first[0]
    elif isinstance(part, list):
        for item in part:
            yield from _named(item, key)
    elif isinstance(part, dict):
        for name, value in part.items():
            if name not in NO_DATA:
                yield from _named(value, name)


def _read_by(step):
    """Every field that a transform reads."""
    yield from _named({key: value for key, value in step.items() if key != "from"})
    for key in ("groupby", "fold", "flatten"):
        yield from (name for name in step.get(key, []) if isinstance(name, str))
    for key in ("stack", "density", "impute", "lookup", "extent"):
        if isinstance(step.get(key), str):
            yield step[key]


def _after(step, fields):
    """The fields that there are after a transform."""
    if fields is None or any(key in step for key in ANYTHING):
        return None
    made = step.get("as", [])
    made = [made] if isinstance(made, str) else list(made)
    for kind, default in MADE_BY_DEFAULT.items():
        if kind in step:
            made = made or default
    for operation in [one for key in OPERATIONS for one in step.get(key, [])]:
        made.append(operation.get("as") or f"{operation['op']}_{operation.get('field', '')}")
    if "lookup" in step:
        made += step["from"].get("fields", [])
    if "aggregate" in step or "density" in step:
        return frozenset(made) | frozenset(step.get("groupby", []))
    return fields | frozenset(made)


def check_values(name: str, rows: list[dict[str, Any]], table: str = "") -> None:
    """Stop where rows hold something else than texts, whole numbers and finite ones, or None.

    name: of the figure; table: which the rows are of, where there are several
    raises: ReportError that names the row, the field and the value
    """
    of = f" of table {table!r}" if table else ""
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise ReportError(
                f"figure {name!r}: row {number}{of} is {_called(row)}; a row is a dict of field to "
                "value."
            )
        for field, value in row.items():
            if not isinstance(field, str):
                raise ReportError(
                    f"figure {name!r}: row {number}{of} has the key {field!r}, which is no text; "
                    "name fields by texts."
                )
            if not isinstance(value, (str, int, float, np.generic, type(None))):
                raise ReportError(
                    f"figure {name!r}: {field!r} of row {number}{of} is {_called(value)}; give a "
                    "number, a text or None."
                )
            if isinstance(value, str) and not value.isascii() and whole(value) != value:
                raise ReportError(
                    f"figure {name!r}: {field!r} of row {number}{of} holds half of a character, "
                    "which no file can; give the whole."
                )
            if isinstance(value, (float, np.floating)) and not math.isfinite(value):
                raise ReportError(
                    f"figure {name!r}: {field!r} of row {number}{of}{_place(row)} is {value}; give "
                    "None where a value is not known, or leave the row out."
                )


def _called(value):
    return f"of type {type(value).__name__}"


def _place(row):
    """Which row it is, if it is of a head or a token: " (layer 2, head 1)"."""
    named = [f"{key} {row[key]}" for key in ("layer", "head", "token") if key in row]
    return f" ({', '.join(named)})" if named else ""
