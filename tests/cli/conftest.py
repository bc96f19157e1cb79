"""The command line on a small publication and the tiny model, in this process."""

from types import SimpleNamespace

import pytest

from tests.cli.saying import ended
from tests.commands import report
from tests.small import write_publication
from tests.themed import write_themed
from tests.unpainted import unpainted


@pytest.fixture
def run(short_corpus):
    """A function that runs the command line here: code, what it said, the sentence of an error."""
    return lambda *arguments: ended(report(*arguments))


@pytest.fixture
def no_pictures():
    with unpainted():
        yield


@pytest.fixture
def project(tmp_path):
    return write_publication(tmp_path / "project")


@pytest.fixture
def options(project, falcon_folder):
    """What makes commands run on the small publication and the tiny model."""
    return ("--project", project, "--model", falcon_folder, "--passage", project / "passage.md")


@pytest.fixture
def two_articles(tmp_path, falcon_folder):
    """A project with the real settings and theme and two small articles: its folder, and the
    options that have them measured on the tiny model."""
    folder = write_themed(tmp_path / "small", "one", "two")
    options = ("--project", folder, "--model", falcon_folder, "--passage", folder / "passage.md")
    return SimpleNamespace(folder=folder, options=options)
