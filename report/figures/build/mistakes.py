"""Tells mistakes in a figure's file with the file and the line."""

import functools
import re
from dataclasses import replace
from pathlib import Path

from report.authored.boundary import authored
from report.errors import ReportError
from report.figures.parts.figure import Figure
from report.text import nearest

TEXTS = ("title", "caption", "use", "seen", "alt", "left_out")
"""Functions of a figure's file that give a text."""

BLAMED = ("chart", "rows", "controls", "panels", "columns", "legends", "boxes", *TEXTS)
"""Functions of a figure's file whose mistakes are told with the file and the line."""

NO_NUMBER = re.compile(r"(?<![\w“‘\"'/.-])(?:nan|inf)(?![\w”’\"'/.-])")
"""How Python writes what is not finite; words in quotation marks are not numbers."""


def told(figure: Figure, path: Path) -> Figure:
    """The figure with functions whose mistakes become a `ReportError`.

    path: the figure's file
    """
    calls = {name: call for name, call in vars(figure).items() if name in BLAMED and call}
    texts = {name: _checked_text(path, name, calls[name]) for name in TEXTS if name in calls}
    called = {name: _told_with_line(path, call) for name, call in (calls | texts).items()}
    return replace(figure, **called)


def _told_with_line(path, call):
    """A function of a figure's file whose mistakes are told with the file and the line."""

    @functools.wraps(call, updated=())
    def run(*arguments, **state):
        with authored(path):
            try:
                return call(*arguments, **state)
            except AttributeError as error:
                error.add_note(_there(error, arguments))
                raise

    return run


def _there(error, arguments):
    """What data have instead of the name that was asked for; "" if it was asked of other things."""
    if not any(error.obj is given for given in arguments):
        return ""
    names = [name for name in dir(error.obj) if not name.startswith("_")]
    near = nearest(error.name, names)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}There are: {', '.join(names)}."


def _checked_text(path, name, call):
    """A function of a figure's file that must give a text, without numbers that are not finite."""

    @functools.wraps(call, updated=())
    def run(*arguments, **state):
        text = call(*arguments, **state)
        if not isinstance(text, str):
            said = type(text).__name__
            raise ReportError(f"{path}: `{name}` gives {said}; it must give a text.")
        if bad := NO_NUMBER.search(text):
            raise ReportError(
                f"{path}: `{name}` says {bad[0]!r}, which is no number a reader can use: {text!r}; "
                "leave it out where it is not known."
            )
        return text

    return run
