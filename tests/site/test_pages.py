"""Ways through the site: instant navigation, search, an address that is none."""

import json

import pytest

from tests.figures.live_page import go_live, ink, until
from tests.site.conftest import ARTICLE

pytestmark = pytest.mark.browser


def test_figures_work_after_going_back_and_forth_without_a_reload(visit):
    page = visit("")
    page.evaluate("window.stayed = true")
    page.locator(".card h2").get_by_role("link", name="Attention Focus Plots").click()
    page.wait_for_url(f"**/{ARTICLE}")
    go_live(page, 1)
    page.go_back()
    page.wait_for_selector(".cards")
    assert page.locator("figure.live-figure").count() == 0
    page.go_forward()
    page.wait_for_selector("#fig-1")
    go_live(page, 1)
    assert page.locator("#fig-1 canvas").count() == 1
    before = ink(page, 1)
    slider = page.locator("#fig-1 input[name=head]")
    slider.focus()
    page.keyboard.press("ArrowRight" if slider.input_value() == "0" else "Home")
    until(page, "location.hash.startsWith('#fig-1:')")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(100)
    assert ink(page, 1) != before
    assert page.evaluate("window.stayed") is True


def test_no_link_is_read_as_its_html(built):
    for path in (built.project / "site_src").rglob("*.md"):
        assert "&lt;a class" not in path.read_text("utf-8"), path


def test_the_home_page_shows_a_figure_of_every_article_and_leads_to_them(visit, built):
    page = visit("")
    articles = [path.name for path in (built.project / "site_src" / "articles").iterdir()]
    assert page.locator(".card").count() == len(articles) >= 2
    for name in articles:
        card = page.locator(f".card:has(a[href*='{name}'])")
        card.scroll_into_view_if_needed()
        pictures = [each for each in card.locator("img").all() if each.is_visible()]
        assert len(pictures) == 1
        assert pictures[0].evaluate("async img => (await img.decode(), img.naturalWidth)") > 300
    page.locator(f".card:has(a[href*='{ARTICLE}']) .card__picture").click()
    page.wait_for_selector("#fig-1")


def test_search_finds_a_word_of_the_article(visit, built):
    index = json.loads((built.folder / "search" / "search_index.json").read_text("utf-8"))
    found = [d["location"] for d in index["docs"] if "softmax" in d["text"].lower()]
    assert any(location.startswith(ARTICLE) for location in found)
    page = visit("about/")
    page.keyboard.press("/")
    page.locator(".md-search__input").press_sequentially("softmax")
    page.wait_for_selector(f".md-search-result__link[href*='{ARTICLE}']")
    page.locator(f".md-search-result__link[href*='{ARTICLE}']").first.click()
    page.wait_for_selector("#fig-1")


def test_an_address_that_is_none_gets_the_page_that_says_so(visit):
    page = visit("about/")
    answer = page.goto(page.url + "no/such/page")
    assert answer.status == 404
    assert "404" in page.inner_text("main")
    page.problems.clear()  # the browser reports the 404, as it should
    page.get_by_role("link", name="Archive").first.click()
    page.wait_for_selector(f"main a[href*='{ARTICLE}']")
