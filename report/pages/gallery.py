"""The gallery of the documentation: every figure that ships, on a page of its own.

A figure is live there if an article of the site has it. Its page then shows that article's
datasets, pictures and page to embed: nothing is measured or written twice.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from markupsafe import Markup

from report import files
from report.figures import Figure
from report.figures.build import defaults
from report.figures.build.find import FIGURES, figure_named, figure_names, own_file
from report.figures.build.per_model import names as names_of_models
from report.figures.parts.choices import Control, Switch
from report.pages.page import Page
from report.pages.placed import PlacedFigure, controls_for
from report.pages.templates import environment
from report.project import documentation

ROOT = "../../../"
"""From the address of a page of the gallery, `docs/gallery/<name>/`, to the root of the site."""

ANYTHING = "anything"
"""What a figure is drawn of whose file does not say it."""


DIGITS = 4
"""Significant digits of a value that is shown as an example."""


@dataclass(frozen=True)
class Column:
    """A column of a figure's data."""

    name: str
    called: str
    """What the chart calls it, in axes, legends and tooltips; "" if it does not show it."""
    first: str
    """The first value that is not missing."""


@dataclass(frozen=True)
class Place:
    """A figure in an article."""

    page: Page
    placed: PlacedFigure

    @property
    def models(self) -> list[str]:
        """Names of the models that it can show there."""
        figure, data = self.placed.figure, self.placed.data
        if figure.one_model:
            return names_of_models(figure.one_model, data)
        if hasattr(data, "places"):  # panels, each of a head of a model
            return list(dict.fromkeys(place.model.name for place in data.places))
        models = getattr(data, "models", None) or self.page.article.data.models
        return list(dict.fromkeys(model.manifest["model"]["name"] for model in models))

    @property
    def picture(self) -> str:
        """Path of its small picture without its `-light.svg`, from the root of the site."""
        return f"figures/{self.page.name}/{self.placed.panels[0].small}"

    @property
    def size(self) -> tuple[int, int]:
        """Of that picture."""
        return self.placed.panels[0].small_size

    @property
    def html(self) -> Markup:
        """The live figure."""
        return self.page.article.alone(self.placed, ROOT)

    @property
    def controls(self) -> list[Control | Switch]:
        """What a reader can change, and an article can set."""
        placed = self.placed
        of_all = controls_for(placed.figure, placed.data, placed.state)
        return [control for control in of_all if not control.fixed]

    @property
    def example(self) -> str:
        """How an article sets the first of them: "layer=3"."""
        control = self.controls[0]
        return f"{control.param}={json.dumps(control.value)}"

    def tables(self) -> dict[str, list[Column]]:
        """The columns of its data, by table."""
        placed, panel = self.placed, self.placed.panels[0]
        called = dict(_called(panel.spec))

        def read():
            rows = placed.figure.rows(placed.data, **panel.state)
            return {table: list(_columns(records, called)) for table, records in rows.items()}

        name = "columns", placed.name
        return self.page.article.cache.get(name, [placed.figure, placed.data], read)


@dataclass(frozen=True)
class Entry:
    """A figure that ships, and the articles of the site that have it."""

    figure: Figure
    places: list[Place]

    @property
    def name(self) -> str:
        return self.figure.name

    @cached_property
    def title(self) -> str:
        """As in the first article that has it; else its name."""
        if not self.places:
            return self.name.replace("_", " ").capitalize()
        placed = self.places[0].placed
        return placed.figure.title(placed.data)

    @property
    def kinds(self) -> list[str]:
        """What it is drawn of: ["a passage"]."""
        kinds = [defaults.CALLED[known.kind].partition(",")[0] for known in self.figure.of]
        return list(dict.fromkeys(kinds)) or [ANYTHING]

    @property
    def line(self) -> str:
        """What places it in an article."""
        names = [defaults.CALLED[known.kind] for known in self.figure.of]
        data = re.search(r"`(data=.*)`", names[0]) if names else None
        return f'{{{{ figure("{self.name}"{f", {data[1]}" if data else ""}) }}}}'

    @property
    def source(self) -> str:
        """The text of its file."""
        return (FIGURES / f"{self.name}.py").read_text("utf-8")


def entries(pages: list[Page]) -> list[Entry]:
    """Every figure that ships, by what they are drawn of; pages: of the articles.

    A figure of an article's own that stands in for one that ships is another figure.
    """
    placed = [
        Place(page, each)
        for page in pages
        for each in page.article.placed
        if not own_file(each.figure.name, page.article.figures_folder)
    ]
    chosen = [
        Entry(figure_named(name), [place for place in placed if place.placed.figure.name == name])
        for name in figure_names()
    ]
    kinds = [*(called.partition(",")[0] for called in defaults.CALLED.values()), ANYTHING]
    return sorted(chosen, key=lambda entry: kinds.index(entry.kinds[0]))


def write_gallery(pages: list[Page], site_src: Path) -> None:
    """Write `site_src/docs/gallery` beside the documentation, if this publication has it.

    pages: of the articles
    """
    docs = documentation(site_src)
    if docs is None:
        return
    folder, all_entries = docs / "gallery", entries(pages)
    jinja = environment()
    groups = groupby(all_entries, key=lambda entry: entry.kinds[0])
    index = jinja.get_template("gallery.md.j2").render(
        groups={kind: list(group) for kind, group in groups}, count=len(all_entries)
    )
    files.write_text(folder / "index.md", index)
    page = jinja.get_template("gallery_figure.md.j2")
    neighbours = zip([None, *all_entries], all_entries, [*all_entries[1:], None], strict=False)
    for before, entry, after in neighbours:
        text = page.render(entry=entry, before=before, after=after, ROOT=ROOT)
        # An index of a folder, as articles are; see report/pages/render.py.
        files.write_text(folder / entry.name / "index.md", text)
    known = {entry.name for entry in all_entries}
    for path in folder.iterdir():
        if path.is_dir() and path.name not in known:
            files.remove(path)


def _columns(records, called) -> Iterator[Column]:
    for name in dict.fromkeys(name for row in records for name in row):
        values = (row[name] for row in records if row.get(name) is not None)
        first = next(values, "none")
        example = f"{first:.{DIGITS}g}" if isinstance(first, float) else str(first)
        yield Column(name, called.get(name, ""), example)


def _called(part):
    """Pairs of a field that a chart shows and what it calls it there."""
    if isinstance(part, list):
        for each in part:
            yield from _called(each)
    if not isinstance(part, dict):
        return
    if isinstance(part.get("field"), str):
        for about in (part, part.get("axis") or {}, part.get("legend") or {}):
            if isinstance(about.get("title"), str):
                yield part["field"], about["title"]
    for each in part.values():
        yield from _called(each)
