"""Finds figures by their names: files of `report/figures`, and those of a publication's own."""

import functools
import importlib.util
import sys
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

from report.errors import ReportError
from report.figures.build import defaults

FIGURES = Path(__file__).parents[1]


def figure_module(name, own=None):
    """The module of a figure, with everything that its file leaves out.

    own: folder of the publication's own figures, or None
    raises: ReportError listing the known figures, or saying what is wrong with the file
    """
    known = figure_names(own)
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ReportError(f"unknown figure {name!r}; {hint}known: {', '.join(known)}.")
    if own and name in _names(own):
        return _own(name, Path(own).resolve() / f"{name}.py")
    return _shipped(name)


def figure_names(own=None):
    """The names of all figures, sorted: files that do not start with `_`.

    raises: ReportError if a figure of one's own has the name of one that ships
    """
    shipped, ours = _names(FIGURES), _names(own) if own else []
    both = sorted({*shipped} & {*ours})
    if both:
        raise ReportError(
            f"{Path(own) / both[0]}.py: a figure of that name ships already; give it another name."
        )
    return sorted([*shipped, *ours])


def _names(folder):
    return [path.stem for path in Path(folder).glob("*.py") if not path.stem.startswith("_")]


@functools.cache
def _shipped(name):
    return defaults.completed(import_module(f"report.figures.{name}"), name)


@functools.cache
def _own(name, path):
    """A figure of a publication's own: its file is run, like a part of this package."""
    if not name.isidentifier():
        raise ReportError(f"{path}: name the file like a Python variable, e.g. my_figure.py.")
    spec = importlib.util.spec_from_file_location(f"own_figures.{name}", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        where = f"{path}, line {error.lineno}"
        raise ReportError(f"{where}: is not Python: {error.msg}.") from error
    except Exception as error:
        line = defaults.line_of(error, path)
        raise ReportError(f"{path}, line {line}: {type(error).__name__}: {error}") from error
    sys.modules[spec.name] = module
    return defaults.completed(module, name)
