"""Every promise about safety has a test, and the page that lists them says which."""

from tests.commands import ROOT
from tests.promises import PAGE, ROW, marks, page

MOST_BYTES = 3000
"""Of SECURITY.md: who reports a flaw reads all of it."""


def test_every_promise_has_a_test_and_every_mark_a_promise():
    promises = [name for name, *_ in ROW.findall(PAGE.read_text("utf-8"))]
    assert len(promises) > 50 and len({*promises}) == len(promises)
    assert {*promises} == {*marks()}


def test_the_page_names_the_tests_that_there_are():
    """Where it does not, `python -m tests.promises` writes it."""
    assert page() == PAGE.read_text("utf-8")


def test_what_everybody_reads_is_short_and_leads_there():
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    assert len(text.encode()) <= MOST_BYTES
    assert PAGE.relative_to(ROOT).as_posix() in text
