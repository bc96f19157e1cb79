"""The site below a folder of a host, as it is published: every page whole, and what its head says.

That what is pushed is what was built: see test_domain.py.
"""

from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from xml.etree import ElementTree as Xml

import pytest
from PIL import Image

from tests.serving import BELOW
from tests.site.conftest import ARTICLE
from tests.site.test_accessible import DOCS

pytestmark = pytest.mark.browser


def test_every_page_is_whole_and_every_link_of_it_leads_somewhere(visit, built):
    root, folder = built.address, built.folder
    pages = [path.parent.relative_to(folder).as_posix() for path in folder.rglob("index.html")]
    assert len(pages) >= 8
    alike = {name for name in pages if name.startswith("docs/")} - {name[:-1] for name in DOCS}
    page = visit("")
    links = set()
    for name in sorted({*pages} - alike):  # the command that checks a site reads them all
        page.goto(root if name == "." else f"{root}{name}/")
        page.wait_for_load_state("load")
        broken = page.evaluate(
            """async () => {
              const shown = [...document.images].filter(i => i.offsetParent);
              for (const i of shown) i.loading = 'eager';
              await Promise.all(shown.map(i => i.decode().catch(() => 0)));
              return shown.filter(i => !i.naturalWidth).map(i => i.src);
            }"""
        )
        assert broken == [], name
        links |= set(page.evaluate("[...document.links].map(a => a.href.split('#')[0])"))
    inside = sorted(link for link in links if link.startswith(root.removesuffix(BELOW)))
    assert len(inside) > 50
    assert [link for link in inside if not link.startswith(root)] == []
    statuses = page.evaluate(
        "links => Promise.all(links.map(async l => (await fetch(l, {method: 'HEAD'})).status))",
        inside,
    )
    assert dict(zip(inside, statuses, strict=True)) == dict.fromkeys(inside, 200)


@pytest.mark.parametrize("path", ["nowhere", "articles/no/such/page", "a/b/c/d/e.html"])
def test_the_page_for_unknown_addresses_works_at_any_depth(visit, path):
    page = visit(path)
    assert "Page not found" in page.inner_text("main h1")
    page.wait_for_load_state("networkidle")
    assert len(page.problems) == 1  # itself alone: styles, scripts and pictures were there
    assert "404" in page.problems.pop()
    assert page.evaluate("getComputedStyle(document.querySelector('.md-header')).position") in (
        "sticky",
        "fixed",
    )
    page.locator("main a", has_text="the archive").click()
    page.wait_for_selector(f"main a[href*='{ARTICLE}']")


class Head(HTMLParser):
    """What a page says of itself: pairs of a name and a text, in order."""

    def __init__(self, text):
        super().__init__()
        self.said, self._in_title = [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        at = dict(attributes)
        self._in_title = tag == "title"
        if tag == "meta" and (name := at.get("name") or at.get("property")):
            self.said.append((name, at.get("content")))
        if tag == "link" and at.get("rel") == "canonical":
            self.said.append(("canonical", at["href"]))

    def handle_data(self, data):
        if self._in_title:
            self.said.append(("title", data))
        self._in_title = False

    def all_of(self, name):
        return [text for each, text in self.said if each == name]


def test_each_page_has_a_description_of_its_own_and_one_canonical_address(built):
    """Read from the files: what is in the head is there before any script runs."""
    root, folder = built.address, built.folder
    listed = Xml.parse(folder / "sitemap.xml").getroot()
    addresses = [each.text for each in listed.findall("{*}url/{*}loc")]
    names = {path.parent.relative_to(folder).as_posix() for path in folder.rglob("index.html")}
    assert {a.removeprefix(root).rstrip("/") or "." for a in addresses} == names
    descriptions = []
    for address in addresses:
        page = folder / address.removeprefix(root) / "index.html"
        head = Head(page.read_text("utf-8").partition("</head>")[0])
        assert head.all_of("canonical") == head.all_of("og:url") == [address]
        assert len(head.all_of("title")) == 1
        [description] = head.all_of("description")
        descriptions.append(description)
    assert all(descriptions)
    assert len(set(descriptions)) == len(descriptions)


COVER = "[data-figure=attending_to_first_token] img"
"""The still picture of the figure that stands for the article."""


def test_a_shared_article_has_a_card_with_its_figure(visit, built):
    root, folder = built.address, built.folder
    page = visit(ARTICLE)
    named = {
        name: page.get_attribute(f"meta[property='og:{name}']", "content")
        for name in ("type", "title", "description", "image", "image:alt", "site_name")
    }
    assert named["type"] == "article"
    assert named["title"] == page.inner_text("main h1").removesuffix("¶").strip()
    assert named["description"] == page.get_attribute("meta[name=description]", "content")
    assert named["image"] == f"{root}figures/attention-focus-plots/card.png"
    assert named["image:alt"] == page.get_attribute(COVER, "alt")
    assert page.get_attribute("meta[name='twitter:card']", "content") == "summary_large_image"
    day = page.get_attribute("meta[property='article:published_time']", "content")
    assert day == page.get_attribute(".byline time", "datetime")
    with Image.open(folder / named["image"].removeprefix(root)) as card:
        assert card.size == (1200, 630)
        assert len(card.getcolors(1 << 20)) > 500  # the figure's lines, not text on white
    page.goto(f"{root}archive/")
    assert page.get_attribute("meta[property='og:image']", "content") == f"{root}assets/card.png"
    assert (folder / "assets" / "card.png").is_file()


def test_the_feed_is_found_from_any_page_and_lists_the_articles(visit, built):
    root, folder = built.address, built.folder
    page = visit("about/")
    address = page.evaluate("document.querySelector('link[type=\"application/rss+xml\"]').href")
    assert address == f"{root}feed.xml"
    channel = Xml.parse(folder / "feed.xml").getroot().find("channel")
    found = {item.findtext("link"): item for item in channel.findall("item")}
    pages = sorted((folder / "articles").glob("*/index.html"))
    assert {f"{root}articles/{path.parent.name}/" for path in pages} == found.keys()
    for address, item in found.items():
        page.goto(address)
        heading = page.inner_text("main h1").removesuffix("¶").strip()
        assert item.findtext("title") == heading
        day = page.get_attribute(".byline time", "datetime")
        assert parsedate_to_datetime(item.findtext("pubDate")).date().isoformat() == day
    page.goto(f"{root}archive/")
    assert page.locator("main a[href$='feed.xml']").count() == 1
