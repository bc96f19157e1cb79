"""A chart as the page's script draws it: its Vega-Lite compiled to Vega by the build.

So a reader need not fetch the compiler, a third of the chart library, nor wait for it.
"""

import re
from collections.abc import Callable
from typing import Any

import altair as alt
import vl_convert

from report.authored import guard
from report.errors import ReportError
from report.figures.parts.figure import Spec

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
"""The version that Altair writes for, as vl-convert counts them."""


def vega(spec: Spec) -> Spec:
    """The Vega specification of a Vega-Lite one. Named datasets and `usermeta` stay as they are.

    Vega-Lite draws no canvas, only the picture at a `url`. Here the field that an image mark takes
    its `url` from becomes its `image`, which may be a canvas.

    raises: ReportError as `converted`
    """
    compiled = converted(vl_convert.vegalite_to_vega, spec)
    _feed_images(compiled)
    _let_through(compiled)
    _trust(compiled)
    _compute_once(compiled)
    return compiled


def converted(convert: Callable, spec: Spec) -> Any:
    """The result of a function of vl-convert, such as a Vega specification or an SVG picture.

    convert: takes the specification and the version of Vega-Lite
    spec: Vega-Lite with the figure's name in its `usermeta`
    raises: ReportError with the figure's name if Vega cannot draw it: a param is unknown, say
    """
    try:
        with guard.silent():
            return convert(spec, vl_version=VEGA_LITE)
    except ValueError as error:
        name = spec["usermeta"]["report"]["figure"]
        reason = FIRST_ERROR.search(str(error)) or FIRST_LINE.search(str(error))
        raise ReportError(f"figure {name!r}: its chart cannot be drawn: {reason[0]}.") from error


FIRST_LINE = re.compile(".*")
FIRST_ERROR = re.compile(r"(?m)(?<=Error: ).*$")
"""What Vega says before it lists its own code."""


def _feed_images(group):
    for mark in group.get("marks", []):
        _feed_images(mark)
        update = mark.get("encode", {}).get("update", {})
        if mark["type"] == "image" and "url" in update:
            update["image"] = update.pop("url")


def _let_through(group):
    """Make marks without a tooltip nothing to a pointer, which is told what lies below them.

    Else the triangle of a cell or the word on it would hide the cell, whose tooltip it is.
    """
    for mark in group.get("marks", []):
        _let_through(mark)
        told = any("tooltip" in channels for channels in mark.get("encode", {}).values())
        if mark["type"] != "group" and not told:
            mark["interactive"] = False


CHECKED = re.compile(r"!isValid\((datum\[.*\])\) \|\| !isFinite\(\+\1\)")
"""Vega-Lite's test of a value that cannot be drawn."""

OF_AN_ITEM = re.compile(r"\b(datum|item|parent|group|event)\b")
"""In an expression that may differ from item to item of a mark."""
PLAIN = re.compile(r"\w+")
"""An expression that is the name of a signal already."""


def _trust(compiled):
    """Leave out Vega-Lite's tests for values that cannot be drawn.

    Of other marks Vega-Lite filters the rows, so only marks with `invalid=None` have these tests.
    Our figures say that only of rows without such values, and testing takes as long as drawing.
    """
    for mark in compiled.get("marks", []):
        for channels in mark.get("encode", {}).values():
            for name, values in channels.items():
                if isinstance(values, list) and CHECKED.fullmatch(values[0].get("test", "")):
                    channels[name] = values[-1]


def _compute_once(compiled):
    """Give each expression that is the same for all items of a mark a signal, computed once.

    Without it a reader's browser interprets the expression anew for every item: hundreds of times
    a step.
    """
    signals = compiled.setdefault("signals", [])
    names = {}
    for mark in compiled.get("marks", []):
        if mark["type"] == "group":
            continue  # it may have signals of its own
        for value in _values(mark.get("encode", {})):
            text = value.get("signal", "")
            if not text or PLAIN.fullmatch(text) or OF_AN_ITEM.search(text):
                continue
            names.setdefault(text, f"constant_{len(names)}")
            value["signal"] = names[text]
    signals += [{"name": name, "update": text} for text, name in names.items()]


def _values(encode):
    """The values and offsets of channels: dicts with "signal", "scale" and the like."""
    for channels in encode.values():
        for channel in channels.values():
            for value in channel if isinstance(channel, list) else [channel]:
                yield value
                if isinstance(value.get("offset"), dict):
                    yield value["offset"]
