"""Fills in what a figure's file leaves out: what it shows, `chart` and `rows` are enough.

Such a figure needs no script of its own: what `rows` gives at every state of its controls is
written into files beside its specification, and the page takes it from there.
"""

import inspect
import itertools
import math
import typing
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import altair
import numpy as np
from altair.utils import schemapi

from report.errors import ReportError
from report.figures.build.fields import check_values
from report.figures.build.mistakes import told
from report.figures.build.shares import in_words
from report.figures.build.valid import is_valid
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
        of=figure.of or _annotated(figure.chart),
        left_out=lambda data: other_kind(whole, type(data)) or figure.left_out(data),
        chart=lambda data, **state: _chart(whole, figure.chart, data, state),
        rows=lambda data, **state: _rows(whole, figure.rows, data, state),
    )
    whole = told(whole, path)  # the functions above look `whole` up, so they call these
    return whole


CALLED = {
    "passage": "a passage",
    "table": "a table",
    "sweep": "a sweep",
    "prediction": "predictions",
    "conditions": "conditions",
    "answers": "answers of a model, as in `data=find.answers[0]`",
    "panels": "panels of conditions, as in `data=find.panels([(0, 0, 1)], find.compared)`",
}
"""Kind of data -> what messages call it."""


def other_kind(figure: Figure, data: type) -> str:
    """Why a figure cannot be drawn of data of a class, one sentence; "" if nothing is known."""
    kind = getattr(data, "kind", None)
    fits = (issubclass(data, known) or kind == known.kind for known in figure.of)
    if kind is None or not figure.of or any(fits):
        return ""
    wanted = " or ".join(dict.fromkeys(CALLED[known.kind] for known in figure.of))
    return f"It is drawn of {wanted}, and is given {CALLED[kind].partition(',')[0]}."


def _annotated(chart):
    """The classes of data that the first argument of a function is annotated with."""
    try:
        first = next(iter(inspect.signature(chart).parameters), None)
        hint = typing.get_type_hints(chart).get(first)
    except (NameError, TypeError):  # an annotation of a name that is not there
        return ()
    classes = typing.get_args(hint) or [hint]
    return tuple(part for part in classes if isinstance(part, type) and hasattr(part, "kind"))


def check_drawable(figure: Figure, data: Data) -> None:
    """Stop where a figure cannot be drawn of data.

    raises: ReportError saying why
    """
    if reason := figure.left_out(data):
        raise ReportError(f"{figure.name} cannot be drawn: {reason}")


def spec_of(figure: Figure, data: Data, **state: int | str) -> Spec:
    """The Vega-Lite specification of a figure at a state, without data.

    Altair checks every part of a chart when it is made, and the whole at the end, which takes most
    of the time. So a chart is made without that; one that is not valid is made again, and told.

    raises: ReportError if it is not valid
    """
    with suppress(Exception), schemapi.debug_mode(False):
        chart = figure.chart(data, **state)
        spec = chart if isinstance(chart, dict) else chart.to_dict(validate=False)
        if isinstance(chart, dict) or is_valid(spec):
            return in_words(spec)
    chart = figure.chart(data, **state)
    try:
        return in_words(chart if isinstance(chart, dict) else chart.to_dict())
    except Exception as error:
        said = " ".join(str(error).split())
        raise ReportError(f"figure {figure.name!r}: its chart is not valid: {said}") from error


def place_of_rows(spec: Spec) -> str:
    """Where the rows of a chart have to be written, "{layer}.json"; "" if they lie in datasets."""
    return f"/{spec['usermeta']['report']['data']['url']}".partition(f"/{ROWS}/")[2]


def states(controls: list[choices.Control | choices.Switch]) -> list[choices.State]:
    """Every state that controls can be at: list of dict of param to value.

    raises: ReportError if there are more than `MOST_STATES`
    """
    count = number_of_states(controls)
    if count > MOST_STATES:
        raise ReportError(
            f"the controls of this figure have {count:,} states, and "
            f"{MOST_STATES:,} are the most that files are written for; take fewer controls."
        )
    return list(every_state(controls))


def every_state(controls: list[choices.Control | choices.Switch]) -> Iterator[choices.State]:
    """The states that controls can be at, however many: dicts of param to value."""
    params = [control.param for control in controls]
    for values in itertools.product(*map(_values_of, controls)):
        yield dict(zip(params, values, strict=True))


def number_of_states(controls: list[choices.Control | choices.Switch]) -> int:
    """How many states controls can be at."""
    return math.prod(len(_values_of(control)) for control in controls)


def _values_of(control):
    if isinstance(control, choices.Switch):
        return list(control.options)
    return range(control.minimum, control.maximum + 1)


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
    if isinstance(chart, dict) and "report" in chart.get("usermeta", ()):  # of another figure
        return chart
    if not isinstance(chart, altair.TopLevelMixin):
        raise ReportError(
            f"figure {figure.name!r}: `chart` gives {type(chart).__name__}; it must give an Altair "
            "chart."
        )
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
    if isinstance(rows, dict):
        return rows
    if not isinstance(rows, list):
        raise ReportError(
            f"figure {figure.name!r}: `rows` gives {type(rows).__name__}; it must give a list of "
            "dicts, one a row."
        )
    check_values(figure.name, rows)
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
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _alt(figure, data, state):
    state = choices.said(choices.at_state(figure.controls(data), state))
    return f"{figure.title(data)}{f' ({state})' if state else ''}: {figure.shows}"
