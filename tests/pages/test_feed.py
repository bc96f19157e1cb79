"""The feed: RSS 2.0 that a strict reader of XML takes, with whole links, and any text as text."""

from datetime import date
from email.utils import parsedate_to_datetime
from types import SimpleNamespace
from xml.etree import ElementTree as Xml

import pytest

from report.pages.feed import NAMESPACES, feed, write_feed
from report.pages.page import Site

SITE = Site("Heads & tails", "About <heads>", "https://you.github.io/repo/")
HOSTILE = "</title><script>alert(1)</script> & ]]> {{ 7*7 }} \0 \ud800 \uffff \u2028 \u202e"


def page(name="one", title="One", day=1, tags=()):
    return SimpleNamespace(
        name=name,
        title=title,
        date=date(2026, 11, day),
        author="Ann",
        summary="What it is about.",
        tags=list(tags),
    )


def parsed(pages):
    text = feed(pages, SITE)
    return text, Xml.fromstring(text.encode()).find("channel")


def test_says_what_the_site_is_and_where_it_is_itself():
    _, channel = parsed([page()])
    said = {tag: channel.findtext(tag) for tag in ("title", "link", "description", "language")}
    assert said == {
        "title": "Heads & tails",
        "link": "https://you.github.io/repo/",
        "description": "About <heads>",
        "language": "en",
    }
    own = channel.find(f"{{{NAMESPACES['atom']}}}link").attrib
    assert own["href"] == "https://you.github.io/repo/feed.xml"
    assert (own["rel"], own["type"]) == ("self", "application/rss+xml")


def test_has_an_item_an_article_newest_first_with_its_own_address():
    pages = [page("two", "Two", 9, ["heads", "tables"]), page("one", "One", 2)]
    _, channel = parsed(pages)
    items = channel.findall("item")
    assert [item.findtext("title") for item in items] == ["Two", "One"]
    for item, name in zip(items, ("two", "one"), strict=True):
        link = f"https://you.github.io/repo/articles/{name}/"
        assert item.findtext("link") == item.findtext("guid") == link
        assert item.findtext("description") == "What it is about."
        assert item.findtext(f"{{{NAMESPACES['dc']}}}creator") == "Ann"
    assert [c.text for c in items[0].findall("category")] == ["heads", "tables"]
    assert parsedate_to_datetime(items[0].findtext("pubDate")).date() == date(2026, 11, 9)
    assert channel.findtext("lastBuildDate") == items[0].findtext("pubDate")
    assert parsed([])[1].findall("item") == []


@pytest.mark.parametrize("where", ["title", "author", "summary", "tags"])
def test_any_text_stays_text(where):
    hostile = page(tags=["heads"])
    setattr(hostile, where, [HOSTILE] if where == "tags" else HOSTILE)
    text, channel = parsed([hostile])
    assert "<script" not in text
    tag = {
        "title": "title",
        "author": f"{{{NAMESPACES['dc']}}}creator",
        "summary": "description",
        "tags": "category",
    }[where]
    shown = channel.find("item").findtext(tag)
    assert shown == HOSTILE.replace("\0", "�").replace("\ud800", "�").replace("\uffff", "�")


def test_is_written_only_where_the_address_is_known(tmp_path):
    write_feed([page()], SITE, tmp_path)
    first = (tmp_path / "feed.xml").read_bytes()
    write_feed([page()], SITE, tmp_path)
    assert (tmp_path / "feed.xml").read_bytes() == first
    write_feed([page()], Site("Name", "", ""), tmp_path)
    assert not (tmp_path / "feed.xml").exists()
