"""Completes the figure of a file, in which what it shows, `chart` and `rows` are enough.

Such a figure needs no script of its own: the rows of every state of its controls are written into
files beside its specification, and the page takes them from there.

Errors of the file's functions name the file and the line.

Specifications are checked in a fifth of Altair's time. To say what is wrong, and where, Altair goes
through every alternative of the schema for every part of a chart, though most parts occur in other
charts too: the look, the axes, the layers of the next panel. Here a part is judged once.

Shares on marks and in tooltips round neither to 0% nor to 100%, as ".0%" does with 0.998: "100%"
says of all what holds of nearly all. This changes every channel and expression of a specification,
also in authors' figures; `report.text.percent` does so in prose, `report/web/data/shares.js` in
scripts. Ticks of axes stand at round numbers, and keep their format.
"""

import functools
import inspect
import itertools
import json
import math
import re
import typing
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import altair
import numpy as np
from altair.utils import schemapi
from jsonschema import Draft7Validator, ValidationError
from jsonschema.validators import extend

from report.authored.boundary import authored
from report.errors import ReportError
from report.figures.build.fields import check_values
from report.figures.parts import choices, grid, theme
from report.figures.parts.figure import Data, Figure, Rows, Spec
from report.kinds import questions
from report.text import ROUNDING, nearest

FORMAT = re.compile(r"\.(\d)~?%")
"""A format of d3 that writes a share, with its digits."""

CALL = re.compile(r"\bformat\(([^()']+), '(\.\d~?%)'\)")
"""Call of an expression that writes a share."""

PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
"""Name of a field that an expression can have without brackets."""

CHANNELS = ("text", "tooltip", "description")
DATA = ("data", "datasets", "usermeta")


def with_words(spec: Spec) -> Spec:
    """A Vega-Lite specification that writes shares near 0 and 1 as "less than 1%", "more than 99%".

    On marks, where there is no room, they are "<1%" and ">99%".
    """
    return _of_view(spec)


def share(value: str, form: str, less: str = "less than ", more: str = "more than ") -> str:
    """The Vega expression of a share as text; value: expression of the share; form: as `FORMAT`."""
    digits = int(FORMAT.fullmatch(form)[1])
    least = 10.0**-digits
    low, high = least / 200, 1 - least / 200
    return (
        f"({value} > 0 && {value} < {low:.10g} ? '{less}{least:.{digits}f}%' : "
        f"{value} >= {high:.10g} && {value} < {1 - ROUNDING!r} ? "
        f"'{more}{100 - least:.{digits}f}%' : format({value}, '{form}'))"
    )


def _of_view(view):
    fields = {}
    view = {name: _of_part(name, part, fields) for name, part in view.items()}
    steps = [{"calculate": text, "as": name} for name, text in fields.items()]
    return view | ({"transform": [*view.get("transform", []), *steps]} if steps else {})


def _of_part(name: str, part: Any, fields: dict[str, str]) -> Any:
    """A part of a view with words for shares; collects in `fields` those that its channels then
    read, each with its expression."""
    if name in DATA:
        return part
    if name == "encoding":
        return {
            channel: _of_channel(channel, encoding, fields) if channel in CHANNELS else encoding
            for channel, encoding in part.items()
        }
    if isinstance(part, str):
        return CALL.sub(lambda match: share(match[1], match[2]), part)
    if isinstance(part, list):
        return [_of_part("", each, fields) for each in part]
    if not isinstance(part, dict):
        return part
    if part.keys() & {"mark", "encoding"}:
        return _of_view(part)
    return {key: _of_part(key, each, fields) for key, each in part.items()}


def _of_channel(channel, encoding, fields):
    if isinstance(encoding, list):
        return [_of_channel(channel, each, fields) for each in encoding]
    if not isinstance(encoding, dict):
        return encoding
    encoding = {key: _of_channel(channel, each, fields) for key, each in encoding.items()}
    form = encoding.get("format")
    if not isinstance(form, str) or not FORMAT.fullmatch(form) or "aggregate" in encoding:
        return encoding
    field = encoding["field"]
    name = f"{field} {form} {channel}".replace(".", " ")
    value = f"datum.{field}" if PATH.fullmatch(field) else f"datum[{json.dumps(field)}]"
    fields[name] = share(value, form, *(("<", ">") if channel == "text" else ()))
    return {key: each for key, each in encoding.items() if key != "format"} | {
        "field": name,
        "type": "nominal",
    }


TEXTS = ("title", "caption", "use", "seen", "alt", "left_out")
"""Functions of a figure's file that give a text."""

BLAMED = ("chart", "rows", "controls", "panels", "columns", "legends", "boxes", *TEXTS)
"""Functions of a figure's file whose errors name the file and the line."""

NO_NUMBER = re.compile(r"(?<![\w“‘\"'/.-])(?:nan|inf)(?![\w”’\"'/.-])")
"""A number that is not finite, as Python writes it, and no word in quotation marks."""


def _blaming(figure, path):
    """The figure with functions whose errors become a `ReportError` that names the file."""
    calls = {name: call for name, call in vars(figure).items() if name in BLAMED and call}
    texts = {name: _checked_text(path, name, calls[name]) for name in TEXTS if name in calls}
    functions = {name: _with_line(path, call) for name, call in (calls | texts).items()}
    return replace(figure, **functions)


def _with_line(path, call):
    """A function of a figure's file whose errors name the file and the line."""

    @functools.wraps(call, updated=())
    def run(*arguments, **state):
        with authored(path):
            try:
                return call(*arguments, **state)
            except AttributeError as error:
                error.add_note(_alternatives(error, arguments))
                raise

    return run


def _alternatives(error, arguments):
    """Sentence about the attributes that an argument has; "" if another object lacks one."""
    if not any(error.obj is argument for argument in arguments):
        return ""
    names = [name for name in dir(error.obj) if not name.startswith("_")]
    near = nearest(error.name, names)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}There are: {', '.join(names)}."


def _checked_text(path, name, call):
    """A function of a figure's file that must return a text of which every number is finite."""

    @functools.wraps(call, updated=())
    def run(*arguments, **state):
        text = call(*arguments, **state)
        if not isinstance(text, str):
            type_ = type(text).__name__
            raise ReportError(f"{path}: `{name}` gives {type_}; it must give a text.")
        if bad := NO_NUMBER.search(text):
            raise ReportError(
                f"{path}: `{name}` says {bad[0]!r}, which is no number a reader can use: {text!r}; "
                "leave it out where it is not known."
            )
        return text

    return run


MOST_PARTS = 20_000
"""Parts of charts whose validity is remembered."""


def is_valid(spec: Spec) -> bool:
    """Whether the schema of Vega-Lite allows a specification, as `altair.Root.validate` says."""
    return _allows("#/definitions/TopLevelSpec", json.dumps(spec))


@functools.lru_cache(maxsize=MOST_PARTS)
def _allows(definition, part):
    """Whether a definition of the schema, "#/definitions/…", allows a part, which is JSON."""
    schema = _definitions()[definition.removeprefix("#/definitions/")]
    return _validator().evolve(schema=schema).is_valid(json.loads(part))


def _of_definition(validator, definition, part, schema):
    """The keyword "$ref" for `jsonschema`, by `_allows`, so that a part is judged once."""
    if not _allows(definition, json.dumps(part)):
        yield ValidationError("")  # Altair says what is wrong


@functools.cache
def _definitions():
    return altair.Root._schema["definitions"]


@functools.cache
def _validator():
    remembering = extend(Draft7Validator, {"$ref": _of_definition})
    return remembering(altair.Root._schema, format_checker=Draft7Validator.FORMAT_CHECKER)


ASPECT = 1.6
PHONE_ASPECT = 1.05
ROWS = "rows"
"""Name of the dataset of `rows` that are a list; a chart has it by `altair.NamedData("rows")`."""

MOST_STATES = 4096
"""A figure with more states would write more files than a site should have."""

TOKENS = ("token", "largest_target")
"""Columns of indices of tokens: a row gets the token's text besides, as token_text."""

DIGITS = 6
"""Significant digits of a number that is published."""


def completed(figure: Figure, path: Path) -> Figure:
    """A figure, which has a name, with every other field filled in.

    path: the figure's file, for errors of its functions
    """
    shows = " ".join(figure.shows.strip().split("\n\n")[0].split())
    aspect = figure.aspect or ASPECT
    phone_aspect = figure.phone_aspect or figure.aspect or PHONE_ASPECT
    columns = figure.columns if callable(figure.columns) else lambda data: figure.columns

    alt = figure.alt or (lambda data, **state: _alt(complete, data, state))

    def boxes(data):
        count = len(figure.panels(data)) if figure.panels else 1
        return grid.equal_boxes(count, columns(data), aspect, phone_aspect)

    complete = replace(
        figure,
        shows=shows,
        title=figure.title or (lambda data: figure.name.replace("_", " ").capitalize()),
        caption=figure.caption or (lambda data: shows),
        alt=lambda data, **state: alt(data, **_full_state(complete, data, state)),
        aspect=aspect,
        phone_aspect=phone_aspect,
        columns=columns,
        boxes=figure.boxes or boxes,
        of=figure.of or _annotated(figure.chart),
        left_out=lambda data: other_kind(complete, type(data)) or figure.left_out(data),
        chart=lambda data, **state: _chart(complete, figure.chart, data, state),
        rows=lambda data, **state: _rows(complete, figure.rows, data, state),
        seen=lambda data, **state: figure.seen(data, **_full_state(complete, data, state)),
    )
    complete = _blaming(complete, path)  # the functions above look it up, so they call these
    return complete


CALLED = {
    **{name: each.called for name, each in questions().items()},
    "answers": "answers of a model, as in `data=find.answers[0]`",
    "panels": "panels of conditions, as in `data=find.panels([(0, 0, 1)], find.compared)`",
}
"""Kind of data -> what messages call it."""


def other_kind(figure: Figure, data: type) -> str:
    """Sentence why a figure cannot be drawn of data of another kind's class; "" if it may be."""
    kind = getattr(data, "kind", None)
    fits = (issubclass(data, known) or kind == known.kind for known in figure.of)
    if kind is None or not figure.of or any(fits):
        return ""
    wanted = " or ".join(dict.fromkeys(CALLED[known.kind] for known in figure.of))
    return f"It is drawn of {wanted}, and is given {CALLED[kind].partition(',')[0]}."


def _annotated(chart):
    """The classes of data in the annotation of a chart's first parameter; () without one."""
    try:
        first = next(iter(inspect.signature(chart).parameters), None)
        hint = typing.get_type_hints(chart).get(first)
    except (NameError, TypeError):  # an annotation of a name that is not there
        return ()
    classes = typing.get_args(hint) or [hint]
    return tuple(part for part in classes if isinstance(part, type) and hasattr(part, "kind"))


def check_drawable(figure: Figure, data: Data) -> None:
    """Check that a figure can be drawn of data.

    raises: ReportError with the figure's reason
    """
    if reason := figure.left_out(data):
        raise ReportError(f"{figure.name} cannot be drawn: {reason}")


def spec_of(figure: Figure, data: Data, **state: int | str) -> Spec:
    """The Vega-Lite specification of a figure at a state, without data.

    Altair checks every part of a chart when it is made, and the whole at the end, which takes most
    of the time. So a chart is made without that; one that is not valid is made again, with errors.

    raises: ReportError if it is not valid
    """
    with suppress(Exception), schemapi.debug_mode(False):
        chart = figure.chart(data, **state)
        spec = chart if isinstance(chart, dict) else chart.to_dict(validate=False)
        if isinstance(chart, dict) or is_valid(spec):
            return with_words(spec)
    chart = figure.chart(data, **state)
    try:
        return with_words(chart if isinstance(chart, dict) else chart.to_dict())
    except Exception as error:
        reason = " ".join(str(error).split())
        raise ReportError(f"figure {figure.name!r}: its chart is not valid: {reason}") from error


def place_of_rows(spec: Spec) -> str:
    """File of a chart's rows in the folder `ROWS`, "{layer}.json"; "" if datasets have them."""
    return f"/{spec['usermeta']['report']['data']['url']}".partition(f"/{ROWS}/")[2]


def states(figure: str, controls: list[choices.Control | choices.Switch]) -> list[choices.State]:
    """Every state that controls can be at: param -> value.

    figure: its name, for the message
    raises: ReportError if there are more than `MOST_STATES`
    """
    count = number_of_states(controls)
    if count > MOST_STATES:
        raise ReportError(
            f"figure {figure!r}: its controls have {count:,} states, and "
            f"{MOST_STATES:,} are the most that files are written for; take fewer controls."
        )
    return list(every_state(controls))


def every_state(controls: list[choices.Control | choices.Switch]) -> Iterator[choices.State]:
    """The states that controls can be at, however many: param -> value."""
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


def _full_state(figure, data, state):
    """A state with the values of all controls; "panel" and "dark" stay as they are.

    raises: ReportError if a param is unknown or a value is out of reach
    """
    apart = {name: state[name] for name in ("panel", "dark") if name in state}
    state = {name: value for name, value in state.items() if name not in apart}
    return choices.values(figure.controls(data), state) | apart


def _chart(figure, draw, data, state):
    """The chart of a file's `chart` (`draw`), framed, with the figure's name and controls."""
    check_drawable(figure, data)
    state = _full_state(figure, data, state)
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
    values = {name: value for name, value in state.items() if name != "panel"}
    at = choices.as_json(choices.at_state(figure.controls(data), values))
    report = chart.usermeta["report"]
    chart.usermeta = {"report": {"figure": figure.name, "controls": at} | report}
    return chart


def _framed(figure, chart, data, state):
    place = "-".join(f"{{{name}}}" for name in state if name != "panel") or "all"
    datasets = list(figure.rows(data, **state))
    return theme.frame(
        chart,
        theme.Source(f"{ROWS}/{place}.json", "tables", datasets),
        description=figure.title(data),
    ).configure_mark(aria=False)


def _rows(figure, give, data, state):
    check_drawable(figure, data)
    rows = give(data, **_full_state(figure, data, state))
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
    """A row as it is published: plain numbers, and the texts of its tokens."""
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
    values = {name: value for name, value in state.items() if name != "panel"}
    controls = choices.at_state(figure.controls(data), values)
    title, state = choices.filled(figure.title(data), controls), choices.said(controls)
    shown = f"{title}{f' ({state})' if state else ''}: {figure.shows}"
    return f"{shown} {figure.seen(data, **values)}".strip()
