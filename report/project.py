"""The folder of a project: where its parts lie, and one build of it at a time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from report.errors import ReportError, UsageError
from report.files import remove_leftovers

HERE = Path(__file__).parents[1]


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
        """What MkDocs builds the site of: hand-written pages, and everything generated."""
        return self.root / "site_src"

    @property
    def frozen(self) -> Path:
        """Datasets that are kept, to be published without measuring."""
        return self.root / "frozen"

    @property
    def config(self) -> Path:
        """Settings of MkDocs."""
        return self.root / "mkdocs.yml"

    @property
    def site(self) -> Path:
        """Folder of the built site."""
        return self.root / "site"


def project(root: Path = HERE) -> Project:
    """The project in a folder.

    raises: UsageError if the folder has no mkdocs.yml or no templates/articles
    """
    found = Project(Path(root))
    for needed in (found.config, found.articles):
        if not needed.exists():
            raise UsageError(
                f"{found.root}: no project here ({needed.relative_to(found.root)} is missing); "
                "run the command in the folder of a project, or name that folder with --project."
            )
    return found


LOCK = ".report.lock"
"""The build lock, a file in a project. The system frees it however the process ends."""


@contextmanager
def only_build(project: Project, announce: Callable[[str], None]) -> Iterator[None]:
    """Hold the build lock, and remove what a killed build left unfinished.

    announce: called with a sentence if another build must end first
    raises: ReportError if the project cannot be written
    """
    lock = FileLock(project.root / LOCK)
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            announce("Another build of this project is running; waiting until it ends.")
            lock.acquire()
    except OSError as error:
        raise ReportError(
            f"cannot write {project.root / LOCK}: {error.strerror or error}. "
            "Free some disk space or choose a folder that may be written."
        ) from error
    try:
        remove_leftovers(project.root, deep=False)
        for folder in (project.site_src, project.frozen):
            remove_leftovers(folder)
        yield
    finally:
        lock.release()
