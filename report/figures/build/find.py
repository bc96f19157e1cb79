"""Finds figures by their names: files of a publication's own, else those of `report/figures`."""

import functools
import importlib.util
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

from report import measures
from report.authored.boundary import authored
from report.errors import ReportError
from report.figures.build import defaults
from report.figures.parts import head_sorted
from report.figures.parts.figure import Figure
from report.files import meant, read_bytes
from report.text import nearest

FIGURES = Path(__file__).parents[1]

HEADS = "heads"
"""`figure("heads", measure="…")` draws a measure of heads, one that ships or one of a publication's
own, as sorted lines and as a map; the figure's name is then "heads-…"."""

CONSTANTS = ("aspect", "phone_aspect", "columns", "of_models", "paints_pixels", "texts")
"""Fields of a `Figure` that a plain module sets by a constant: its name in capitals."""

FUNCTIONS = (
    *("chart", "rows", "title", "caption", "use", "controls", "seen", "alt", "left_out"),
    *("boxes", "panels", "columns", "legends", "finds"),
)
"""Fields of a `Figure` that a plain module sets by a function of that name."""


PARTS = (*FUNCTIONS, *(name.upper() for name in CONSTANTS))
"""Names in a file that make its figure."""

LIKE = 0.75
"""How similar a name must be to one of these to be a misspelling of it, from 0 to 1."""


def figure_named(name: str, own: Path | None = None, data: type = object) -> Figure:
    """A figure by its name, with everything that its file leaves out.

    own: folder of the publication's own figures, or None
    data: class of the data that it is to be drawn of, if that is known
    raises: ReportError listing the known figures, those of that data where they are of some, or
        saying what is wrong with the file
    """
    if measure := measure_of(name):
        return _of_measure(measure, own)
    known = figure_names(own)
    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean {near[0]!r}? " if near else ""
        shipped = _shipped_names()
        listed = [
            each
            for each in known  # a file of one's own may be wrong, and is not what is asked about
            if each not in shipped or not defaults.other_kind(_shipped(each), data)
        ]
        raise ReportError(f"unknown figure {name!r}; {hint}known: {', '.join(listed)}.")
    path = own_file(name, own)
    return _own(name, path, path.stat().st_mtime_ns) if path else _shipped(name)


def figure_of(name: str, measure: object = None) -> str:
    """The name of a figure: of `HEADS` and a measure that of the figure of this measure.

    measure: of any other figure that has a control of this name, the state of that control
    raises: ReportError for `HEADS` without the name of a measure
    """
    if name != HEADS:
        return name
    if not isinstance(measure, str):
        raise ReportError(f'figure("{HEADS}", measure="…") draws a measure of heads; name one.')
    return f"{HEADS}-{measure}"


def measure_of(name: str) -> str:
    """The measure whose figure has a name, as `figure_of` gives it; "" for other figures."""
    start, _, measure = name.partition("-")
    return measure if start == HEADS else ""


def _of_measure(name, own):
    """The figure of a measure, by the name of that."""
    known = measures.known(_own_measures(own))
    measure = known[measures.named(name, known)]
    figure = replace(head_sorted.figure(measure), name=figure_of(HEADS, name))
    return defaults.completed(figure, Path(measure.file))


def _own_measures(own):
    """The measures of a publication's own; own: its folder of figures."""
    return measures.own_measures(measures.own_files(own.parent / "measures")) if own else ()


def figure_names(own: Path | None = None) -> list[str]:
    """The names of all figures, sorted: files that do not start with `_`.

    own: folder of the publication's own figures, or None
    """
    return sorted(_shipped_names() | (_names(own) if own else set()))


def own_file(name: str, own: Path | None) -> Path | None:
    """The file of a publication's own figure, which comes before one that ships; None: it has none.

    own: folder of the publication's own figures, or None
    """
    return Path(own).resolve() / f"{name}.py" if own and name in _names(own) else None


@functools.cache
def _shipped_names():
    return frozenset(_names(FIGURES))


def _names(folder):
    paths = meant(Path(folder).glob("*.py"))
    return {path.stem for path in paths if not path.stem.startswith("_")}


@functools.cache
def _shipped(name):
    return _figure(import_module(f"report.figures.{name}"), name)


@functools.cache
def _own(name, path, stamp):
    """A figure of a publication's own: its file is run, like a part of this package.

    stamp: changes with the file, which a notebook sees at once
    """
    if not name.isidentifier():
        raise ReportError(f"{path}: name the file like a Python variable, e.g. my_figure.py.")
    spec = importlib.util.spec_from_file_location(f"own_figures.{name}", path)
    module = importlib.util.module_from_spec(spec)
    with authored(path):  # its text: what Python compiled of it may be older, and of this second
        exec(spec.loader.source_to_code(read_bytes(path), str(path)), vars(module))  # noqa: S102
    sys.modules[spec.name] = module
    return _figure(module, name)


def _figure(module, name):
    """The `Figure` of a file that was run: its `figure`, or one made of its functions."""
    path = Path(module.__file__)
    given = vars(module).get("figure")
    figure = given if isinstance(given, Figure) else _of_functions(module, path)
    if not figure.shows.strip():
        raise _incomplete(path, "no docstring that says what it shows")
    return defaults.completed(replace(figure, name=name), path)


def _of_functions(module: ModuleType, path: Path) -> Figure:
    names = vars(module)
    for part in ("chart", "rows"):
        if not callable(names.get(part)):
            raise _incomplete(path, f"no function `{part}`")
    _check_names(names, path)
    constants = {name: names[name.upper()] for name in CONSTANTS if name.upper() in names}
    functions = {name: names[name] for name in FUNCTIONS if name in names}
    return Figure(shows=module.__doc__ or "", **constants | functions)


def _check_names(names, path):
    """Stop where a file gives what looks like a part of a figure, and would be passed over.

    names: of the module, each with its value; helpers and imports may be called anything else
    """
    for name in FUNCTIONS:
        constant = name.upper()
        if name not in names and constant in names and name not in CONSTANTS:
            raise _misnamed(path, constant, name)
        if name in names and not callable(names[name]):
            raise ReportError(f"{path}: `{name}` must be a function, `def {name}(data): …`.")
    here = names["__name__"]
    for name, value in names.items():
        imported = isinstance(value, ModuleType) or getattr(value, "__module__", here) != here
        if imported or name.startswith("_") or name in PARTS:
            continue
        for near in nearest(name, PARTS, similarity=LIKE) or nearest(name.upper(), PARTS, 1, 1):
            if near not in names:
                raise _misnamed(path, name, near)


def _misnamed(path, name, near):
    return ReportError(
        f"{path}: `{name}` is no part of a figure; did you mean `{near}`? Call it `_{name}` if it "
        "is a helper."
    )


def _incomplete(path, lacks):
    return ReportError(
        f"{path}: a figure needs a docstring, `chart(data, **state)` and "
        f"`rows(data, **state)`; this one has {lacks}."
    )
