"""Search finds articles and terms, and nothing that no one wrote to be found."""

import json
import re

import pytest

from tests.figures.live_page import until
from tests.site.conftest import ARTICLE


@pytest.fixture(scope="module")
def found(built):
    """dict of address to the section of the search index."""
    index = json.loads((built.folder / "search" / "search_index.json").read_text("utf-8"))
    return {entry["location"]: entry for entry in index["docs"]}


def test_terms_of_the_glossary_have_entries_of_their_own(found):
    assert "distance" in found["glossary/#alibi"]["text"]
    assert found["glossary/#alibi"]["title"] == "ALiBi"


def test_footnotes_are_found_as_notes(found):
    notes = found["articles/attention-focus-plots/#notes"]
    assert notes["title"] == "Notes"
    note = "Heads of the same number in two layers have nothing in common."
    assert note in notes["text"]
    copies = [at for at, each in found.items() if note in each["text"] and "docs/" not in at]
    assert copies == ["articles/attention-focus-plots/#notes"]  # not those in the margin


def test_works_that_are_cited_are_found_in_the_list_of_them(found):
    works = found["articles/attention-focus-plots/#references"]
    assert works["title"] == "References"
    assert "Elhage" in works["text"]
    assert "Elhage" not in found["articles/attention-focus-plots/#cite-this"]["text"]


def test_no_token_soup_controls_or_links_of_figures_are_indexed(found, built):
    whole = " ".join(each["text"] for each in found.values())
    assert "somebody lit the lamp" not in whole  # the passage, token by token
    assert "As it opens" in whole  # what is to be seen in figures
    controls = ("Measured onthis passage", "Data of panel", "Same layer and head in Figures")
    for text in (*controls, "w/o Meaningless tokensw/", "min read", "How to read it"):
        assert text not in whole
    assert not re.search("More[A-Z]", whole)  # what opens a fold, glued to the sentence in it
    page = (built.folder / ARTICLE / "index.html").read_text("utf-8")
    assert "Same layer and head in Figures" in page  # it is on the page all the same


def test_lists_of_articles_do_not_stand_before_the_articles(found):
    for page in ("", "archive/", "tags/"):
        assert not [at for at in found if at == page or at.startswith(f"{page}#")]


@pytest.mark.browser
def test_the_search_box_leads_to_the_article_that_one_means(visit):
    page = visit("about/")
    page.wait_for_load_state("networkidle")
    for asked, expected in (("weather", "reading-a-table"), ("ALiBi", "glossary/#alibi")):
        box = page.locator("[data-md-component=search-query]")
        box.click()
        box.fill("")
        box.press_sequentially(asked)  # it listens to keys
        wanted = page.locator(f".md-search-result__item a[href*='{expected}']").first
        wanted.wait_for(timeout=60_000)  # the index is made in the browser
        page.keyboard.press("Escape")


@pytest.mark.browser
def test_terms_of_several_words_lead_to_their_meaning_first(visit):
    page = visit("about/")  # the index is made once: it takes a second
    page.wait_for_load_state("networkidle")
    box = page.locator("[data-md-component=search-query]")
    for term in ("Induction head", "Attention sink", "Previous-token head"):
        box.click()
        # it listens to keys; typed as a whole, "previous-" is on the way, which its parser
        # complains of
        box.fill(term.lower()[:-1])
        box.press_sequentially(term.lower()[-1])
        anchor = re.sub("[ -]", "-", term.lower())
        first = f".md-search-result__item:first-child a[href*='glossary/'][href$='#{anchor}']"
        page.locator(first).first.wait_for(timeout=60_000)


RESULTS = """() => [...document.querySelectorAll(".md-search-result__item")].map((item) => ({
  missing: !!item.querySelector(".md-search-result__terms"),
}))"""


def asked(page, words):
    """What search finds: a list of dict, "missing": whether it says that a word is missing."""
    box = page.locator("[data-md-component=search-query]")
    box.click()
    # the theme hears of the focus by a timer of 1 ms; one that is set after it ends after it
    box.evaluate("() => new Promise(done => setTimeout(done, 1))")
    box.fill(words[:-1])
    meta = "document.querySelector('.md-search-result__meta')"
    page.evaluate(f"{meta}.textContent = ''")
    box.press_sequentially(words[-1])  # it listens to keys, so this is what it is asked
    until(page, rf"/\d|No matching/.test({meta}.innerText)")
    return page.evaluate(RESULTS)


@pytest.mark.browser
def test_pages_must_have_all_the_words_unless_none_has(visit):
    page = visit("about/")
    page.wait_for_load_state("networkidle")
    for words in ("induction head", "residual stream", "attention head weather", "softmax sco"):
        found = asked(page, words)
        assert found
        assert not [each for each in found if each["missing"]]
    for words in ("induction zebra", "induction -zebra"):
        assert asked(page, words)
    assert not asked(page, "zebra")
    assert asked(page, "key-")  # as it is typed
