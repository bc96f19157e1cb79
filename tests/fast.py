"""The fast tier, `pytest --fast`: tests with no browser, no process of their own, no model, and no
picture, which an engine of JavaScript draws.

No list says which tests these are. One with the fixture of a browser is left out; one that asks
for such a fixture as it runs, starts a process, makes a model of transformers or draws a picture,
ends there as skipped, and so do all tests that share a fixture which did.
"""

import sys

import pytest
import vl_convert

BROWSERS = {"browser", "firefox"}
"""Fixtures."""

STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec"}
"""Events of the interpreter, see `sys.addaudithook`."""


class Fast:
    """A plugin of pytest."""

    def pytest_collection_modifyitems(self, config, items):
        slow = [item for item in items if BROWSERS & set(item.fixturenames)]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not BROWSERS & set(item.fixturenames)]

    def pytest_fixture_setup(self, fixturedef):
        if fixturedef.argname in BROWSERS:
            fixturedef.func = _no_browser

    def pytest_collection_finish(self):
        from transformers import PreTrainedModel

        sys.addaudithook(_no_process)
        PreTrainedModel.__init__ = _no_model
        for draws in ("vegalite_to_svg", "svg_to_png", "javascript_bundle"):
            setattr(vl_convert, draws, _no_picture)


def _no_browser(**fixtures):
    pytest.skip("opens a browser")


def _no_process(event, args):
    if event in STARTS:
        pytest.skip("starts a process of its own")


def _no_model(self, *args, **options):
    pytest.skip("makes a model")


def _no_picture(*args, **options):
    pytest.skip("draws a picture")
