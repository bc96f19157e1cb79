"""What a figure's file may leave out: a docstring, `chart` and `rows` are enough.

Such a figure needs no script of its own: what `rows` gives at every state of its controls is
written into files beside its specification, and the page takes it from there.
"""

import functools
import itertools
import math
import traceback
from pathlib import Path
from types import ModuleType

import altair
import numpy as np

from report.errors import ReportError
from report.figures.parts import choices, theme

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


def completed(module, name):
    """A figure's module with everything that its file leaves out, a new one.

    raises: ReportError if it has no docstring, `chart` or `rows`
    """
    path = Path(module.__file__)
    missing = [part for part in ("chart", "rows") if not callable(getattr(module, part, None))]
    if missing or not (module.__doc__ or "").strip():
        said = f"no function `{missing[0]}`" if missing else "no docstring that says what it shows"
        raise ReportError(
            f"{path}: a figure needs a docstring, `chart(data, **state)` and "
            f"`rows(data, **state)`; this one has {said}."
        )
    shows = " ".join(module.__doc__.strip().split("\n\n")[0].split())
    defaults = {
        "ASPECT": ASPECT,
        "PHONE_ASPECT": getattr(module, "ASPECT", PHONE_ASPECT),
        "title": lambda data: name.replace("_", " ").capitalize(),
        "caption": lambda data: shows,
        "use": lambda data: "",
        "controls": lambda data: [],
        "seen": lambda data, **state: "",
        "alt": lambda data, **state: _alt(whole, data, shows, state),
    }
    whole = ModuleType(module.__name__, module.__doc__)  # the file's own names stay its own
    vars(whole).update(defaults | vars(module))
    whole.chart = functools.partial(_chart, whole, name, module.chart)
    whole.rows = functools.partial(_rows, module.rows)
    for key in ("title", "caption", "use", "controls", "seen", "alt", "chart", "rows"):
        setattr(whole, key, _blamed(path, getattr(whole, key)))
    return whole


def place_of_rows(spec):
    """Where the rows of a chart have to be written, "{layer}.json"; "" if they lie in datasets.

    spec: its specification
    """
    return f"/{spec['usermeta']['report']['data']['url']}".partition(f"/{ROWS}/")[2]


def states(controls):
    """Every state that controls can be at: list of dict of param to value.

    raises: ReportError if there are more than `MOST_STATES`
    """
    reach = [
        list(each.options)
        if isinstance(each, choices.Switch)
        else range(each.minimum, each.maximum + 1)
        for each in controls
    ]
    if math.prod(map(len, reach)) > MOST_STATES:
        raise ReportError(
            f"the controls of this figure have {math.prod(map(len, reach)):,} states, and "
            f"{MOST_STATES:,} are the most that files are written for; take fewer controls."
        )
    params = [each.param for each in controls]
    return [dict(zip(params, values, strict=True)) for values in itertools.product(*reach)]


def dataset(rows):
    """The table/1 dataset of what `rows` gives: dict of name to list of dict."""
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


def _chart(module, name, chart, data, **state):
    made = chart(data, **state)
    if not isinstance(made, altair.TopLevelMixin) or isinstance(made.usermeta, dict):
        return made  # it has the common look already
    at = choices.at_state(module.controls(data), state)
    place = "-".join(f"{{{control.param}}}" for control in at) or "all"
    return theme.frame(
        made,
        name=name,
        description=module.title(data),
        controls=at,
        url=f"{ROWS}/{place}.json",
        decode="tables",
        datasets=list(module.rows(data, **state)),
    ).configure_mark(aria=False)


def _rows(rows, data, **state):
    found = rows(data, **state)
    if not isinstance(found, list):
        return found
    return {ROWS: [_row(data, row) for row in found]}


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


def _alt(module, data, shows, state):
    chosen = choices.said(choices.at_state(module.controls(data), state))
    return f"{module.title(data)}{f' ({chosen})' if chosen else ''}: {shows}"


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


def line_of(error, path):
    """The line of a file in which an error came up, the innermost; None if it did elsewhere."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((each.lineno for each in reversed(frames) if Path(each.filename) == path), None)
