"""Cards beside words: terms explained, figures previewed; by mouse, keys and fingers."""

import pytest

from report.pages import glossary
from tests.figures.live_page import LIVE, at_rest, until
from tests.figures.tools import href
from tests.held import Held

pytestmark = pytest.mark.browser

CARD = "document.querySelector('.hover-card:not([hidden])')"
TERM = "a.term[href$='#score']"


def card(page):
    until(page, f"{CARD} !== null")
    return page.locator(".hover-card")


def gone(page):
    until(page, f"{CARD} === null")


def center(page, element):
    element.evaluate("each => each.scrollIntoView({block: 'center', behavior: 'instant'})")
    # of a link over two lines, the first part
    first = "each => { const { x, y, width } = each.getClientRects()[0]; return [x, y, width] }"
    x, y, width = at_rest(lambda: element.evaluate(first), page.wait_for_timeout)
    return x + min(width, 20) / 2, y + 8


def test_a_term_is_explained_where_the_mouse_is(visit):
    page = visit()
    page.wait_for_selector(LIVE)
    height = page.evaluate("document.documentElement.scrollHeight")
    term = page.locator(TERM).first
    page.mouse.move(*center(page, term))
    shown = card(page)
    assert glossary.term("score").text in shown.inner_text()
    assert term.get_attribute("aria-describedby") == shown.get_attribute("id")
    assert shown.get_attribute("role") == "tooltip"
    # the pointer may go onto the card to read it (WCAG 1.4.13)
    box = shown.bounding_box()
    page.mouse.move(box["x"] + 10, box["y"] + 10, steps=4)
    page.wait_for_timeout(600)
    assert shown.is_visible()
    page.mouse.move(5, 5)
    gone(page)
    assert term.get_attribute("aria-describedby") is None
    assert page.evaluate("document.documentElement.scrollHeight") == height


def test_a_term_is_explained_where_the_focus_is_and_esc_takes_it_away(visit):
    page = visit()
    page.wait_for_selector(LIVE)
    term = page.locator(TERM).first
    term.evaluate("""each => { const links = [...document.querySelectorAll('a, [tabindex="0"]')];
        links[links.indexOf(each) - 1].focus({preventScroll: true}); }""")
    page.keyboard.press("Tab")
    assert "Score" in card(page).inner_text()
    page.keyboard.press("Escape")
    gone(page)
    assert term.evaluate("each => each === document.activeElement")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert "Score" in card(page).inner_text()
    page.keyboard.press("Tab")
    until(page, f"!{CARD}?.innerText.startsWith('Score')")


def test_a_tap_explains_a_second_one_follows(visit):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = visit(**phone)
    page.wait_for_selector(LIVE)
    term = page.locator(TERM).first
    before = href(page)
    page.touchscreen.tap(*center(page, term))
    shown = card(page)
    assert href(page) == before
    box = shown.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.touchscreen.tap(380, 120)
    gone(page)
    page.touchscreen.tap(*center(page, term))
    card(page)
    page.touchscreen.tap(*center(page, term))
    page.wait_for_url("**/glossary/#score")
    page.locator("#score").wait_for()


def test_a_tap_shows_the_work_that_is_cited_a_second_one_leads_to_the_list(visit):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = visit("articles/how-heads-form/", **phone)
    page.wait_for_selector(LIVE)
    cited = page.locator("a.cite[href$='#ref:xiao2023']:visible").first
    page.touchscreen.tap(*center(page, cited))
    assert "Guangxuan Xiao" in card(page).inner_text()
    assert "#" not in href(page)
    page.touchscreen.tap(*center(page, cited))
    until(page, "location.hash === '#ref:xiao2023'")


def test_without_javascript_a_term_leads_to_the_glossary(visit):
    page = visit(java_script_enabled=False)
    page.locator(TERM).first.click()
    page.wait_for_url("**/glossary/#score")
    said = page.inner_text("article")
    for term in glossary.glossary().values():
        assert term.name in said
        assert term.text in said


def test_a_reference_shows_the_figure_it_leads_to_also_in_another_article(visit):
    scheme = "dark"
    page = visit(color_scheme=scheme)
    page.wait_for_selector(LIVE)
    link = page.locator("a.figure-ref[href$='#fig-9']").first
    page.mouse.move(*center(page, link))
    shown = card(page)
    title = page.inner_text("#fig-9 figcaption strong")
    assert f"Figure 9. {title}" in shown.inner_text()
    picture = shown.locator("img")
    assert f"alignment_vs_magnitude-{scheme}.svg" in picture.get_attribute("src")
    until(page, f"{CARD}.querySelector('img').naturalWidth > 0")
    assert picture.bounding_box()["height"] > 80
    page.keyboard.press("Escape")
    gone(page)
    page.goto(page.url.partition("articles/")[0] + "glossary/")
    page.wait_for_load_state("networkidle")
    link = page.locator("a.figure-ref[href*='reading-a-table']").first
    page.mouse.move(*center(page, link))
    assert "figures/reading-a-table/" in card(page).locator("img").get_attribute("src")
    until(page, f"{CARD}.querySelector('img').naturalWidth > 0")


def test_a_card_has_its_size_before_its_picture_is_there(visit):
    """Figure 4 has a short title: the card would grow with the picture, under the pointer."""
    page = visit()
    page.wait_for_selector(LIVE)
    held = Held(page, "**/attending_to_itself*.svg")
    link = page.locator("a.figure-ref[href$='#fig-4']").first
    page.mouse.move(*center(page, link))
    shown = card(page)
    until(page, f"{CARD}.querySelector('img')")
    before = shown.bounding_box()
    until(page, f"{CARD}.querySelector('img').naturalWidth === 0")
    held.release()
    until(page, f"{CARD}.querySelector('img').naturalWidth > 0")
    assert held.asked
    assert shown.bounding_box() == before


def test_nothing_is_fetched_for_cards_before_a_reader_asks(visit):
    page = visit()
    page.wait_for_load_state("networkidle")
    names = "performance.getEntriesByType('resource').map(each => each.name.split('/').at(-1))"
    for name in ("hover_card.js", "figure_preview.js", "glossary.json"):
        assert name not in page.evaluate(names)
    page.mouse.move(*center(page, page.locator(TERM).first))
    card(page)
    assert {"hover_card.js", "glossary.json"} <= set(page.evaluate(names))


def test_a_finger_gets_no_preview(visit):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    page = visit(**phone)
    page.wait_for_selector(LIVE)
    link = page.locator("a.figure-ref[href$='#fig-1']").first
    page.touchscreen.tap(*center(page, link))
    until(page, "location.hash.startsWith('#fig-1')")
    assert page.evaluate(CARD) is None
