"""A figure at its place in an article: its charts at a state, and the files that they need."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from report.figures import Figure
from report.figures.build import defaults, fields
from report.figures.build.per_model import PARAM as MODEL
from report.figures.build.per_model import controls_of, fits, names
from report.figures.parts import choices, grid
from report.figures.parts.choices import Control, State, Switch
from report.figures.parts.figure import Data, Spec


@dataclass(frozen=True)
class PlacedFigure:
    """A figure at its place in an article."""

    name: str
    """What the article calls it: the figure's name, or a key of its own."""
    number: int
    figure: Figure
    state: State
    """Where its controls stand when the page opens."""
    data: Data
    """What it is drawn of: the article's data, or a part of them."""
    panels: list["Panel"]
    """One without a title for a figure that is one chart."""
    variants: list["Panel"] = field(default_factory=list)
    """The panels of the other models that its switch leads to, where it has one."""

    @property
    def title(self) -> str:
        """Its heading at that state."""
        controls = controls_for(self.figure, self.data, self.state)
        return choices.filled(self.figure.title(self.data), choices.at_state(controls, self.state))

    @property
    def spec(self) -> Spec:
        """The specification of its first panel."""
        return self.panels[0].spec

    def written_rows(self, panel: "Panel") -> Iterator[tuple[str, dict[str, Any]]]:
        """The files of rows that a panel needs besides its specification.

        There are none where its rows lie in datasets of the site.

        returns: iterator of (name of the file, table/1 dataset)
        raises: ReportError if the chart reads a field that the rows of a state do not have
        """
        for name, make in self.makers_of_rows(panel):
            yield name, make()

    def makers_of_rows(self, panel: "Panel") -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
        """The same files, each with what makes it, which raises what `written_rows` does."""
        place = panel.spec["usermeta"]["report"]["data"]["url"].rpartition(f"/{panel.name}/")[2]
        if not _is_written(panel):
            return
        fixed = {name: panel.state[name] for name in (MODEL, "panel") if name in panel.state}
        controls = [
            control
            for control in controls_for(self.figure, self.data, fixed)
            if control.param not in fixed
        ]
        fixed |= {control.param: control.value for control in controls}
        # the page itself chooses among what others may be at
        in_name = [control for control in controls if f"{{{control.param}}}" in place]
        for state in defaults.states(self.figure.name, in_name):
            yield place.format(**fixed | state), partial(self._rows, panel, fixed | state)

    def _rows(self, panel, state):
        rows = self.figure.rows(self.data, **state)
        fields.check(self.figure.name, panel.spec, rows)
        for table, records in rows.items():
            fields.check_values(self.figure.name, records, table)
        return defaults.dataset(rows)


@dataclass(frozen=True)
class Panel:
    """One chart of a figure."""

    name: str
    """Of its files: the figure's name, and its number where there are several."""
    title: str
    state: State
    """The figure's state, and `panel` where there are several."""
    spec: Spec
    """Its Vega-Lite specification at that state, without data."""
    alt: str
    box: grid.Box
    legend: list[dict[str, str]]
    """The legend of the row of panels that it begins: dicts with label, mark, light and dark."""

    @property
    def small(self) -> str:
        """Name of the still picture that was drawn for a phone, or of the only one."""
        return f"{self.name}-phone" if self.box.phone_size else self.name

    @property
    def small_size(self) -> tuple[int, int]:
        """Of that picture."""
        return self.box.phone_size or self.box.size

    @property
    def dataset(self) -> str:
        """Address of its data at that state."""
        address = self.spec["usermeta"]["report"]["data"]["url"]
        for name, value in self.state.items():
            address = address.replace(f"{{{name}}}", str(value))
        return address


def controls_for(figure: Figure, data: Data, state: State) -> list[Control | Switch]:
    """The controls of a figure, with a switch between models those of the model in `state`."""
    if figure.one_model:
        return controls_of(figure.one_model, data, state.get(MODEL))
    return figure.controls(data)


def drawn(
    key: str, figure: Figure, data: Data, controls: list[Control | Switch]
) -> tuple[list[Panel], list[Panel]]:
    """The panels of a figure, and those of the other models that its switch leads to.

    key: what the article calls the figure; controls: at the state shown
    """
    panels = _panels(key, figure, data, controls)
    if not figure.one_model:
        return panels, []
    pairs = [_of_each_model(figure, data, panel) for panel in panels]
    return [mine for mine, _ in pairs], [other for _, others in pairs for other in others]


def with_rows(panel: Panel, data: Data, article: str) -> Panel:
    """A panel whose specification says where its rows and its tokens are on the site, from now on.

    article: the name of the one that it is drawn for
    """
    places = panel.spec["usermeta"]["report"]["data"]
    of = data.models[0] if has_several(data) else data
    if not hasattr(type(of), "tokens"):  # of no text, or of many, of which none is shown
        places.setdefault("tokens", None)
    elif has_several(data):  # its datasets lie below, in a folder a model
        places.setdefault("tokens", f"{of.address}passage.json")
    place = defaults.place_of_rows(panel.spec)
    if place:
        up = "../" * (2 + data.address.count("/"))
        places["url"] = f"{up}figures/{article}/{defaults.ROWS}/{panel.name}/{place}"
    return panel


def has_several(data: Data) -> bool:
    """Whether a figure of these data shows one model of several, by a switch."""
    return len(getattr(data, "by_name", ())) > 1


def _panels(key, figure, data, controls):
    """The charts of a figure: one, or those that its `panels` names."""
    state = {control.param: control.value for control in controls}
    boxes = figure.boxes(data)
    if not figure.panels:
        spec = defaults.spec_of(figure, data, **state)
        return [Panel(key, "", state, spec, figure.alt(data, **state), boxes[0], [])]
    shape, of = figure, data
    if figure.one_model:
        shape, of = figure.one_model, data.by_name[state[MODEL]]
    panels = []
    for title, box, legend in zip(shape.panels(of), boxes, _legends(shape, of, boxes), strict=True):
        at = state | {"panel": len(panels)}
        spec = defaults.spec_of(figure, data, **at)
        spec["usermeta"]["report"]["title"] = title  # the page fills in what controls say
        alt = figure.alt(data, **at)
        name = f"{key}-{len(panels) + 1}"
        panels.append(Panel(name, choices.filled(title, controls), at, spec, alt, box, legend))
    return panels


def _of_each_model(figure, data, panel):
    """A panel of a figure with a switch between models, and the same of its other models.

    Their specifications name each other, so that the page finds the one of a model.
    """
    model = panel.state[MODEL]
    fixed = {name: panel.state[name] for name in ("panel",) if name in panel.state}
    files = {name: f"{panel.name}-{name}.json" for name in names(figure.one_model, data)}
    panels = []
    for name in files:
        state = fits(controls_of(figure.one_model, data, name), panel.state | {MODEL: name}) | fixed
        spec, alt = panel.spec, panel.alt
        if name != model:
            spec, alt = defaults.spec_of(figure, data, **state), figure.alt(data, **state)
        spec["usermeta"]["report"]["models"] = files
        if fixed:
            titles = figure.one_model.panels(data.by_name[name])
            spec["usermeta"]["report"]["title"] = titles[fixed["panel"]]
        panels.append(replace(panel, name=f"{panel.name}-{name}", state=state, spec=spec, alt=alt))
    others = [each for each in panels if each.state[MODEL] != model]
    return next(each for each in panels if each.state[MODEL] == model), others


def _is_written(panel):
    return f"/{defaults.ROWS}/" in panel.spec["usermeta"]["report"]["data"]["url"]


def _legends(figure, data, boxes):
    """What stands above each panel: the legend of its row above the first one, else nothing."""
    rows = iter(figure.legends(data))
    starts = grid.row_starts(boxes, figure.columns(data))
    return [next(rows, []) if starts_row else [] for starts_row in starts]
