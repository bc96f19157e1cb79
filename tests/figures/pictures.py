"""Specifications and pictures of figures, each made once: several tests look at them, and to draw a
picture takes a tenth of a second. Processes that share the tests share the pictures."""

import copy
import hashlib
import json
import os
from pathlib import Path

from report.figures.build import defaults, still
from report.files import write_text

_MADE = {}
"""(what, figure, id of the data, state) -> what was made. The data live as long as the session."""


def _once(what, figure, data, state, make):
    key = what, figure.name, id(data), tuple(sorted(state.items()))
    if key not in _MADE:
        _MADE[key] = data, make()  # keeps the data, so that no other get their id
    return _MADE[key][1]


def specification(figure, data, **state):
    """The specification of a figure at a state, without data; the caller's own."""
    made = _once("spec", figure, data, state, lambda: defaults.spec_of(figure, data, **state))
    return copy.deepcopy(made)


def picture(figure, data, *, dark=False, phone=False, **state):
    """The SVG text of a figure at a state, as `still.svg` draws it."""

    def draw():
        empty = specification(figure, data, **state)
        filled = still.specification(figure, data, dark=dark, phone=phone, empty=empty, **state)
        name = hashlib.sha256(json.dumps(filled).encode()).hexdigest()
        path = Path(os.environ["SHARED_FOLDER"]) / "pictures" / f"{name}.svg"
        if not path.exists():
            write_text(path, still.drawn(filled))
        return path.read_text("utf-8")

    return _once(("svg", dark, phone), figure, data, state, draw)
