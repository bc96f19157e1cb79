"""Files of figures that are damaged, missing or out of reach: a sentence of ours and the still
picture, no uncaught error; and what fails is tried again."""

import re

import pytest

from tests.figures.live_page import ORDER, go_live, until
from tests.figures.test_script_loading import open_above_the_figures

pytestmark = [pytest.mark.browser, pytest.mark.first_visit, pytest.mark.promise("failing-figures")]

NOT_FOUND = "<!doctype html><title>404</title><h1>Not found</h1>"

SAID = re.compile(
    r"This figure could not be loaded \((\S+\.json (could not be fetched|answered \d+|is cut off, "
    r"or is another file)|a file of this page is missing or damaged)\)\. The still picture stays\."
)
"""Nothing in it depends on the browser."""

DAMAGES = {
    "cut off": lambda route: route.fulfill(body=route.fetch().text()[:-9]),
    "empty": lambda route: route.fulfill(body=""),
    "missing": lambda route: route.fulfill(status=404, body=NOT_FOUND, content_type="text/html"),
    "page of a host": lambda route: route.fulfill(body=NOT_FOUND, content_type="text/html"),
    "out of reach": lambda route: route.abort(),
    "of another kind": lambda route: route.fulfill(body='{"schema": "table/1"}'),
    "null": lambda route: route.fulfill(body="null"),
}


@pytest.fixture
def uncaught(page):
    """Errors of the page that nothing caught; what browsers report of requests is expected."""
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.expected = (
        "Failed to load resource",
        "Failed to load module script",
        "Error: ",
        "TypeError: ",
    )
    yield errors
    assert errors == []


def test_a_damaged_file_is_told_in_our_words(page, address, uncaught):
    """Each damage in the specification of a figure of its own, one in what three figures draw."""
    page.route("**/attention/*/*.json", DAMAGES["cut off"])
    for number, damage in enumerate(DAMAGES.values(), start=4):
        page.route(f"**/{ORDER[number - 1]}*.vega.json", damage)
    page.goto(address)
    for number in range(1, len(ORDER) + 1):
        page.locator(f"#fig-{number}").scroll_into_view_if_needed()
        page.wait_for_selector(f"#fig-{number}.live-figure--failed")
        assert SAID.fullmatch(page.inner_text(f"#fig-{number} .live-figure__live")), number
        assert page.locator(f"#fig-{number} .live-figure__picture").first.is_visible()
        assert all(each.is_disabled() for each in page.locator(f"#fig-{number} input").all())


def test_a_chart_library_that_is_a_page_of_the_host_is_told_too(page, address, uncaught):
    page.route("**/assets/vega.js", DAMAGES["page of a host"])
    page.goto(address)
    page.locator("#fig-1").scroll_into_view_if_needed()
    page.wait_for_selector("#fig-1.live-figure--failed")
    assert SAID.fullmatch(page.inner_text("#fig-1 .live-figure__live"))


def test_the_first_step_without_a_network_is_told_and_done_again_with_one(page, address, uncaught):
    open_above_the_figures(page, address)
    page.evaluate(
        """document.body.prepend(Object.assign(document.createElement('a'),
            {className: 'term', href: '#score', textContent: 'score'}))"""
    )
    page.context.set_offline(True)
    page.locator(".term").hover()
    page.locator(".token").nth(3).hover()
    page.locator("#fig-1").scroll_into_view_if_needed()
    page.wait_for_selector("#fig-1.live-figure--failed")
    assert page.inner_text("#fig-1 .live-figure__live") == (
        "This figure could not be loaded (its scripts could not be fetched). "
        "The still picture stays."
    )
    page.context.set_offline(False)
    go_live(page, 1)
    until(page, "document.querySelector('#fig-1 .live-figure__live').textContent === ''")
