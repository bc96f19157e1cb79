"""A site whose address is not known claims none, also where it was built for one before."""

import re

import pytest

from tests.cli.saying import assert_matches

pytestmark = pytest.mark.usefixtures("no_pictures")

CLAIMS = re.compile(r"canonical|og:image|og:url|rss")


def test_without_an_address_nothing_claims_one(run, two_articles, monkeypatch):
    site, options = two_articles.folder / "site", two_articles.options
    monkeypatch.setenv("SITE_URL", "https://plots.example.org/")
    assert run("site", *options).code == 0
    assert (site / "feed.xml").exists()
    assert CLAIMS.search((site / "index.html").read_text("utf-8"))

    monkeypatch.setenv("SITE_URL", "")
    done = run("site", *options)
    assert done.code == 0
    assert_matches("SITE_URL is not set: the site has no feed", done.said)
    assert not (site / "feed.xml").exists()
    for page in ("index.html", "articles/one/index.html"):
        text = (site / page).read_text("utf-8")
        assert not CLAIMS.search(text), page
        assert "og:title" in text
    assert run("check", site).code == 0
