"""The same pages built by Zensical instead of MkDocs: what readers get is the same."""

import html
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from report.pages import assets
from report.site.build import build
from tests import tabs
from tests.commands import contents, report
from tests.serving import BELOW, ProjectPages, served
from tests.site.conftest import ARTICLE
from tests.site.reader import travel

pytestmark = pytest.mark.browser

OWN = (
    "articles/",
    "datasets/",
    "embed/",
    "figures/",
    "images/",
    "schemas/",
    "feed.xml",
    "assets/card.png",
)
"""What this project wrote itself: the same bytes whoever builds the site."""

FOLDERS = sorted({name.split("/")[0] for name in assets.sources() if "/" in name})
"""Of `assets/`, beside those of the theme."""

SCRIPTS = re.compile(rf"assets/((?:{'|'.join(FOLDERS)})/\w+|vega(?:\.LICENSE)?)\.(js|css|txt)")


class _Article(HTMLParser):
    """What the main part of a page consists of: anchors, links, figures, pictures and text."""

    def __init__(self):
        super().__init__()
        self.inside = 0
        self.found = {"anchors": [], "figures": [], "pictures": [], "links": []}
        self.words = []
        self._skipped = False

    def handle_starttag(self, tag, attributes):
        at = dict(attributes)
        if tag == "article" and "md-content__inner" in (at.get("class") or ""):
            self.inside = 1
        elif tag == "article" and self.inside:
            self.inside += 1
        if "md-tags" in (at.get("class") or ""):
            self.inside = 0  # Zensical lists an article's tags at its end, MkDocs only above
        if not self.inside:
            return
        if at.get("id") and at["id"] != "__skip":
            self.found["anchors"].append(at["id"])
        for name in ("data-figure", "data-spec", "data-datasets"):
            if name in at:
                self.found["figures"].append((name, at[name]))
        if tag == "img":
            self.found["pictures"].append((at["src"], at.get("alt")))
        if tag == "a" and "href" in at:
            self.found["links"].append(at["href"].replace("/./", "/"))
        self._skipped = "headerlink" in (at.get("class") or "") or tag == "script"

    def handle_endtag(self, tag):
        self._skipped = False
        if tag == "article" and self.inside:
            self.inside -= 1

    def handle_data(self, data):
        if self.inside and not self._skipped:
            self.words += data.split()


@pytest.fixture(scope="module")
def zensical(built, tmp_path_factory):
    """The folder of the site that Zensical makes of the same pages, and where it is served.

    The pages are drawn once, for the address of MkDocs' site, which is replaced here: the command
    with this builder is run in tests/cli/test_one_study.py.
    """
    project = tmp_path_factory.mktemp("zensical") / "project"
    shutil.copytree(built.project, project, ignore=shutil.ignore_patterns("site"))
    with served(project / "site-zensical", ProjectPages) as host:
        address = host + BELOW
        for path in filter(Path.is_file, (project / "site_src").rglob("*")):
            content = path.read_bytes()
            if (old := built.address.encode()) in content:
                path.write_bytes(content.replace(old, address.encode()))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SITE_URL", address)
            build(project / "mkdocs.yml", project / "site-zensical", builder="zensical")
        yield project / "site-zensical", address


@pytest.fixture
def visit(browser, zensical, shared_tabs):
    """A function that opens an address of Zensical's site, see `tabs.visits`."""
    with tabs.visits(browser, zensical[1], shared_tabs) as visit:
        yield visit


def pages(folder):
    """Paths of the pages that the builder made; those to embed are this project's own."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))
    return sorted(name for name in found if not name.startswith("embed/"))


def parsed(path):
    page = _Article()
    page.feed(path.read_text("utf-8"))
    return page


def test_the_pages_have_the_same_addresses(built, zensical):
    assert pages(zensical[0]) == pages(built.folder)


def test_datasets_figures_scripts_and_feed_are_the_same_files(built, zensical):
    """The feed but for the address, as the sites are at different ones."""
    ours, theirs = contents(built.folder), contents(zensical[0])
    made = {*pages(built.folder)}
    own = {n for n in ours if n.startswith(OWN) or SCRIPTS.fullmatch(n)} - made
    assert len(own) > 100
    assert {n for n in theirs if n.startswith(OWN)} - made <= own
    for name in own:
        found = theirs.get(name, b"")
        assert found.replace(zensical[1].encode(), built.address.encode()) == ours[name], name


def test_every_page_has_the_same_anchors_figures_pictures_links_and_words(built, zensical):
    for name in pages(built.folder):
        ours, theirs = parsed(built.folder / name), parsed(zensical[0] / name)
        assert ours.words, name
        for kind in ours.found:
            assert theirs.found[kind] == ours.found[kind], f"{name}: {kind}"
        # how to cite an article names its address
        words = [word.replace(zensical[1], built.address) for word in theirs.words]
        assert words == ours.words, name


def test_heads_of_pages_say_the_same(built, zensical):
    def head(path, address):
        text = (
            path.read_text("utf-8")
            .replace("&#x2f;", "/")
            .replace(address, "SITE/")
            .replace('"./', '"')
        )
        tags = r'<title>.*|<meta (?:name="desc|property).*|<link rel="(?:can|alt).*'
        return [html.unescape(tag) for tag in re.findall(tags, text)]

    for name in pages(built.folder):
        ours = head(built.folder / name, built.address)
        assert len(ours) >= 5
        assert head(zensical[0] / name, zensical[1]) == ours, name


def test_site_maps_list_the_same_pages_with_the_same_dates(built, zensical):
    def listed(folder, address):
        found = Xml.parse(folder / "sitemap.xml").getroot().findall("{*}url")
        return sorted(
            (u.findtext("{*}loc").removeprefix(address), u.findtext("{*}lastmod") or "")
            for u in found
        )

    ours = listed(built.folder, built.address)
    assert listed(*zensical) == ours
    assert [day for name, day in ours if name == ARTICLE] != [""]


def test_the_check_finds_nothing_wrong(zensical):
    done = report("check", zensical[0])
    assert done.returncode == 0, done.stderr


@pytest.mark.promise("under-the-policy")
def test_everything_that_readers_do_works_under_its_policy(visit):
    page = visit()

    def search(word):
        page.locator("header .md-search__button").click()
        page.keyboard.type(word)
        # of results alone: the page itself has no such link in a numbered list
        page.locator("ol a[href$='glossary/#softmax']").first.wait_for(timeout=60_000)

    travel(page, search)


def test_the_page_for_unknown_addresses_leads_on(visit):
    page = visit("no/such/page")
    assert "Page not found" in page.inner_text("main h1")
    page.locator("main a", has_text="the archive").click()
    page.wait_for_selector(f"main a[href*='{ARTICLE}']")
    assert len(page.problems) == 1  # itself alone: styles, scripts and pictures were there
    assert "404" in page.problems.pop()
