"""The page of an article before it is built: of what is measured so far, and drawn in browsers.

It is made in memory, as `explore` makes its answers, and no file of a site has anything of it. What
is still to be measured is left out of it, and marked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from report import files
from report.authored.endless import Bounded, limit
from report.datasets import store
from report.pages.render import draft
from report.pages.stamps import Drawn
from report.project import Project
from report.site.one_page import OnePage
from report.study.study import Study


@dataclass(frozen=True)
class Draft:
    """The page of an article, and what it fetches."""

    article: str
    name: str
    """Of its folders of figures and of datasets, which no other draft has."""
    lacks: str
    """What is not there yet, in words."""
    html: bytes
    makers: Mapping[str, Callable[[], dict]]
    """Address from the root of the site -> what makes the file."""
    folder: Path
    """Where those of its datasets are that are files."""
    root: Path
    """Of the publication, whose code may run to make a file."""

    def file(self, address: str) -> bytes | None:
        """A file that the page asks for, by its address from the root of the site; None if it has
        none.

        raises: ReportError if it cannot be made; `guard.TooLongError`; LaterError
        """
        if make := self.makers.get(address):
            with Bounded([self.root / name for name in ("figures", "measures")], limit()):
                return store.dumps(make()).encode()
        start = f"datasets/{self.name}/"
        if not address.startswith(start):
            return None
        path = files.inside(self.folder, address.removeprefix(start))
        return files.read_bytes(path) if path.is_file() else None


class Drafts:
    """Makes the drafts of a publication's articles."""

    def __init__(self, project: Project):
        self.project, self.page, self.number = project, OnePage(project.config), 0

    def of(
        self, study: Study, data, lacks: Callable[[], list[str]], cache: Drawn | None = None
    ) -> Draft:
        """The draft of an article.

        data: its datasets, or those of them that are measured, such as a `PassageSoFar`
        lacks: gives what is still to come, in words, once the page is made
        cache: what was drawn of it already, as of `render.draft`
        raises: ReportError as `render.draft`
        """
        self.number += 1
        name = f".draft-{self.number}"
        with getattr(data, "quick", nullcontext)():
            markdown, article = draft(study, data, name, cache)
        html = self.page.html(study.name, markdown, self.project.site).encode()
        makers, folder = article.makers(), self.project.site_src / "datasets" / study.name
        if hasattr(data, "makers"):  # in memory
            makers |= data.makers(f"datasets/{name}")
        about = html, makers, folder, self.project.root
        return Draft(study.name, name, "; ".join(lacks()), *about)
