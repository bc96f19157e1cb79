"""One build of a project at a time; another one waits."""

from contextlib import contextmanager

from filelock import FileLock, Timeout

from report import store
from report.errors import ReportError

NAME = ".report.lock"
"""File in a project's folder. The system lets go of it when the process ends, however it ends."""


@contextmanager
def only_build(project, announce):
    """While this lasts, no other build changes the project; what a killed one left is gone.

    announce: called with a sentence if another build has to end first
    raises: ReportError if the folder of the project cannot be written
    """
    lock = FileLock(project.root / NAME)
    try:
        try:
            lock.acquire(timeout=0)
        except Timeout:
            announce("Another build of this project is running; waiting until it ends.")
            lock.acquire()
    except OSError as error:
        raise ReportError(
            f"cannot write {project.root / NAME}: {error.strerror or error}. "
            "Free some disk space or choose a folder that may be written."
        ) from error
    try:
        store.remove_leftovers(project.root, deep=False)
        for folder in (project.site_src, project.frozen):
            store.remove_leftovers(folder)
        yield
    finally:
        lock.release()
