"""Builds a site again and again: only what a change touches is rendered anew."""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from report import pipeline
from report.console import Terminal
from report.files import meant
from report.pages.drawn import Drawn
from report.pages.page import Page
from report.project import Project, only_build
from report.site.address import read_site
from report.site.build import build, require_settings
from report.study.study import ENDING, study_names

Articles = frozenset[str] | None
"""Names of articles; None: all there are, and those that may be new."""

NONE: Articles = frozenset()

ARTICLES = ("templates", "articles")
THEME = ("templates", "theme")


def both(some: Articles, others: Articles) -> Articles:
    """All articles of two sets."""
    return None if some is None or others is None else some | others


def touched(changed: Iterable[str], project: Project, known: Collection[str]) -> Articles:
    """The articles that have to be rendered because files changed.

    changed: as of `files.changed`; known: names of the articles that were rendered
    """
    found = NONE
    for name in changed:
        found = both(found, _touched(PurePosixPath(name).parts, project, known))
    return found


def _touched(parts, project, known):
    if parts[0] == "site_src" or parts[:2] == THEME:
        return NONE  # no article shows it; pages around them are written every time
    if parts[:2] != ARTICLES:
        return None
    article = parts[2].removesuffix(ENDING)  # its template, or the folder of its parts
    template = project.articles / f"{article}{ENDING}"
    if article in known and template.is_file() and not _is_shared(article, project):
        return frozenset({article})
    return None


def _is_shared(article, project):
    """Whether the template of another article has words that lead to this one or to its parts."""
    own = project.articles / f"{article}{ENDING}", project.articles / article
    others = (
        path
        for path in meant(project.articles.rglob("*.j2"))
        if path != own[0] and not path.is_relative_to(own[1])
    )
    words = f"{article}/".encode(), f"{article}{ENDING}".encode()
    try:
        return any(
            word in text for text in (path.read_bytes() for path in others) for word in words
        )
    except OSError:  # one is gone just now
        return True


def affects_drawing(name: str) -> bool:
    """Whether figures may be drawn otherwise because of a file, though none of them changed: what
    lies beside them is theirs to read."""
    path = PurePosixPath(name)
    return path.parts[0] == "figures" and (path.suffix != ".py" or path.name.startswith("_"))


class Rebuilder:
    """The site of a request, and what was drawn of it."""

    def __init__(self, request: pipeline.Request, terminal: Terminal):
        self.request, self.terminal = request, terminal
        self.kept: dict[str, Drawn] = defaultdict(Drawn)
        self.rendered: dict[str, tuple[Page, object]] = {}
        """Name of an article -> its page, and the data that it shows."""
        self.waiting: Articles = None
        """What has to be rendered since the site was built."""

    def rebuild(self, changed: Collection[str] = ()) -> float:
        """Measure and render what files touch that changed, and build the site.

        What could not be built the last time is tried again.

        returns: seconds that the program took which builds sites
        raises: ReportError as `pipeline.make_site`
        """
        project = self.request.project
        self.waiting = both(self.waiting, touched(changed, project, self.rendered.keys()))
        if any(map(affects_drawing, changed)):
            self.kept.clear()
        with only_build(project, self.terminal.say):
            left_out = self._render()
            begun = time.monotonic()
            build(project.config, project.site, left_out)
        self.waiting = NONE
        return time.monotonic() - begun

    def _render(self):
        """Render what waits, and write the pages around the articles; returns the names of those
        that were not asked for."""
        project, names = self.request.project, self.waiting
        pipeline.require_own(self.request)
        about = read_site(project.config)
        rendered = {} if names is None else dict(self.rendered)
        if names is None:
            require_settings(project.config)
            pipeline.say_uncited(project, self.terminal)
        parts = [replace(self.request, article=name) for name in sorted(names or ())]
        for part in [self.request] if names is None else parts:
            studies = pipeline.read(part)
            found = pipeline.measure(studies, part, self.terminal)
            pages, opened = pipeline.draw(studies, found, project, about, self.terminal, self.kept)
            pairs = zip(pages, opened, strict=True)
            rendered |= {page.name: (page, data) for page, data in pairs}
        self.rendered = rendered
        for name in self.kept.keys() - rendered.keys():
            del self.kept[name]
        newest = sorted(sorted(rendered), key=lambda name: rendered[name][0].date, reverse=True)
        pages, opened = map(list, zip(*(rendered[name] for name in newest), strict=True))
        pipeline.write(pages, opened, project, about)
        return [name for name in study_names(project.articles) if name not in rendered]
