"""One site, built end to end as `make site` does, for all tests of this folder."""

import functools
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from report.models.find import names
from report.site.build import build
from report.study.study import read_studies
from tests import tabs
from tests.commands import ask_less, copy_project, read_less, report
from tests.site import SITE
from tests.site.independent import Independent
from tests.site.unmeasured import write as write_unmeasured

ARTICLE = "articles/attention-focus-plots/"


@dataclass(frozen=True)
class Built:
    """A project after `python -m report site`."""

    project: Path
    output: str
    """What the command said."""
    address: str
    """Where the site is served, ending in a slash."""

    @property
    def folder(self):
        return self.project / "site"

    @property
    def datasets(self):
        (folder,) = self.project.glob("site_src/datasets/attention-focus-plots/*/")
        return folder


@pytest.fixture(scope="session")
def built():
    """The site as `make site REAL=no` builds it: the embedded models measured, all pictures drawn,
    MkDocs strict; and served.

    It is built for the address it is served at, as for a real host: instant navigation follows
    only links to pages that the site's map lists. That lies below a folder of its host, where a
    page that asks for a file from the root misses it (for sites at the root see test_domain.py).
    Processes that share the tests share it: the first one builds, and none changes it.
    """
    shared, address = Path(os.environ["SHARED_FOLDER"]), os.environ["SHARED_ADDRESS"]
    project, said = (shared / SITE).parent, shared / "said.txt"
    with FileLock(shared / "publication.lock", timeout=1800):
        if not said.exists():
            shutil.rmtree(project, ignore_errors=True)  # of a process that failed
            copy_project(project, docs=True)
            ask_less(project)
            read_less(project)
            options = ["--no-real", "--project", project]
            done = report("site", *options, process=True, timeout=900, SITE_URL=address)
            assert done.returncode == 0, done.stderr
            said.write_text(done.stdout + done.stderr)
    return Built(project, said.read_text(), address)


@pytest.fixture(scope="session")
def unmeasured(tmp_path_factory):
    """A function from the name of a builder to the folder of a small site with the real theme and
    scripts, built once."""
    project = write_unmeasured(tmp_path_factory.mktemp("unmeasured") / "project")

    @functools.cache
    def built_by(builder):
        folder = project / f"site-{builder}"
        build(project / "mkdocs.yml", folder, builder=builder)
        return folder

    return built_by


@pytest.fixture(scope="session")
def model(built):
    """What a plain computation says about the article's model and passage."""
    studies = read_studies(built.project / "templates" / "articles", real=False)
    study = next(study for study in studies if study.name == "attention-focus-plots")
    return Independent(names.model_folder(study.front_matter.model), study.front_matter.passage)


@pytest.fixture(scope="session")
def shared_tabs(browser):
    """Tabs that tests share, by the options of their window; see tests/tabs.py."""
    found = {}
    yield found
    for tab in found.values():
        tab.context.close()


@pytest.fixture
def visit(request, browser, built, shared_tabs):
    """A function that opens an address of the site, of which nothing is kept but files; or, of a
    test marked as a `first_visit`, nothing at all. See `tabs.visits` for what pages may not do."""
    alone = bool(request.node.get_closest_marker("first_visit"))
    with tabs.visits(browser, built.address, shared_tabs, alone) as visit:
        yield lambda path=ARTICLE, **options: visit(path, **options)
