"""The gallery of the documentation: every figure that ships, on a page of its own.

A figure is live there if an article of the site has it. Its page then shows that article's
datasets, pictures and page to embed: nothing is measured or written twice.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

from report import files
from report.figures import Figure
from report.figures.build import defaults
from report.figures.build.find import FIGURES, figure_named, figure_names, own_file
from report.figures.build.per_model import names as names_of_models
from report.pages.article import ArticleFigures
from report.pages.page import Column, Page, Place
from report.pages.placed import controls_for
from report.pages.templates import environment
from report.project import documentation

ROOT = "../../../"
"""From the address of a page of the gallery, `docs/gallery/<name>/`, to the root of the site."""

ANYTHING = "anything"
"""What a figure is drawn of whose file does not say it."""


DIGITS = 4
"""Significant digits of a value that is shown as an example."""


def places(article: ArticleFigures, heading: str) -> list[Place]:
    """The figures of an article that ship; one of its own that stands in for such a one is another
    figure.

    heading: the title of the article
    """
    folder = article.figures_folder
    shipped = (each for each in article.placed if not own_file(each.figure.name, folder))
    return [_place(article, heading, each) for each in shipped]


def _place(article, heading, placed):
    panel = placed.panels[0]
    controls = controls_for(placed.figure, placed.data, placed.state)
    return Place(
        figure=placed.figure.name,
        article=article.name,
        heading=heading,
        number=placed.number,
        title=placed.title,
        models=_models(article, placed),
        picture=f"figures/{article.name}/{panel.small}",
        size=panel.small_size,
        html=str(article.alone(placed, ROOT)),
        controls=[control for control in controls if not control.fixed],
        tables=_tables(article, placed),
    )


def _models(article, placed):
    figure, data = placed.figure, placed.data
    if figure.one_model:
        return names_of_models(figure.one_model, data)
    if hasattr(data, "places"):  # panels, each of a head of a model
        return list(dict.fromkeys(place.model.name for place in data.places))
    models = getattr(data, "models", None) or article.data.models
    return list(dict.fromkeys(model.manifest["model"]["name"] for model in models))


def _tables(article, placed):
    panel = placed.panels[0]
    called = dict(_called(panel.spec))

    def read():
        rows = placed.figure.rows(placed.data, **panel.state)
        return {table: list(_columns(records, called)) for table, records in rows.items()}

    name = "columns", placed.name
    return article.cache.get(name, [placed.figure, placed.data], read)


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
        return self.places[0].title

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
    """Every figure that ships, by what they are drawn of; pages: of the articles."""
    all_places = [place for page in pages for place in page.places]
    chosen = [
        Entry(figure_named(name), [place for place in all_places if place.figure == name])
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
