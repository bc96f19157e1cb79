"""Articles as they were drawn last, kept in `.cache/drawn` from one build to the next: an article
is drawn again if anything changed that its page or a figure of it may depend on.

What an article depends on: its text, and every template that was looked for when it was rendered;
its datasets; the figures and measures of its publication, and what it cites; this program, and the
versions of what that uses; the address of the site. Figures of a publication's own may read any of
its files, so where there are some, all files count but templates of articles and what builds make.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from report import files
from report.pages.bibliography import FILE as BIBLIOGRAPHY
from report.pages.page import Page
from report.pages.share_card import card_path
from report.pages.stamps import Stamp, authored, below, program, stamps
from report.pages.templates import LOOKUPS
from report.project import Project, documentation
from report.study.study import Study


@dataclass(frozen=True)
class Record:
    """An article as it was drawn."""

    key: str
    """Hash of all that it was drawn of but templates."""
    templates: dict[Path, Stamp]
    """Files that templates were looked for at -> their stamps before they were read."""
    outputs: str
    """Hash of the stamps of its files."""
    page: Page


RECORD = TypeAdapter(Record)


class LastDrawn:
    """The records of a project's articles."""

    def __init__(self, project: Project, force: bool = False):
        """force: whether none of them counts. What authors wrote is looked at now: an article that
        is drawn of what changes later is drawn again by the next build."""
        self.project, self.force = project, force
        root, figures = project.root, project.figures
        parts = figures, root / "measures", project.articles / BIBLIOGRAPHY
        self.seen = [*program(), documentation(project.site_src) is None, *map(below, parts)]
        if any(figures.glob("*.py")):
            self.seen += authored(root, project.articles)

    def key(self, study: Study, folders: Sequence[Path], *of: object) -> str:
        """The key of an article's record; folders: of its datasets; of: what else it shows."""
        manifests = [(each.name, files.sha256(each / "manifest.json")) for each in folders]
        return _hashed([self.seen, str(study), manifests, of])

    def page(self, name: str, key: str) -> Page | None:
        """The page of an article; None if it is to be drawn. key: as of `key`"""
        try:
            record = RECORD.validate_json(self._path(name).read_bytes())
        except (OSError, ValidationError):
            return None
        now = key, stamps(record.templates), self._outputs(name)
        same = now == (record.key, record.templates, record.outputs)
        return record.page if same and not self.force else None

    def draw(self, name: str, key: str, draw: Callable[[], Page]) -> Page:
        """Draw an article, and keep its record: there is none before all its files are there."""
        files.remove(self._path(name))
        LOOKUPS.clear()
        page = draw()
        record = Record(key, dict(LOOKUPS), self._outputs(name), page)
        files.write_bytes(self._path(name), RECORD.dump_json(record))
        return page

    def _path(self, name):
        return self.project.root / ".cache" / "drawn" / f"{name}.json"

    def _outputs(self, name):
        source = self.project.site_src
        parts = f"articles/{name}", f"figures/{name}", f"embed/{name}"
        made = [below(source / part, source / card_path(name)) for part in parts]
        beside = sorted((source / "datasets" / name).glob("*.*"))
        return _hashed([*made, *(below(path) for path in beside if path.is_file())])


def _hashed(value):
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
