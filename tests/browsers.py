"""The browsers that tests and benchmarks open pages in, and how Chromium is started."""

import shutil
from contextlib import contextmanager

CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser")
"""Commands, the best first: the same browser without a window opens a page in a third of the
processor time, as it does not load its own window's pages beside ours."""

FIREFOX = ("firefox-esr", "firefox")


class MissingBrowserError(Exception):
    """None of a browser's commands is installed; the message says what to do."""


def path_of(commands):
    """The path of the first of a browser's commands that is installed.

    commands: `CHROMIUM` or `FIREFOX`
    raises: MissingBrowserError, one sentence, if there is none
    """
    path = next(filter(None, map(shutil.which, commands)), None)
    if path is None:
        raise MissingBrowserError(
            f"no command {' or '.join(map(repr, commands))} to open pages with; run `make browser`"
        )
    return path


@contextmanager
def chromium():
    """A Chromium without a window, driven by Playwright.

    raises: MissingBrowserError if it is not installed
    """
    from playwright.sync_api import sync_playwright

    path = path_of(CHROMIUM)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@contextmanager
def or_failed():
    """In a test: a browser that is missing fails it, with that one sentence and no traceback."""
    import pytest

    try:
        yield
    except MissingBrowserError as error:
        pytest.fail(str(error), pytrace=False)


@contextmanager
def or_stopped():
    """In a program: a browser that is missing ends it, with that one sentence and exit code 1."""
    try:
        yield
    except MissingBrowserError as error:
        raise SystemExit(str(error)) from None
