"""The site as published below a folder of a host: every page whole, and what its head says."""

import functools
import shutil
import subprocess
import threading
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.server import ThreadingHTTPServer
from urllib.parse import urlsplit
from xml.etree import ElementTree as Xml

import pytest
from PIL import Image

from report.pages.filters import markdown_text
from report.pages.provenance import NAME
from report.site.serve import Handler
from tests import violations
from tests.commands import contents, report, with_added
from tests.figures.live_page import go_live
from tests.site.conftest import ARTICLE

pytestmark = pytest.mark.browser

ROOT = "/some/repo/"


class _BelowAFolder(Handler):
    """As a host of project pages: the site below a folder, its own 404 page for the rest."""

    def translate_path(self, path):
        inside = urlsplit(path).path
        if inside.startswith(ROOT):
            return super().translate_path("/" + inside.removeprefix(ROOT))
        return f"{self.directory}/no such file"


@dataclass(frozen=True)
class Again:
    """What a second build of the same articles left as it was, and what it said."""

    stamps: tuple[dict, dict]
    """When the files of datasets were written: before and after."""
    pages: tuple[dict, dict]
    """Contents of `site_src`, without the address of the site."""
    said: str


def stamps(project):
    datasets = (project / "site_src" / "datasets").rglob("*")
    files = (path for path in datasets if path.is_file() and path.name != NAME)  # has the address
    return {path: path.stat().st_mtime_ns for path in files}


def without_address(folder, address):
    """Contents of a folder, the site's address taken out of them."""
    files = contents(folder)
    for written in (address, markdown_text(address)):
        files = {name: content.replace(written.encode(), b"") for name, content in files.items()}
    return files


@pytest.fixture(scope="module")
def published(built, tmp_path_factory):
    """The same pages built for a folder of a host, pushed to a branch of a bare repository, and
    served from a checkout of it: address, folder and `Again`."""
    folder = tmp_path_factory.mktemp("published") / "site"
    bare = folder.parent / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    handler = functools.partial(_BelowAFolder, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        address = f"http://127.0.0.1:{serving.server_port}{ROOT}"
        project = folder.parent / "project"
        shutil.copytree(built.project, project, ignore=shutil.ignore_patterns("site"))
        before = stamps(project)
        done = report("site", "--no-real", "--project", project, SITE_URL=address)
        assert done.returncode == 0, done.stderr
        assert "SITE_URL is not set" not in done.stderr
        places = ((built.project, built.address), (project, address))
        again = Again(
            (before, stamps(project)),
            tuple(without_address(root / "site_src", own) for root, own in places),
            done.stderr,
        )
        done = report("publish", "--project", project, "--remote", bare, SITE_URL=address)
        assert done.returncode == 0, done.stderr
        clone = ["git", "clone", "-q", "-b", "gh-pages", str(bare), str(folder)]
        subprocess.run(clone, check=True)
        shutil.rmtree(folder / ".git")
        assert contents(folder) == with_added(project / "site", {".nojekyll": b""})
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield address, folder, again
        serving.shutdown()


def test_a_second_build_measures_nothing_and_touches_no_dataset(built, published):
    again = published[2]
    assert "measured (" in built.output
    assert "unchanged, not measured again" in again.said
    assert "Corpus" not in again.said
    before, after = again.stamps
    assert before
    assert before == after


def test_two_builds_of_the_same_articles_give_the_same_bytes(published):
    """What the builder makes of them, at one address: see tests/cli/test_one_study.py."""
    before, after = published[2].pages
    assert before.keys() == after.keys()
    assert [name for name in before if before[name] != after[name]] == []


@pytest.fixture
def visit(browser, published):
    """A function that opens an address of the site; nothing asked for may be missing or foreign."""
    root = published[0]
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    missing, foreign, problems = [], [], []
    violations.watch(context, problems)
    context.on("response", lambda answer: answer.status >= 400 and missing.append(answer.url))
    context.on(
        "request",
        lambda asked: asked.url.startswith((root, "data:", "blob:")) or foreign.append(asked.url),
    )

    def visit(path=""):
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.missing = missing
        page.foreign = foreign
        page.goto(root + path)
        return page

    yield visit
    context.close()
    assert (missing, foreign, problems) == ([], [], [])


def test_every_page_is_whole_and_every_link_of_it_leads_somewhere(visit, published):
    root, folder, _ = published
    pages = [path.parent.relative_to(folder).as_posix() for path in folder.rglob("index.html")]
    assert len(pages) >= 8
    page = visit()
    links = set()
    for name in pages:
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
    inside = sorted(link for link in links if link.startswith(root.partition(ROOT)[0]))
    assert len(inside) > 50
    assert [link for link in inside if not link.startswith(root)] == []
    statuses = page.evaluate(
        "links => Promise.all(links.map(async l => (await fetch(l, {method: 'HEAD'})).status))",
        inside,
    )
    assert dict(zip(inside, statuses, strict=True)) == dict.fromkeys(inside, 200)


def test_every_figure_of_the_first_article_comes_to_life(visit):
    page = visit(ARTICLE)
    number = page.locator("figure.live-figure").count()
    assert number == 10
    for n in range(1, number + 1):
        go_live(page, n)


@pytest.mark.parametrize("path", ["nowhere", "articles/no/such/page", "a/b/c/d/e.html"])
def test_the_page_for_unknown_addresses_works_at_any_depth(visit, path):
    page = visit(path)
    assert "Page not found" in page.inner_text("main h1")
    assert page.missing == [page.url]  # itself alone: styles, scripts and pictures were there
    page.missing.clear()
    assert page.evaluate("getComputedStyle(document.querySelector('.md-header')).position") in (
        "sticky",
        "fixed",
    )
    page.locator("main a", has_text="the archive").click()
    page.wait_for_selector(f"main a[href*='{ARTICLE}']")
    assert page.foreign == []


def test_each_page_has_a_description_of_its_own_and_one_canonical_address(visit, published):
    root, folder, _ = published
    listed = Xml.parse(folder / "sitemap.xml").getroot()
    addresses = [each.text for each in listed.findall("{*}url/{*}loc")]
    names = {path.parent.relative_to(folder).as_posix() for path in folder.rglob("index.html")}
    assert {a.removeprefix(root).rstrip("/") or "." for a in addresses} == names
    page, descriptions = visit(), []
    for address in addresses:
        page.goto(address)
        assert page.get_attribute("link[rel=canonical]", "href") == address
        assert page.get_attribute("meta[property='og:url']", "content") == address
        descriptions.append(page.get_attribute("meta[name=description]", "content"))
        assert page.locator("title").count() == page.locator("meta[name=description]").count() == 1
    assert all(descriptions)
    assert len(set(descriptions)) == len(descriptions)


def test_a_shared_article_has_a_card_with_its_figure(visit, published, built):
    root, folder, _ = published
    page = visit(ARTICLE)
    named = {
        name: page.get_attribute(f"meta[property='og:{name}']", "content")
        for name in ("type", "title", "description", "image", "image:alt", "site_name")
    }
    assert named["type"] == "article"
    assert named["title"] == page.inner_text("main h1").removesuffix("¶").strip()
    assert named["description"] == page.get_attribute("meta[name=description]", "content")
    assert named["image"] == f"{root}figures/attention-focus-plots/card.png"
    assert named["image:alt"] == page.get_attribute("#fig-1 img", "alt")
    assert page.get_attribute("meta[name='twitter:card']", "content") == "summary_large_image"
    day = page.get_attribute("meta[property='article:published_time']", "content")
    assert day == page.get_attribute(".byline time", "datetime")
    with Image.open(folder / named["image"].removeprefix(root)) as card:
        assert card.size == (1200, 630)
        assert len(card.getcolors(1 << 20)) > 500  # the map's shades, not text on white
    page.goto(f"{root}archive/")
    assert page.get_attribute("meta[property='og:image']", "content") == f"{root}assets/card.png"
    assert (folder / "assets" / "card.png").is_file()


def test_the_feed_is_found_from_any_page_and_lists_the_articles(visit, published):
    root, folder, _ = published
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
