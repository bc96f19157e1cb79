"""The article in a browser: quiet, complete, lively, and steady. (`visit` forbids complaints.)"""

import re

import pytest

from tests.figures.live_page import ink, ink_at_rest, until
from tests.site.conftest import ARTICLE

pytestmark = pytest.mark.browser

SHIFT = """window.shift = 0; new PerformanceObserver(list => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({type: 'layout-shift', buffered: true})"""


def test_a_token_tells_index_and_id_and_is_marked_in_the_figures(visit, model):
    page = visit()
    tokens = page.locator(".passage .token")
    assert tokens.count() == model.length
    for index in (0, 1, model.length // 2, model.length - 1):
        tokens.nth(index).hover()
        assert page.inner_text(".passage__tip") == f"token {index}, id {model.ids[index]}"
    words = [i for i, each in enumerate(model.ids) if model.tokenizer.decode([each]).isalpha()]
    assert tokens.nth(words[0]).text_content() == model.tokenizer.decode([model.ids[words[0]]])

    page.mouse.move(0, 0)  # the mark of the last token goes, here and in the figure
    until(page, "!document.querySelector('.token--marked')")
    before = ink_at_rest(page, 1)
    index = model.length // 2
    tokens.nth(index).hover()
    assert page.get_attribute(".token--marked", "data-token") == str(index)
    for _ in range(60):  # the pointer must stay: to scroll there would take the mark away
        drawn = ink(page, 1)
        if drawn != before:
            break
        page.wait_for_timeout(50)
    assert drawn != before  # guides through its row and its column


@pytest.mark.first_visit
def test_nothing_moves_while_a_reader_scrolls_through(visit, browser):
    page = visit("about/")
    page.add_init_script(SHIFT)
    page.goto(page.url.replace("about/", ARTICLE))
    height = page.evaluate("document.documentElement.scrollHeight")
    page.mouse.move(640, 500)
    for _ in range(height // 700 + 1):
        page.mouse.wheel(0, 700)
        page.wait_for_timeout(60)
    page.wait_for_selector("#fig-10.live-figure--live")
    assert page.evaluate("scrollY") > height / 2
    assert page.evaluate("window.shift") < 0.01
    assert page.evaluate("document.documentElement.scrollHeight") == height


@pytest.mark.first_visit
def test_without_javascript_every_figure_is_pictures_with_links(visit, browser):
    page = visit(java_script_enabled=False)
    figures = page.locator("figure.live-figure")
    assert figures.count() == 12
    for figure in figures.all():
        figure.scroll_into_view_if_needed()
        seen = [each for each in figure.locator("img").all() if each.is_visible()]
        assert len(seen) in (1, 2), "one, or one a panel"
        for picture in seen:
            assert picture.get_attribute("src").endswith("-light.svg#only-light")
            assert len(picture.get_attribute("alt")) > 40
            assert picture.bounding_box()["height"] > 200
        addresses = {
            link.get_attribute("aria-label") or link.inner_text(): link.get_attribute("href")
            for link in figure.locator(".live-figure__links a").all()
        }
        panels = figure.locator(".live-figure__panel").count()
        each = [f" of panel {n + 1}" for n in range(panels)] if panels > 1 else [""]
        assert addresses.keys() == {
            f"{of}{one}" for of in ("Data", "Specification") for one in each
        }
        pictures = [each.get_attribute("src").split("#")[0] for each in figure.locator("img").all()]
        for address in [*addresses.values(), *pictures]:
            answer = page.request.get(page.url + address)
            assert answer.ok, address
            if address.endswith(".json"):
                assert answer.json()
            else:
                assert answer.text().startswith("<svg")
    told = page.locator(".live-only")  # what one could do with live figures
    assert told.count() > 3
    assert not page.locator(".passage__bar").is_visible()  # nothing shades the passage
    assert not [each for each in told.all() if each.is_visible()]
    assert page.locator(".passage .token").count() > 100
    assert re.fullmatch(r"id \d+", page.locator(".token").nth(7).get_attribute("title"))
