"""The folder of a project: where its parts lie, and the build lock."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from report.errors import INSTALLED, NAME, ReportError, UsageError
from report.files import SHIPPED, cannot_write, only_ours, remove_leftovers


@dataclass(frozen=True)
class Project:
    """A folder with `mkdocs.yml`, `templates/articles/` and `site_src/`."""

    root: Path

    @property
    def articles(self) -> Path:
        """Folder of the articles, `*.md.j2`."""
        return self.root / "templates" / "articles"

    @property
    def site_src(self) -> Path:
        """Folder that MkDocs publishes: hand-written pages, and everything generated."""
        return self.root / "site_src"

    @property
    def frozen(self) -> Path:
        """Folder of frozen datasets, which are published without measuring."""
        return self.root / "frozen"

    @property
    def figures(self) -> Path:
        """Folder of figures of its own; it may be missing."""
        return self.root / "figures"

    @property
    def config(self) -> Path:
        """File of MkDocs' settings."""
        return self.root / "mkdocs.yml"

    @property
    def site(self) -> Path:
        """Folder of the built site."""
        return self.root / "site"


def project(root: Path | str | None = None) -> Project:
    """The project in a folder; None: the nearest one.

    raises: UsageError if the folder has no mkdocs.yml or no templates/articles
    """
    if root is None:
        return nearest_project()
    nearest = Project(Path(root))
    for needed in (nearest.config, nearest.articles):
        if not needed.exists():
            raise UsageError(
                f"{nearest.root}: no project here ({needed.relative_to(nearest.root)} is missing); "
                "run the command in the folder of the project, or name it with --project."
            )
    return nearest


def enclosing_project() -> Project | None:
    """The project that the current folder lies in."""
    here = Path.cwd()
    folders = (Project(folder) for folder in (here, *here.parents))
    return next((each for each in folders if each.config.exists() and each.articles.exists()), None)


def nearest_project() -> Project:
    """The project that the current folder lies in, else the repository that this package lies in.

    raises: UsageError if there is neither
    """
    nearest = enclosing_project()
    if nearest is None and INSTALLED:
        raise UsageError(
            "there is no publication here (no mkdocs.yml with templates/articles beside it, in "
            f"this folder or above); go to its folder, or start one: `{NAME} new my-publication`."
        )
    return nearest or Project(SHIPPED)


def documentation(site_src: Path) -> Path | None:
    """The folder of the program's own documentation; None: this publication does not have it.

    It is known by a page that those made from the code lead to. A publication may call a folder of
    its own `docs` as well.
    """
    folder = site_src / "docs"
    return folder if (folder / "how-to" / "figures.md").is_file() else None


FOLDERS = (
    *("site_src", "templates", "figures", "frozen", ".theme", ".cache", ".cache/sums"),
    *(f"site_src/{name}" for name in ("articles", "assets", "datasets", "embed", "figures")),
)

LOCK = ".report.lock"
"""File of the build lock; the system releases it when the process ends."""


@contextmanager
def only_build(project: Project, announce: Callable[[str], object]) -> Iterator[None]:
    """Hold the build lock, so that no other build changes the project; remove leftovers first.

    Within it, nothing below `site_src` is replaced or removed that the program did not write.

    announce: called with a sentence if another build must end first
    raises: ReportError if the folder of the project cannot be written, or one in it is none
    """
    for folder in (project.root / name for name in FOLDERS):
        if os.path.lexists(folder) and not folder.is_dir():
            raise ReportError(
                f"{folder}: is no folder, and the program reads or writes files in one of that "
                "name; move it to another name."
            )
    lock = FileLock(project.root / LOCK)
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            announce("Another build of this project is running; waiting until it ends.")
            lock.acquire()
    except OSError as error:
        raise cannot_write(project.root / LOCK, error) from error
    try:
        for folder in (project.root, project.articles, tempfile.gettempdir()):
            remove_leftovers(folder)
        for folder in (project.site_src, project.frozen):
            remove_leftovers(folder, deep=True)
        with only_ours(project.root, (project.site_src, project.root / ".theme")):
            yield
    finally:
        lock.release()
