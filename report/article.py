"""The figures of one article: which can be drawn, what their numbers are, and their HTML."""

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from markupsafe import Markup

from report.errors import ReportError
from report.figures import _controls, _grid, _terms
from report.jinja import environment

FIGURES = Path(__file__).parent / "figures"

ROOT = "../../"
"""From an article's address, `articles/<name>/`, to the root of the site."""


@dataclass(frozen=True)
class PlacedFigure:
    """A figure at its place in an article."""

    name: str
    number: int
    module: object
    state: dict
    """Where its controls stand when the page opens."""
    data: object
    """What it is drawn of: the article's data, or a part of them."""
    panels: list
    """`Panel`s; one without a title for a figure that is one chart."""

    @property
    def spec(self):
        """The specification of its first panel."""
        return self.panels[0].spec


@dataclass(frozen=True)
class Panel:
    """One chart of a figure."""

    name: str
    """Of its files: the figure's name, and its number where there are several."""
    title: str
    state: dict
    """The figure's state, and `panel` where there are several."""
    spec: dict
    """Its Vega-Lite specification at that state, without data; empty while figures are counted."""
    alt: str
    box: _grid.Box
    legend: list
    """What stands above it: entries for the row of panels that it begins, dicts with label, mark,
    light and dark."""

    @property
    def dataset(self):
        """Address of its data at that state."""
        address = self.spec["usermeta"]["report"]["data"]["url"]
        for name, value in self.state.items():
            address = address.replace(f"{{{name}}}", str(value))
        return address


class Article:
    """Collects the figures of one article while its template is rendered, and numbers them."""

    def __init__(self, study, data):
        self.study = study
        self.data = data
        self.placed = []
        self.announced = None
        """Names of all figures of the article; None while they are being counted."""

    @property
    def functions(self):
        """What templates may call: dict of name to function."""
        calls = (self.figure, self.ref, self.passage, self.can_draw, self.left_out)
        return {call.__name__: call for call in calls}

    def can_draw(self, name, data=None):
        """`{% if can_draw("attention_breakdown") %}`: whether this model has what it shows."""
        return not self.left_out(name, data)

    def left_out(self, name, data=None):
        """`{{ left_out("attention_breakdown") }}`: why it cannot be drawn; "" if it can.

        data: as for `figure`
        """
        return reason_left_out(figure_module(name), data or self.data)

    def figure(self, name, key=None, data=None, **state):
        """`{{ figure("attention_map", layer=3) }}`: the figure, with its controls at a state.

        key: what the article calls it, if it places a figure more than once; default: its name
        data: what it is drawn of, if not the article's data
        """
        key, data = key or name, data or self.data
        if any(placed.name == key for placed in self.placed):
            raise ReportError(
                f"figure {key!r} is placed twice; refer to it by ref({key!r}), or give it another "
                "key."
            )
        module = figure_module(name)
        reason = reason_left_out(module, data)
        if reason:
            raise ReportError(
                f"figure {name!r} cannot be drawn of this model: {reason} Place it inside "
                f"{{% if can_draw({name!r}) %}}."
            )
        controls = _controls.at_state(module.controls(data), state)
        state = {control.param: control.value for control in controls}
        counting = self.announced is None
        panels = [] if counting else _panels(key, module, data, controls)
        placed = PlacedFigure(key, len(self.placed) + 1, module, state, data, panels)
        self.placed.append(placed)
        if counting:
            return ""
        return _html("_figure.html.j2", **self._figure_context(placed, controls))

    def ref(self, name):
        """`{{ ref("attention_map") }}`: a link "Figure 1", before or after the figure."""
        if self.announced is None:
            return ""
        if name not in self.announced:
            raise ReportError(
                f"ref({name!r}): this article has no such figure; it has: "
                f"{', '.join(self.announced) or 'none'}."
            )
        number = self.announced.index(name) + 1
        return Markup('<a class="figure-ref" href="#fig-{0}">Figure {0}</a>').format(number)

    def passage(self):
        """`{{ passage() }}`: the tokens of the passage, each with index and id on hover."""
        return _html("_passage.html.j2", tokens=self.data.tokens, passage=self.data.passage)

    def _figure_context(self, placed, controls):
        study, data = self.study, placed.data
        module = placed.module
        return {
            "figure": placed,
            "controls": controls,
            "linked": self._linked(placed.name),
            "title": module.title(data),
            "caption": module.caption(data),
            "opens_at": _controls.said(controls),
            "seen": module.seen(data, **placed.state),
            "columns": _grid.columns(module, data),
            "files": f"{ROOT}figures/{study.name}/",
            "datasets": f"{ROOT}datasets/{study.name}/{data.address}",
        }

    def _linked(self, name):
        """Label of the switch that joins this figure's sliders to others', "" where none fit."""
        numbers = [i for i, other in enumerate(self.announced, 1) if self._shows_one_head(other)]
        if len(numbers) < 2 or not self._shows_one_head(name):
            return ""
        return f"Same layer and head in Figures {_terms.listed(numbers)}"

    def _shows_one_head(self, name):
        if name not in figure_names():  # one of several with the same module
            return False
        module = figure_module(name)
        if hasattr(module, "panels"):  # drawn of data of its own
            return False
        fixed = {c.param: c.fixed for c in module.controls(self.data)}
        # where there is one layer and one head, nothing can be joined
        return fixed.keys() >= {"layer", "head"} and not (fixed["layer"] and fixed["head"])


def _panels(key, module, data, controls):
    """The charts of a figure: one, or those that its `panels` names."""
    state = {control.param: control.value for control in controls}
    boxes = _grid.boxes(module, data)
    if not hasattr(module, "panels"):
        spec = module.chart(data, **state).to_dict()
        return [Panel(key, "", state, spec, module.alt(data, **state), boxes[0], [])]
    titles = module.panels(data)
    return [
        Panel(
            f"{key}-{number + 1}",
            _controls.filled(title, controls),
            state | {"panel": number},
            module.chart(data, **state, panel=number).to_dict(),
            module.alt(data, **state, panel=number),
            box,
            legend,
        )
        for number, (title, box, legend) in enumerate(
            zip(titles, boxes, _legends(module, data, boxes), strict=True)
        )
    ]


def _legends(module, data, boxes):
    """What stands above each panel: the legend of a row above its first one, else nothing."""
    rows = iter(module.legends(data) if hasattr(module, "legends") else [])
    starts = _grid.row_starts(boxes, _grid.columns(module, data))
    return [next(rows, []) if starts_row else [] for starts_row in starts]


def reason_left_out(module, data):
    """Why a figure cannot be drawn of a model, one sentence; "" if it can."""
    return module.left_out(data) if hasattr(module, "left_out") else ""


def figure_module(name):
    """The module `report/figures/<name>.py`.

    raises: ReportError listing the known figures
    """
    known = figure_names()
    if name not in known:
        raise ReportError(f"unknown figure {name!r}; known: {', '.join(known)}.")
    return import_module(f"report.figures.{name}")


def figure_names():
    """The names of all figures: the files of `report/figures` that do not start with `_`."""
    return sorted(path.stem for path in FIGURES.glob("*.py") if not path.stem.startswith("_"))


def _html(template, **context):
    # In one line: a blank line or an indent inside would end the raw HTML for some parsers.
    html = environment().get_template(template).render(**context)
    return Markup(re.sub(r"\s*\n\s*", "", html))  # noqa: S704 (the template escaped it)
