"""The folder of a project: where its parts lie, and one build of it at a time."""

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
    def articles(self):
        """Folder of the articles, `*.md.j2`."""
        return self.root / "templates" / "articles"

    @property
    def site_src(self):
        """Folder that MkDocs publishes: hand-written pages, and everything generated."""
        return self.root / "site_src"

    @property
    def frozen(self):
        """Folder of datasets that are kept to be published without measuring."""
        return self.root / "frozen"

    @property
    def config(self):
        """Settings of MkDocs."""
        return self.root / "mkdocs.yml"

    @property
    def site(self):
        """Folder of the built site."""
        return self.root / "site"


def project(root=HERE):
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
"""File in a project's folder. The system lets go of it when the process ends, however it ends."""


@contextmanager
def only_build(project, announce):
    """While this lasts, no other build changes the project; what a killed one left is gone.

    announce: called with a sentence if another build has to end first
    raises: ReportError if the folder of the project cannot be written
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
