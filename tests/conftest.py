"""What all tests share: a tiny model, a browser, and a folder for the processes of a run.

The process that starts the others reads this file first, and needs nothing that measures: such
imports are in the fixtures.
"""

import gc
import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests import browsers
from tests import firefox as other
from tests.commands import ROOT
from tests.fast import Fast
from tests.fuzz import profile  # noqa: F401 (how random inputs are drawn, in all tests)
from tests.killing import children
from tests.serving import BELOW, ProjectPages, served
from tests.site import SITE
from tests.small import CORPUS

ORDER = (
    "tests/site/test_pages",
    "tests/site/own",
    "tests/figures",
    "tests/site",
    "tests/test_killed",
    "tests/test_installed",
    "tests/benchmarks",
    "tests/cli",
    "tests/test_notebook",
    "tests/models",
    "tests/measuring",
    "tests/families",
    "tests/test_embedded",
)
"""Files that begin a run, so that its processes end together: the first builds the one site, while
others see to files that build sites of their own ("own"), and to figures; what takes a minute in
one file is not among the last."""

IN_FIREFOX = (
    "tests/site/test_core.py",
    "tests/site/test_policy.py",
    "tests/figures/test_bundle.py",
)
"""Files with tests in Firefox, which takes seconds to start: one process has them all."""


def pytest_addoption(parser):
    parser.addoption("--fast", action="store_true", help="only tests that need little, see fast.py")


def pytest_configure(config):
    """A folder for what all processes of a run share, and a server of the site built in it.

    The one that starts the others serves, as it outlives them: a process that stops to listen
    resets the connections of the others' browsers.

    A command that measures has one thread where there are as many processes as cores. Its threads
    sleep while they wait for each other: they would else turn in place, and beside another process
    on the same cores need up to four times as long. Ray's workers would give way to everything
    else; beside two busy processes a test of them then takes two minutes instead of ten seconds.

    Nothing that tests write need outlast a loss of power: to wait until the disk has each of many
    small files takes longer than to write them.
    """
    patch = pytest.MonkeyPatch()
    patch.setattr(os, "fsync", lambda file: None)
    config.add_cleanup(patch.undo)
    if config.getoption("fast"):
        config.pluginmanager.register(Fast())
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    stack = ExitStack()
    config.add_cleanup(stack.close)
    folder = stack.enter_context(TemporaryDirectory(prefix="tests-"))
    host = stack.enter_context(served(Path(folder) / SITE, ProjectPages))
    os.environ |= {"SHARED_FOLDER": folder, "SHARED_ADDRESS": host + BELOW}
    os.environ |= {"OMP_WAIT_POLICY": "passive", "RAY_worker_niceness": "0"}
    if config.getoption("numprocesses", None):
        os.environ |= {"OMP_NUM_THREADS": "1"}


def pytest_xdist_auto_num_workers(config):
    """Two processes more than cores: of three on two cores, which wait for pages, for programs and
    for what has to happen after a while, a core was left idle for a third of the time. The fast
    tier waits for nothing."""
    from xdist.plugin import pytest_xdist_auto_num_workers as cores

    return cores(config) + (0 if config.getoption("fast") else 2)


def pytest_xdist_make_scheduler(config, log):
    """The tests of a file go to one process, and those of `IN_FIREFOX` as if they were a file's."""
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return IN_FIREFOX[0] if file in IN_FIREFOX else file

    return Together(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(items):
    """The slow folders first; files stay as they are."""
    shared = {item.path for item in items if "built" in item.fixturenames}
    items.sort(key=lambda item: _place(item.path, item.path in shared))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage meanwhile, and later never among what is there then: it all stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _place(path, shared):
    name = path.relative_to(ROOT).with_suffix("").as_posix()
    if name.startswith("tests/site/") and not shared:
        name = "tests/site/own"
    return next((n for n, start in enumerate(ORDER) if name.startswith(start)), len(ORDER))


@pytest.fixture(scope="session")
def falcon_folder(tmp_path_factory):
    """A folder with the tiny Falcon and its tokenizer, as save_pretrained writes it (read only)."""
    from tests.tiny_falcon import byte_level_tokenizer, random_falcon

    folder = tmp_path_factory.mktemp("models") / "tiny-falcon"
    random_falcon().save_pretrained(folder)
    byte_level_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def prediction(tmp_path_factory, falcon_folder):
    """`PredictionData` of two prompts, of the tiny Falcon."""
    from tests import made_prediction

    folder = tmp_path_factory.mktemp("prediction") / "datasets" / "hand" / "ab9876543210"
    return made_prediction.study(folder, falcon_folder)


@pytest.fixture(scope="session")
def run_children(falcon_folder):
    """A function that runs commands in children that may be killed, see `tests.killing.order`."""
    with children(falcon_folder) as run:
        yield run


@pytest.fixture(scope="module")
def short_corpus():
    """Two short texts in place of the corpus that ships, for all tests of a file.

    A test may put others in their place, see `report.kinds.passage.measure.corpus`.
    """
    from report.kinds.passage import measure as passage_kind

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passage_kind, "corpus", lambda: CORPUS)
        yield


@pytest.fixture(scope="module")
def positions_end():
    """All models as one whose positions end after 512 tokens; those of the tiny Falcon do not."""
    from report.models.load import identity

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "context", lambda model: 512)
        yield


@pytest.fixture
def loaded(falcon_folder):
    """The tiny Falcon, loaded afresh for each test, which may damage it."""
    from report.models.load.load import load_model

    return load_model(falcon_folder)


@pytest.fixture
def token_ids():
    """Forty token ids of the tiny vocabulary, the first the beginning-of-text token."""
    import torch

    generator = torch.Generator().manual_seed(3)
    return [0, *torch.randint(1, 320, (39,), generator=generator).tolist()]


@pytest.fixture
def double():
    """Everything in float64, models that are built in the test included: what is not the same to
    the last digits is a mistake. In float32 the same is compared in test_parity.py."""
    from report.families.verify import in_float64

    with in_float64():
        yield


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium; where it is missing, browser tests fail and are never skipped."""
    with browsers.or_failed(), browsers.chromium() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def firefox(tmp_path_factory):
    """Debian's Firefox, started once; windows of 1280 x 1000 unless a test makes it another."""
    with other.started(tmp_path_factory.mktemp("firefox")) as reader:
        reader.size(1280, 1000)
        yield reader
