"""Fingers, that do not point: a tap shows and pins, a second tap or one elsewhere clears."""

import pytest

from tests.figures.live_page import TOOLTIP, go_live, ink, until

pytestmark = pytest.mark.browser

MARKED = "document.querySelector('.token--pinned')?.dataset.token"


@pytest.fixture
def page(phone):
    return phone


def shown(page, number):
    """A chart of a figure, of two looks the one that is shown."""
    return page.locator(f"#fig-{number} canvas").filter(visible=True).first


def tap(page, number, x, y):
    """Tap on a chart at parts of its width and height."""
    box = shown(page, number).bounding_box()
    page.touchscreen.tap(box["x"] + x * box["width"], box["y"] + y * box["height"])
    page.wait_for_timeout(10)


def tap_until_tooltip(page, number):
    """Tap over a chart until a tooltip shows; returns the place."""
    go_live(page, number)
    shown(page, number).evaluate("each => each.scrollIntoView()")
    page.wait_for_timeout(100)
    for y in range(82, 20, -3):
        for x in range(18, 92, 2):
            tap(page, number, x / 100, y / 100)
            if page.evaluate(TOOLTIP):
                return x / 100, y / 100
    return pytest.fail("no tap brought a tooltip")


def test_a_tap_on_the_map_shows_a_cell_until_a_tap_elsewhere(page, address):
    page.goto(address)
    go_live(page, 1)
    tap(page, 1, 0.3, 0.7)
    assert "gives" in page.evaluate(TOOLTIP)["title"]
    page.wait_for_timeout(200)
    assert "gives" in page.evaluate(TOOLTIP)["title"]
    page.tap("#fig-1 figcaption strong")
    until(page, "!document.querySelector('#vg-tooltip-element.visible')")


def test_a_tap_on_a_head_rings_it_in_the_other_figures_until_it_is_tapped_again(page, address):
    page.goto(address)
    for number in (4, 5):
        go_live(page, number)
    before = ink(page, 5)
    place = tap_until_tooltip(page, 4)
    page.wait_for_timeout(300)
    ringed = ink(page, 5)
    assert ringed != before
    tap(page, 4, *place)
    until(page, "!document.querySelector('.pins__chip')")
    page.wait_for_timeout(300)
    assert ink(page, 5)[0] < ringed[0]


def test_a_tap_on_a_point_pins_its_token_until_a_tap_beside(page, address):
    page.goto(address)
    tap_until_tooltip(page, 9)
    assert page.evaluate(MARKED) is not None
    page.tap("#fig-9 figcaption strong")
    assert page.evaluate(MARKED) is None
    assert page.evaluate(TOOLTIP) == {}


def test_a_second_tap_on_a_token_or_one_elsewhere_clears_it(page, address):
    page.goto(address)
    page.tap(".token[data-token='7']")
    until(page, f"{MARKED} === '7'")  # the script comes with the first tap
    assert page.locator(".passage__tip").is_visible()
    page.tap(".token[data-token='7']")
    assert page.evaluate(MARKED) is None
    assert not page.locator(".passage__tip").is_visible()
    page.tap(".token[data-token='7']")
    page.tap(".token[data-token='9']")
    assert page.evaluate(MARKED) == "9"
    go_live(page, 1)
    page.tap("#fig-1 input[name=head]")  # to look at the same token in another head
    assert page.evaluate(MARKED) == "9"
    page.tap("#fig-1 figcaption strong")
    assert page.evaluate(MARKED) is None
