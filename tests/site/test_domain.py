"""The site under a domain of its own: at the root of a host, published with its CNAME, and opened
in a browser by that name. Its articles show the figure of the documentation, which is one file of
at most 40 lines in the publication's `figures/`."""

import re
import shutil
import subprocess
import sys
from urllib.parse import unquote, urlsplit

import pytest

from tests import commands
from tests.commands import contents, report, with_added
from tests.documents import blocks
from tests.figures import hand_made
from tests.figures.live_page import first_tooltip, go_live, ink
from tests.themed import write_themed
from tests.unpainted import unpainted

pytestmark = pytest.mark.browser

DOMAIN = "plots.example.org"
ROOT = f"https://{DOMAIN}/"
ARTICLE = "articles/one/"
(FIGURE,) = blocks("how-to/figures", "python")
NAME = "looking_back"


@pytest.fixture(scope="module")
def published(falcon_folder, tmp_path_factory):
    """A small site built for the domain, pushed to a bare repository, and checked out of it."""
    folder = tmp_path_factory.mktemp("domain") / "site"
    bare, project = folder.parent / "remote.git", folder.parent / "project"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    write_themed(project, "one", "two", cover=NAME)
    (project / "figures").mkdir()
    (project / "figures" / f"{NAME}.py").write_text(FIGURE)
    read = ("--model", falcon_folder, "--passage", project / "passage.md", "--layers", "0-0")
    with unpainted():
        done = report("site", "--project", project, *read, SITE_URL=ROOT)
    assert done.returncode == 0, done.stderr
    options = ("--project", project, "--remote", bare, "--domain", DOMAIN)
    done = report("publish", *options, SITE_URL=ROOT)
    assert done.returncode == 0, done.stderr
    clone = ["git", "clone", "-q", "-b", "gh-pages", str(bare), str(folder)]
    subprocess.run(clone, check=True)
    shutil.rmtree(folder / ".git")
    return folder


@pytest.fixture
def visit(browser, published):
    """A function that opens an address of the domain, which is answered from the checkout; nothing
    asked for may be missing, or lie on another host."""
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    missing, foreign, problems = [], [], []

    def answer(route):
        asked = urlsplit(route.request.url)
        if asked.netloc != DOMAIN:
            foreign.append(route.request.url)
            return route.abort()
        path = published / unquote(asked.path).lstrip("/")
        path = path / "index.html" if asked.path.endswith("/") else path
        if path.is_file():
            return route.fulfill(path=path)
        missing.append(route.request.url)
        page = (published / "404.html").read_text("utf-8")
        return route.fulfill(status=404, body=page, content_type="text/html; charset=utf-8")

    context.route("**/*", answer)

    def visit(path=""):
        page = context.new_page()
        page.missing = missing
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(ROOT + path)
        return page

    yield visit
    context.close()
    assert (missing, foreign, problems) == ([], [], [])


def test_the_branch_has_the_site_and_the_name_of_the_domain(published):
    assert (published / "CNAME").read_text() == f"{DOMAIN}\n"
    project = published.parent / "project"
    more = {".nojekyll": b"", "CNAME": f"{DOMAIN}\n".encode()}
    assert contents(published) == with_added(project / "site", more)
    assert report("check", published).returncode == 0


def test_pages_at_the_root_of_a_domain_say_so_and_lead_to_each_other(visit, published):
    page = visit()
    assert page.get_attribute("link[rel=canonical]", "href") == ROOT
    assert page.get_attribute("meta[property='og:image']", "content").startswith(ROOT)
    links = page.evaluate("[...document.links].map(a => a.href.split('#')[0])")
    inside = sorted({link for link in links if link.startswith(ROOT)})
    assert len(inside) > 5
    statuses = page.evaluate(
        "links => Promise.all(links.map(async l => (await fetch(l)).status))", inside
    )
    assert statuses == [200] * len(inside)
    page.locator(f"main a[href*='{ARTICLE}']").first.click()
    page.wait_for_url(f"{ROOT}{ARTICLE}")
    page.wait_for_selector("#fig-1 img", state="attached")
    feed = (published / "feed.xml").read_text("utf-8")
    assert f"<link>{ROOT}{ARTICLE}</link>" in feed
    assert f"<loc>{ROOT}{ARTICLE}</loc>" in (published / "sitemap.xml").read_text("utf-8")


def test_figures_come_to_life_at_the_root_of_a_domain(visit):
    page = visit(ARTICLE)
    for number in (1, 2):
        go_live(page, number)
    assert ink(page, 1)[0] > 1000
    assert first_tooltip(page, 1).keys() == {"layer", "head", "distance"}
    caption = page.locator("#fig-1 figcaption").inner_text()
    for said in ("How far heads look.", "the mean distance to its targets", "looks farthest"):
        assert said in caption


def test_the_page_for_unknown_addresses_finds_its_styles_at_the_root_of_a_domain(visit):
    page = visit("a/b/c")
    assert "Page not found" in page.inner_text("main h1")
    assert page.missing == [page.url]
    page.missing.clear()
    page.locator("main a", has_text="the archive").click()
    page.wait_for_selector(f"main a[href*='{ARTICLE}']")


def test_a_figure_is_found_beside_the_figures_of_the_package(tmp_path):
    """There it is drawn as the publication's own are: only where it is found differs."""
    shutil.copytree(
        commands.ROOT / "report", tmp_path / "report", ignore=shutil.ignore_patterns("*.pyc")
    )
    (tmp_path / "report" / "figures" / f"{NAME}.py").write_text(FIGURE)
    hand_made.study(tmp_path / "study")
    asked = f"""
from pathlib import Path
from report.kinds.passage.data import PassageData
from report.figures.build.find import figure_named
figure, data = figure_named({NAME!r}), PassageData(Path("study"))
print(figure.title(data), len(figure.rows(data)["rows"]), figure.chart(data).to_dict()["usermeta"])
"""
    done = subprocess.run(
        [sys.executable, "-c", asked], cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    title, count, told = re.fullmatch(r"(.*?) (\d+) (.*)\n", done.stdout).groups()
    assert title == "How far heads look"
    assert int(count) > 0
    assert NAME in told
    assert len(FIGURE.splitlines()) <= 40
