"""The figures: every module whose name has no leading underscore is one, found by its name.

A figure module has a docstring (first line: what it shows), `ASPECT` and `PHONE_ASPECT` (width /
height of its box), and

    title(data) -> str                   heading, adapted to what the model has
    caption(data) -> str                 how to read it, what is left out and why (plain text)
    controls(data) -> list               `Control`s and `Switch`es: what a reader may change
    chart(data, **state) -> alt.Chart    the specification; its named datasets are empty
    rows(data, **state) -> dict          what fills each named dataset at that state
    alt(data, **state) -> str            what is to be seen at that state, for those who do not see

`data` is a `report.datasets.reader.StudyData`; `state` are values of controls, e.g. layer=3.
"""

import importlib
import pkgutil

from report.errors import ReportError


def names():
    """The names of all figures, sorted."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name for name in found if not name.startswith("_"))


def figure(name):
    """The module of a figure.

    raises: ReportError if there is no such figure
    """
    if name not in names():
        raise ReportError(f"unknown figure {name!r}; known: {', '.join(names())}.")
    return importlib.import_module(f"{__name__}.{name}")
