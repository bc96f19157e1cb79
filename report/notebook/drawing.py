"""Figures of what was measured, as Altair charts."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair

from report.errors import ReportError
from report.figures import Figure
from report.figures.build import still
from report.figures.build.find import figure_named, figure_names, own_file
from report.figures.parts import choices
from report.project import enclosing_project
from report.text import nearest

if TYPE_CHECKING:
    from report.notebook.frames import Measurements


def figure(
    name: str,
    measurements: "Measurements",
    heads: Sequence[tuple[int, int]] = ((0, 0),),
    lines: dict[str, str] | None = None,
    **state: int | str,
) -> altair.Chart:
    """A figure of `measure`'s result as an Altair chart, with its data inside.

    A notebook shows the chart, and its method `save` writes it to a file.

    name: one of `Measurements.figures`
    heads: for conditions, pairs (layer, head), indices from 0, that get a chart each
    lines: for conditions, those that are compared, dict of name to label; default: the first, and
        the first of those that add a segment to it
    state: where its controls stand, e.g. layer=3, head=2; of a figure with several charts also
        which one, e.g. panel=1
    raises: ReportError for an unknown figure, one that these measurements have no data for, or a
        state out of reach
    """
    data, folder = measurements.drawn(heads, lines), _own_figures()
    known = figure_names(folder)
    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ReportError(f"unknown figure {name!r}; {hint}{_others(measurements)}")
    if reason := _left_out(name, folder, data):
        sentence = f"figure {name!r} cannot be drawn of these measurements: {reason}"
        raise ReportError(f"{sentence} {_others(measurements)}")
    spec = _specification(figure_named(name, folder), data, state)
    spec.pop("usermeta", None)  # is for the script of a page
    rows = spec.pop("datasets", {})
    chart = altair.Chart.from_dict(spec)
    chart.datasets = rows  # as they are: Altair makes an object of each, which takes seconds
    return chart


def drawable(data: Any) -> list[str]:
    """Names of the figures that can be drawn of data, sorted: those that ship, and those in the
    folder `figures/` of the project that the current folder lies in."""
    folder = _own_figures()
    return [name for name in figure_names(folder) if not _reason(name, folder, data)]


def _others(measurements):
    return f"These can be drawn: {', '.join(measurements.figures)}."


def _own_figures() -> Path | None:
    """The folder of figures of the project that the current folder lies in, or None."""
    project = enclosing_project()
    return project.figures if project and project.figures.is_dir() else None


def _left_out(name: str, folder: Path | None, data: Any) -> str:
    """Why a figure cannot be drawn of data, a sentence; "" if it can.

    A figure of one's own may not say so itself, and is tried.
    """
    chosen = figure_named(name, folder)
    reason = chosen.left_out(data)
    if not reason and own_file(name, folder):
        try:
            chosen.rows(data, **{"panel": 0} if chosen.panels else {})
        except ReportError as error:
            return str(error)
    return reason


def _reason(name, folder, data):
    """The same, also for a file that is no figure."""
    try:
        return _left_out(name, folder, data)
    except ReportError as error:
        return str(error)


def _specification(chosen: Figure, data: Any, state: dict) -> dict:
    """The specification of one chart of a figure, with its data."""
    if not chosen.panels:
        return still.specification(chosen, data, **state)
    titles = chosen.panels(data)
    views = [box.view for box in chosen.boxes(data)]
    if all(views) and "panel" not in state:
        state |= {"panel": views.index(state["view"]) if state.get("view") in views else 0}
    if state.get("panel", 0 if len(titles) == 1 else None) not in range(len(titles)):
        controls = chosen.controls(data)
        named = [f"{n} ({choices.filled(title, controls)})" for n, title in enumerate(titles)]
        raise ReportError(
            f"figure {chosen.name!r} has {len(titles)} charts; say which: panel={', '.join(named)}."
        )
    return still.specification(chosen, data, **{"panel": 0} | state)
