"""What can be clicked or tapped is at least 24 pixels wide and high."""

import pytest

from tests.figures.live_page import go_live

pytestmark = pytest.mark.browser

SMALL = """() => {
    const own = '.live-figure :is(a, button, input, summary, select), '
        + '.byline a, .cards a, .card__more a, .live-figure [tabindex="0"]';
    // a link within a sentence is as high as its line, as WCAG 2.5.8 allows
    const inSentence = each => each.matches('figcaption > a, p > a, td a, h2 a, h3 a');
    return [...document.querySelectorAll(own)]
        .filter(each => each.checkVisibility({visibilityProperty: true}) && !inSentence(each))
        .map(each => [each, (each.matches('[type=radio], [type=checkbox]')
            ? each.closest('label') : each).getBoundingClientRect()])
        .filter(([, box]) => box.width && (box.width < 23.9 || box.height < 23.9))
        .map(([each, box]) => `${each.outerHTML.slice(0, 90)} ${box.width} x ${box.height}`);
}"""
"""Own controls and links that are smaller."""

PAGES = {
    "": 0,
    "archive/": 0,
    "tags/": 0,
    "models/": 0,
    "articles/attention-focus-plots/": 10,
    "articles/reading-a-table/": 3,
    "articles/filler-tokens/": 7,
    "articles/how-heads-form/": 4,
}
"""Pages, and how many figures they have."""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("path", PAGES)
def test_targets_are_large_enough(visit, path, width):
    page = visit(path, viewport={"width": width, "height": 900})
    for number in range(1, PAGES[path] + 1):
        go_live(page, number)
    assert page.evaluate(SMALL) == []


def test_on_a_phone_a_slider_has_the_whole_width_and_a_large_thumb(visit):
    page = visit(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    figure = go_live(page, 1)
    slider, whole = figure.locator("[type=range]").first.bounding_box(), figure.bounding_box()
    assert slider["width"] >= 0.98 * whole["width"]
    assert slider["height"] >= 44
