"""Pages of single figures in the built site: those to embed are in no list of pages, those of the
gallery lead to the articles that have the figure."""

import gzip
import json

import pytest

pytestmark = pytest.mark.browser


def test_every_figure_has_a_page_alone_that_no_list_names(built):
    folder = built.folder / "embed"
    articles = {path.parent.name for path in built.folder.glob("articles/*/index.html")}
    assert {path.name for path in folder.iterdir()} == articles
    for name in articles:
        article = (built.folder / "articles" / name / "index.html").read_text("utf-8")
        alone = {path.stem for path in (folder / name).glob("*.html")}
        assert alone == {part.split('"')[0] for part in article.split('data-figure="')[1:]}
    assert f"{built.address}embed/" not in (built.folder / "sitemap.xml").read_text("utf-8")
    index = json.loads((built.folder / "search" / "search_index.json").read_text("utf-8"))
    assert not any(page["location"].startswith("embed/") for page in index["docs"])


def test_a_figure_of_the_site_is_live_alone(visit):
    page = visit("embed/attention-focus-plots/attention_map.html#fig-1:layer=1,head=2")
    page.wait_for_selector("#fig-1.live-figure--live")
    assert page.input_value("#fig-1 [name=head]") == "2"
    with page.expect_popup() as popup:
        page.click(".embed__source a")
    popup.value.wait_for_selector("#fig-1.live-figure--live")
    assert popup.value.url.endswith("articles/attention-focus-plots/#fig-1:layer=1,head=2")


def test_a_figure_of_the_gallery_is_live_and_leads_to_its_article(visit):
    page = visit("docs/gallery/attention_map/#fig-1:layer=1,head=2")
    page.wait_for_selector("#fig-1.live-figure--live")
    assert page.input_value("#fig-1 [name=head]") == "2"
    page.locator("main").get_by_role("link", name="Figure 1 of Attention Focus Plots").click()
    page.wait_for_url("**/articles/attention-focus-plots/#fig-1")


def test_pages_of_the_gallery_are_as_light_as_articles(built):
    def heaviest(pattern):
        return max(len(gzip.compress(path.read_bytes(), 6)) for path in built.folder.glob(pattern))

    assert heaviest("docs/gallery/**/index.html") <= heaviest("articles/*/index.html")
