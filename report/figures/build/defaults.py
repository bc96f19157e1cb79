"""Fills in what a figure's file leaves out: what it shows, `chart` and `rows` are enough.

Such a figure needs no script of its own: what `rows` gives at every state of its controls is
written into files beside its specification, and the page takes it from there.
"""

import functools
import itertools
import math
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import altair
import numpy as np

from report.errors import ReportError
from report.figures.parts import choices, grid, theme
from report.figures.parts.figure import Data, Figure, Rows, Spec

ASPECT = 1.6
PHONE_ASPECT = 1.05
ROWS = "rows"
"""The dataset that a list of rows fills; a chart has it by `altair.NamedData("rows")`."""

MOST_STATES = 4096
"""A figure with more states would write more files than a site should have."""

TOKENS = ("token", "largest_target")
"""Columns that name a token: a row has its text besides, as token_text."""

DIGITS = 6
"""Significant digits of a number that is published."""

BLAMED = (
    *("chart", "rows", "title", "caption", "use", "controls", "seen", "alt", "left_out"),
    *("panels", "columns", "legends", "boxes"),
)
"""Functions of a figure's file whose mistakes are told with the file and the line."""


def completed(figure: Figure, path: Path) -> Figure:
    """A figure with every field filled in, from one that has a name.

    path: the figure's file, which is named when one of its functions fails
    """
    shows = " ".join(figure.shows.strip().split("\n\n")[0].split())
    aspect = figure.aspect or ASPECT
    phone_aspect = figure.phone_aspect or figure.aspect or PHONE_ASPECT
    columns = figure.columns if callable(figure.columns) else lambda data: figure.columns

    def boxes(data):
        count = len(figure.panels(data)) if figure.panels else 1
        return grid.equal_boxes(count, columns(data), aspect, phone_aspect)

    whole = replace(
        figure,
        shows=shows,
        title=figure.title or (lambda data: figure.name.replace("_", " ").capitalize()),
        caption=figure.caption or (lambda data: shows),
        alt=figure.alt or (lambda data, **state: _alt(whole, data, state)),
        aspect=aspect,
        phone_aspect=phone_aspect,
        columns=columns,
        boxes=figure.boxes or boxes,
        chart=lambda data, **state: _chart(whole, figure.chart, data, state),
        rows=lambda data, **state: _rows(whole, figure.rows, data, state),
    )
    calls = {name: call for name, call in vars(whole).items() if name in BLAMED and call}
    whole = replace(whole, **{name: _blamed(path, call) for name, call in calls.items()})
    return whole


def check_drawable(figure: Figure, data: Data) -> None:
    """Stop where a figure cannot be drawn of data.

    raises: ReportError saying why
    """
    if reason := figure.left_out(data):
        raise ReportError(f"{figure.name} cannot be drawn: {reason}")


def place_of_rows(spec: Spec) -> str:
    """Where the rows of a chart have to be written, "{layer}.json"; "" if they lie in datasets."""
    return f"/{spec['usermeta']['report']['data']['url']}".partition(f"/{ROWS}/")[2]


def states(controls: list[choices.Control | choices.Switch]) -> list[choices.State]:
    """Every state that controls can be at: list of dict of param to value.

    raises: ReportError if there are more than `MOST_STATES`
    """
    reach = [
        list(control.options)
        if isinstance(control, choices.Switch)
        else range(control.minimum, control.maximum + 1)
        for control in controls
    ]
    count = math.prod(map(len, reach))
    if count > MOST_STATES:
        raise ReportError(
            f"the controls of this figure have {count:,} states, and "
            f"{MOST_STATES:,} are the most that files are written for; take fewer controls."
        )
    params = [control.param for control in controls]
    return [dict(zip(params, values, strict=True)) for values in itertools.product(*reach)]


def dataset(rows: dict[str, Rows]) -> dict[str, Any]:
    """The table/1 dataset of what `rows` gives."""
    return {
        "schema": "table/1",
        "tables": {
            name: {"rows": len(records), "columns": _columns(records)}
            for name, records in rows.items()
        },
    }


def _columns(records):
    names = list(dict.fromkeys(name for row in records for name in row))
    texts = {f"{name}_text" for name in TOKENS if name in names}  # the page's script adds them
    return {
        name: {
            "description": name.replace("_", " "),
            "unit": "as the figure shows it",
            "values": [_value(row.get(name)) for row in records],
        }
        for name in names
        if name not in texts
    }


def _chart(figure, draw, data, state):
    """What a figure's own `chart` gives, framed and with the figure's name in it."""
    check_drawable(figure, data)
    chart = draw(data, **state)
    if not isinstance(chart, altair.TopLevelMixin):
        return chart
    if not isinstance(chart.usermeta, dict):  # it has not the common look yet
        chart = _framed(figure, chart, data, state)
    report = chart.usermeta["report"]
    chart.usermeta = {"report": {"figure": figure.name} | report}
    return chart


def _framed(figure, chart, data, state):
    at = choices.at_state(figure.controls(data), state)
    place = "-".join(f"{{{control.param}}}" for control in at) or "all"
    datasets = list(figure.rows(data, **state))
    return theme.frame(
        chart,
        theme.Source(f"{ROWS}/{place}.json", "tables", datasets),
        description=figure.title(data),
        controls=at,
    ).configure_mark(aria=False)


def _rows(figure, give, data, state):
    check_drawable(figure, data)
    rows = give(data, **state)
    if not isinstance(rows, list):
        return rows
    return {ROWS: [_row(data, row) for row in rows]}


def _row(data, row):
    """A row as it is published: plain numbers, and the text of the token that it names."""
    row = {name: _value(value) for name, value in row.items()}
    for name in TOKENS:
        if name in row:
            row[f"{name}_text"] = data.tokens[row[name]].label
    return row


def _value(value):
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value


def _alt(figure, data, state):
    state = choices.said(choices.at_state(figure.controls(data), state))
    return f"{figure.title(data)}{f' ({state})' if state else ''}: {figure.shows}"


def _blamed(path, call):
    """A function of a figure's file whose mistakes are told with the file and the line."""

    @functools.wraps(call, updated=())
    def run(*arguments, **state):
        try:
            return call(*arguments, **state)
        except ReportError:
            raise
        except Exception as error:
            line = line_of(error, path)
            if line is None:
                raise
            raise ReportError(f"{path}, line {line}: {type(error).__name__}: {error}") from error

    return run


def line_of(error: Exception, path: Path) -> int | None:
    """The innermost line of a file in which an error came up; None if it did elsewhere."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if Path(frame.filename) == path), None)
