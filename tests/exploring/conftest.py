"""A page of `explore`, served in this process: of the tiny Falcon, or of what a test gives."""

import threading
from contextlib import contextmanager

import pytest

from report.exploring import server
from report.exploring.page import Explorer
from report.kinds.passage import measure as passage_kind
from report.kinds.passage.data import PassageData
from report.notebook.measurement import load
from report.project import Project
from tests.commands import report
from tests.small import CORPUS, write_publication

FIRST = "the lamp on the hill was lit, and who lit the lamp?"


@pytest.fixture(scope="session")
def model(falcon_folder, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield load(falcon_folder)


@pytest.fixture(scope="session")
def explorer(model):
    return Explorer(model, None)


@contextmanager
def opened(explorer, *others):
    """The address of the page, and the server."""
    with server.page_of(explorer, 0, others) as (serving, address):
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        try:
            yield address, serving
        finally:
            serving.shutdown()


@pytest.fixture(scope="session")
def address(explorer):
    with opened(explorer) as (address, _):
        yield address


@pytest.fixture(scope="session")
def data_of_corpus(model, tmp_path_factory):
    """A project with an article of the model, measured, and the article's datasets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passage_kind, "corpus", lambda: CORPUS)
        project = Project(write_publication(tmp_path_factory.mktemp("of_corpus") / "project"))
        read = ("--model", model.model, "--passage", project.root / "passage.md")
        done = report("measure", "--project", project.root, *read)
    assert done.returncode == 0, done.stderr
    (path,) = project.site_src.glob("datasets/small/*/")
    return project, PassageData(path)
