"""The figures of one article: which can be drawn, what their numbers are, and their HTML."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from markupsafe import Markup

from report.errors import ReportError
from report.figures.build import defaults
from report.figures.build.find import figure_module, figure_names
from report.figures.build.per_model import PARAM as MODEL
from report.figures.build.per_model import PerModel, fits
from report.figures.parts import choices, grid, score_terms
from report.pages.glossary import term
from report.pages.templates import environment

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
    variants: list = field(default_factory=list)
    """`Panel`s of the models that a switch leads to, where there is one."""

    @property
    def spec(self):
        """The specification of its first panel."""
        return self.panels[0].spec

    def written_rows(self, panel):
        """The files of rows that a panel needs besides its specification, if its figure has no
        dataset of its own: iterator of (name, table/1 dataset)."""
        place = panel.spec["usermeta"]["report"]["data"]["url"].rpartition(f"/{panel.name}/")[2]
        if not _is_written(panel):
            return
        fixed = {name: panel.state[name] for name in (MODEL, "panel") if name in panel.state}
        at = [fixed[MODEL]] if isinstance(self.module, PerModel) else []
        controls = [
            each for each in self.module.controls(self.data, *at) if each.param not in fixed
        ]
        for state in defaults.states(controls):
            rows = self.module.rows(self.data, **fixed, **state)
            yield place.format(**state), defaults.dataset(rows)


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
    box: grid.Box
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


class ArticleFigures:
    """Collects the figures of one article while its template is rendered, and numbers them."""

    def __init__(self, study, data):
        self.study = study
        self.data = data
        self.own = own_figures(study)
        self.placed = []
        self.announced = None
        """Names of all figures of the article; None while they are being counted."""
        self.found = ""
        """What the article found, in a sentence or two; see `finding`."""
        self.cover_name = ""
        """The figure that stands for the article, if not that of its front matter; see `cover`."""
        self.explained = {}
        """Lines of captions -> number of the figure that said them first."""

    @property
    def functions(self):
        """What templates may call: dict of name to function."""
        calls = (
            *(self.figure, self.ref, self.passage, self.can_draw, self.left_out),
            *(self.term, self.finding, self.live, self.cover),
        )
        return {call.__name__: call for call in calls}

    def can_draw(self, name, data=None):
        """`{% if can_draw("attention_breakdown") %}`: whether this model has what it shows."""
        return not self.left_out(name, data)

    def left_out(self, name, data=None):
        """`{{ left_out("attention_breakdown") }}`: why it cannot be drawn; "" if it can.

        data: as for `figure`
        """
        data = data or self.data
        return reason_left_out(figure_for(name, data, self.own), data)

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
        module = figure_for(name, data, self.own)
        reason = reason_left_out(module, data)
        if reason:
            raise ReportError(
                f"figure {name!r} cannot be drawn of this model: {reason} Place it inside "
                f"{{% if can_draw({name!r}) %}}."
            )
        controls = _controls_at(module, data, state)
        state = {control.param: control.value for control in controls}
        counting = self.announced is None
        panels = [] if counting else _panels(key, module, data, controls)
        variants = []
        if panels and isinstance(module, PerModel):
            panels, variants = _of_each_model(key, module, data, panels[0])
        panels, variants = (
            [self._with_rows(one, data) for one in each] for each in (panels, variants)
        )
        placed = PlacedFigure(key, len(self.placed) + 1, module, state, data, panels, variants)
        self.placed.append(placed)
        if counting:
            return ""
        caption, use = self._caption(placed)
        context = self._figure_context(placed, controls) | {"caption": caption, "use": use}
        return _html("_figure.html.j2", **context)

    def alone(self, placed):
        """The HTML of a `PlacedFigure` for a page of its own, where no other can be joined to it.

        The page must lie as deep as an article's: `embed/<name>/<figure>.html`.
        """
        controls = _controls_at(placed.module, placed.data, placed.state)
        return _html("_figure.html.j2", **self._figure_context(placed, controls) | {"linked": ""})

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

    def term(self, key, shown=None):
        """`{{ term("head", "heads") }}`: a word whose meaning shows beside it, and in the glossary.

        shown: what stands in the text, if not the term's name
        """
        found = term(key)
        address = f"{ROOT}glossary/#{found.anchor}"
        return Markup('<a class="term" href="{}">{}</a>').format(address, shown or found.word)

    def finding(self, caller):
        """`{% call finding() %}…{% endcall %}`: what the article found, in a sentence or two.

        It stands above the article, and on the home page to say why one should read it. Plain text.
        """
        if self.found:
            raise ReportError("finding() is called twice; an article says once what it found.")
        self.found = re.sub("[ \\n]+", " ", caller()).strip()
        return f'<p class="finding">{self.found}</p>\n'

    def cover(self, name):
        """`{{ cover("attention_map") }}`: the figure that stands for the article, where numbers
        decide which, and not its front matter."""
        self.cover_name = name
        return ""

    def live(self, said):
        """`{{ live("Move the sliders.") }}`: what is true only where figures can be used.

        It is left out on paper and without JavaScript: a text must be whole without it.
        """
        return Markup('<span class="live-only">{}</span>').format(said)

    def passage(self):
        """`{{ passage() }}`: the tokens of the passage, each with index and id on hover."""
        read = self.data.models[0] if self._several else self.data
        return _html("_passage.html.j2", tokens=read.tokens, passage=read.passage)

    @property
    def _several(self):
        return has_several(self.data)

    def _with_rows(self, panel, data):
        """A panel whose specification says where its rows and its tokens are on the site."""
        told = panel.spec["usermeta"]["report"]["data"]
        if has_several(data):  # its datasets lie below, in a folder a model
            told.setdefault("tokens", f"{data.models[0].address}passage.json")
        elif getattr(data, "kind", None) == "sweep":  # many texts, and none is shown
            told.setdefault("tokens", None)
        place = defaults.place_of_rows(panel.spec)
        if place:
            up = "../" * (2 + data.address.count("/"))
            told["url"] = f"{up}figures/{self.study.name}/{defaults.ROWS}/{panel.name}/{place}"
        return panel

    def _figure_context(self, placed, controls):
        study, data = self.study, placed.data
        module = placed.module
        if isinstance(module, PerModel):
            controls = module.reach(data, controls)
        return {
            "figure": placed,
            "controls": controls,
            "linked": self._linked(placed.name),
            "title": module.title(data),
            "caption": module.caption(data),
            "use": module.use(data),
            "opens_at": choices.said(controls),
            "seen": module.seen(data, **placed.state),
            "columns": grid.columns(module, data),
            "files": f"{ROOT}figures/{study.name}/",
            "datasets": f"{ROOT}datasets/{study.name}/{data.address}",
            "embed": f"{ROOT}embed/{study.name}/{placed.name}.html",
        }

    def _caption(self, placed):
        """A figure's caption and its use; for what an earlier one has said, it names that one."""
        caption, read_in = self._not_yet_said(placed, placed.module.caption(placed.data))
        use, used_in = self._not_yet_said(placed, placed.module.use(placed.data))
        if read_in:
            caption.append(self._see("How to read it", read_in))
        if not used_in <= read_in:
            use.append(self._see("How to use it", used_in))
        return Markup(" ").join(caption), Markup(" ").join(use)

    def _not_yet_said(self, placed, text):
        """Lines of a text that no earlier figure has, and the numbers of those that have others."""
        lines = [line for line in text.split("\n") if line]
        first = {line: self.explained.setdefault(line, placed.number) for line in lines}
        own = [line for line, number in first.items() if number == placed.number]
        return own, set(first.values()) - {placed.number}

    def _see(self, what, numbers):
        links = Markup(", ").join(self.ref(self.announced[n - 1]) for n in sorted(numbers))
        return Markup("{}: see {}.").format(what, links)

    def _linked(self, name):
        """Label of the switch that joins this figure's sliders to others', "" where none fit."""
        numbers = [i for i, other in enumerate(self.announced, 1) if self._shows_one_head(other)]
        if len(numbers) < 2 or not self._shows_one_head(name):
            return ""
        return f"Same layer and head in Figures {score_terms.listed(numbers)}"

    def _shows_one_head(self, name):
        if name not in figure_names(self.own):  # one of several with the same module
            return False
        module = figure_for(name, self.data, self.own)
        if hasattr(module, "panels"):  # drawn of data of its own
            return False
        fixed = {c.param: c.fixed for c in module.controls(self.data)}
        # where there is one layer and one head, nothing can be joined
        return fixed.keys() >= {"layer", "head"} and not (fixed["layer"] and fixed["head"])


def _controls_at(module, data, state):
    """The controls of a figure at a state, those of the model that it names."""
    chosen = [state[MODEL]] if isinstance(module, PerModel) and MODEL in state else []
    return choices.at_state(module.controls(data, *chosen), state)


def _panels(key, module, data, controls):
    """The charts of a figure: one, or those that its `panels` names."""
    state = {control.param: control.value for control in controls}
    boxes = grid.boxes(module, data)
    if not hasattr(module, "panels"):
        spec = _spec(module.chart(data, **state))
        return [Panel(key, "", state, spec, module.alt(data, **state), boxes[0], [])]
    titles = module.panels(data)
    return [
        Panel(
            f"{key}-{number + 1}",
            choices.filled(title, controls),
            state | {"panel": number},
            _spec(module.chart(data, **state, panel=number)),
            module.alt(data, **state, panel=number),
            box,
            legend,
        )
        for number, (title, box, legend) in enumerate(
            zip(titles, boxes, _legends(module, data, boxes), strict=True)
        )
    ]


def _of_each_model(key, module, data, panel):
    """The panel of a figure with a switch between models, and those that the switch leads to.

    Their specifications name each other, so that the page finds the one of a model.
    """
    first = panel.state[MODEL]
    files = {name: f"{key}-{name}.json" for name in module.names(data)}
    variants = []
    for name in files:
        state = fits(module.controls(data, name), panel.state | {MODEL: name})
        spec = panel.spec if name == first else _spec(module.chart(data, **state))
        spec["usermeta"]["report"]["models"] = files
        alt = panel.alt if name == first else module.alt(data, **state)
        variants.append(replace(panel, name=f"{key}-{name}", state=state, spec=spec, alt=alt))
    return [one for one in variants if one.state[MODEL] == first], [
        one for one in variants if one.state[MODEL] != first
    ]


def _spec(chart):
    return chart if isinstance(chart, dict) else chart.to_dict()


def _is_written(panel):
    return f"/{defaults.ROWS}/" in panel.spec["usermeta"]["report"]["data"]["url"]


def _legends(module, data, boxes):
    """What stands above each panel: the legend of a row above its first one, else nothing."""
    rows = iter(module.legends(data) if hasattr(module, "legends") else [])
    starts = grid.row_starts(boxes, grid.columns(module, data))
    return [next(rows, []) if starts_row else [] for starts_row in starts]


def reason_left_out(module, data):
    """Why a figure cannot be drawn of a model, one sentence; "" if it can."""
    return module.left_out(data) if hasattr(module, "left_out") else ""


def has_several(data):
    """Whether what an article shows was measured on several models, each like an article's one."""
    return getattr(data, "kind", None) == "passage" and len(data.models) > 1


def figure_for(name, data, own=None):
    """A figure as data need it: of several models, with a switch between them, unless it shows
    them all itself (`OF_MODELS`).

    own: folder of the publication's own figures, or None
    """
    module = figure_module(name, own)
    if has_several(data) and not getattr(module, "OF_MODELS", False):
        return PerModel(module)
    return module


def own_figures(study):
    """The folder `figures/` of an article's publication, or None if it has none."""
    template = getattr(study, "template", None)
    folder = Path(template).resolve().parents[2] / "figures" if template else None
    return folder if folder and folder.is_dir() else None


def _html(template, **context):
    # In one line: a blank line or an indent inside would end the raw HTML for some parsers.
    html = environment().get_template(template).render(**context)
    return Markup(re.sub(r"\s*\n\s*", "", html))  # noqa: S704 (the template escaped it)
