"""Shares on marks and in tooltips, which are rounded neither to nothing nor to all.

A format such as ".0%" writes 0.998 as "100%", which says of all what holds of nearly all. In prose
`report.text.percent` sees to it, in scripts `report/web/data/shares.js`; here it is every channel
and every expression of a specification, an author's own figures among them. Ticks of axes stand at
round numbers, and keep their format.
"""

import json
import re
from typing import Any

from report.figures.parts.figure import Spec
from report.text import ROUNDING

FORMAT = re.compile(r"\.(\d)~?%")
"""A format of d3 that writes a share, with its digits."""

CALL = re.compile(r"\bformat\(([^()']+), '(\.\d~?%)'\)")
"""What a figure's own expression makes of a share."""

PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
"""A field that an expression can name as it stands."""

CHANNELS = ("text", "tooltip", "description")
DATA = ("data", "datasets", "usermeta")


def in_words(spec: Spec) -> Spec:
    """A Vega-Lite specification whose shares near 0 and 1 are "less than 1%" and "more than 99%".

    On marks, where there is no room, they are "<1%" and ">99%".
    """
    return _of_view(spec)


def share(value: str, form: str, less: str = "less than ", more: str = "more than ") -> str:
    """The Vega expression of a share as text; value: an expression; form: as `FORMAT`."""
    digits = int(FORMAT.fullmatch(form)[1])
    least = 10.0**-digits
    low, high = least / 200, 1 - least / 200
    return (
        f"({value} > 0 && {value} < {low:.10g} ? '{less}{least:.{digits}f}%' : "
        f"{value} >= {high:.10g} && {value} < {1 - ROUNDING!r} ? "
        f"'{more}{100 - least:.{digits}f}%' : format({value}, '{form}'))"
    )


def _of_view(view):
    made = {}
    view = {name: _of_part(name, part, made) for name, part in view.items()}
    steps = [{"calculate": text, "as": name} for name, text in made.items()]
    return view | ({"transform": [*view.get("transform", []), *steps]} if steps else {})


def _of_part(name: str, part: Any, made: dict[str, str]) -> Any:
    """A part of a view; `made` collects the fields that its channels read instead of shares, with
    their expressions."""
    if name in DATA:
        return part
    if name == "encoding":
        return {
            channel: _of_channel(channel, given, made) if channel in CHANNELS else given
            for channel, given in part.items()
        }
    if isinstance(part, str):
        return CALL.sub(lambda found: share(found[1], found[2]), part)
    if isinstance(part, list):
        return [_of_part("", each, made) for each in part]
    if not isinstance(part, dict):
        return part
    if part.keys() & {"mark", "encoding"}:
        return _of_view(part)
    return {key: _of_part(key, each, made) for key, each in part.items()}


def _of_channel(channel, given, made):
    if isinstance(given, list):
        return [_of_channel(channel, each, made) for each in given]
    if not isinstance(given, dict):
        return given
    given = {key: _of_channel(channel, each, made) for key, each in given.items()}
    form = given.get("format")
    if not isinstance(form, str) or not FORMAT.fullmatch(form) or "aggregate" in given:
        return given
    field = given["field"]
    name = f"{field} {form} {channel}".replace(".", " ")
    value = f"datum.{field}" if PATH.fullmatch(field) else f"datum[{json.dumps(field)}]"
    made[name] = share(value, form, *(("<", ">") if channel == "text" else ()))
    return {key: each for key, each in given.items() if key != "format"} | {
        "field": name,
        "type": "nominal",
    }
