"""A passage that front matter spells out: the text itself, or a row of data."""

from pathlib import Path

from report.errors import ReportError
from report.inputs.passages import Passage
from report.inputs.records import listed, of_data_set, of_file, spelled
from report.inputs.specs import PassageSpec
from report.text import whole

OWN = "text"
"""The name of a passage whose text is the author's."""


def own_text(text: str, title: str = "", language: str = "") -> Passage:
    """The passage of an author's text; ReportError if that is empty."""
    if not text.strip():
        raise ReportError("the passage is empty; write the text to be measured")
    text = whole(text).strip()
    return Passage(OWN, title or "A text of the author’s", "", "", language, text)


def specified(spec: PassageSpec) -> Passage:
    """The passage of a spec: its text, a cell, or lines "column: cell" of a row.

    raises: ReportError if the text or cells are empty, or data set, file, row or column is missing
    """
    if spec.text is not None:
        return own_text(spec.text, spec.title, spec.language)
    source = of_data_set(spec.dataset) if spec.dataset else of_file(spec.file, spec.delimiter)
    count = len(source.rows)
    if spec.row >= count:
        raise ReportError(
            f"got row {spec.row} of {source.name}, which has {count}; rows count from 0, so the "
            f"last one is {count - 1}"
        )
    row = source.rows[spec.row]
    names = [spec.column] if spec.column else spec.columns or list(row)
    source.require([spec.column] if spec.column else spec.columns)
    cells = {name: spelled(row.get(name)) for name in names}
    lines = list(cells.values()) if spec.column else [f"{n}: {cell}" for n, cell in cells.items()]
    text = whole("\n".join(lines)).strip()
    if not any(cell.strip() for cell in cells.values()):
        raise ReportError(
            f"row {spec.row} of {source.name} has nothing in {listed(names)}; name another row or "
            "other columns"
        )
    title = spec.title or f"Row {spec.row} of {source.name}"
    name = f"{Path(source.name).stem}-{spec.row}"
    return Passage(name, title, source.described, "", spec.language, text)
