"""A passage that front matter spells out: the text itself, or a row of data."""

import csv
import io
import json
from pathlib import Path

from report.errors import ReportError
from report.files import strict_json
from report.inputs import tables
from report.inputs.passages import Passage, read_text
from report.inputs.specs import PassageSpec
from report.text import quoted, whole

OWN = "text"
"""The name of a passage that is written in front matter."""


def own_text(text: str, title: str = "", language: str = "") -> Passage:
    """The passage of a text; ReportError if it is empty."""
    if not text.strip():
        raise ReportError("the passage is empty; write the text to be measured")
    text = whole(text).strip()
    return Passage(OWN, title or "A text of the author’s", "", "", language, text)


def specified(spec: PassageSpec) -> Passage:
    """The passage that front matter spells out.

    raises: ReportError if there is no such data set, file, row or column, or the cells are empty
    """
    if spec.text is not None:
        return own_text(spec.text, spec.title, spec.language)
    source, records = _records(spec)
    if spec.row >= len(records):
        raise ReportError(
            f"got row {spec.row} of {source}, which has {len(records)}; rows count from 0, so the "
            f"last one is {len(records) - 1}"
        )
    row = records[spec.row]
    wanted = [spec.column] if spec.column else spec.columns or list(row)
    unknown = [name for name in wanted if name not in row]
    if unknown:
        raise ReportError(f"{source} has no column {quoted(unknown[0])}; it has: {_listed(row)}")
    cells = {name: _shown(row[name]) for name in wanted}
    lines = list(cells.values()) if spec.column else [f"{n}: {cell}" for n, cell in cells.items()]
    text = whole("\n".join(lines)).strip()
    if not any(cell.strip() for cell in cells.values()):
        raise ReportError(f"row {spec.row} of {source} has nothing in {_listed(wanted)}")
    title = spec.title or f"Row {spec.row} of {source}"
    name = f"{Path(source).stem}-{spec.row}"
    origin = "vega_datasets" if spec.dataset else source
    return Passage(name, title, origin, "", spec.language, text)


def _records(spec):
    """Name of the source, and its rows as dicts from column to value."""
    if spec.dataset:
        return spec.dataset, tables.records(spec.dataset)[1]
    path = Path(spec.file)
    text, ending = read_text(path), path.suffix.lower()
    try:
        records = _parsed(text, ending)
    except (ValueError, csv.Error, RecursionError) as error:
        said = str(error).splitlines()[0][:200]
        kind = ending[1:].upper()
        raise ReportError(f"{path}: is not a {kind} file of rows: {said}") from error
    if not records or not all(isinstance(row, dict) for row in records):
        what = "each an object {...}" if ending.startswith(".json") else "below a line of names"
        raise ReportError(f"{path}: has no rows; it must hold rows, {what}")
    return path.name, records


def _parsed(text, ending):
    if ending == ".json":
        rows = strict_json(text)
        return rows if isinstance(rows, list) else [rows]
    if ending == ".jsonl":
        return [strict_json(line) for line in text.split("\n") if line.strip()]
    delimiter = "\t" if ending == ".tsv" else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names = reader.fieldnames or []
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"two columns are called {quoted(twice[0])}")
    rows = list(reader)
    longer = next((number for number, row in enumerate(rows) if None in row), None)
    if longer is not None:
        raise ValueError(f"row {longer} has more cells than there are columns")
    return rows


def _listed(names):
    """Names in a sentence, at most the first 12."""
    said = [quoted(str(name))[1:-1] for name in list(names)[:12]]
    return ", ".join([*said, "…"] if len(names) > 12 else said)


def _shown(value):
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
