"""The figure that README.md shows is one file of at most 40 lines, and a page shows it."""

import os
import shutil
import subprocess
import sys

import pytest

from report.site.check import check_site
from tests.commands import ROOT, copy_project
from tests.figures.live_page import first_tooltip, go_live, ink
from tests.readme import block
from tests.serving import served
from tests.small import ARTICLE, SENTENCE

FIGURE = block("Add a figure", "python")
MOST_LINES = 40


@pytest.fixture(scope="module", params=["package", "publication"])
def site(request, tmp_path_factory, falcon_folder):
    """The built site of an article with that figure, lying where the README says it may lie."""
    folder = tmp_path_factory.mktemp("figure")
    project = copy_project(folder / "project", articles=False)
    articles = project / "templates" / "articles"
    articles.mkdir(parents=True)
    text = ARTICLE.format(cover="looking_back") + '\n{{ figure("attending_to_itself") }}\n'
    (articles / "small.md.j2").write_text(text)
    (project / "passage.md").write_text(SENTENCE)
    options = ("--project", project, "--model", falcon_folder, "--passage", project / "passage.md")
    home = ROOT
    if request.param == "package":
        home = folder / "clone"
        shutil.copytree(ROOT / "report", home / "report", ignore=shutil.ignore_patterns("*.pyc"))
        shutil.copytree(ROOT / "templates", home / "templates")
        (home / "report" / "figures" / "looking_back.py").write_text(FIGURE)
    else:
        (project / "figures").mkdir()
        (project / "figures" / "looking_back.py").write_text(FIGURE)
    done = subprocess.run(
        [sys.executable, "-m", "report", "site", *map(str, options)],
        env=os.environ | {"PYTHONPATH": str(home), "NO_COLOR": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return project / "site"


def test_it_is_short():
    assert len(FIGURE.splitlines()) <= MOST_LINES


def test_a_page_shows_it_and_the_check_passes(site, browser):
    assert check_site(site)["figures"] >= 2  # and embedded ones
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    problems = []
    page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else 0)
    page.on("pageerror", lambda error: problems.append(str(error)))
    with served(site) as address:
        page.goto(f"{address}articles/small/")
        go_live(page, 1)
        assert ink(page, 1)[0] > 1000
        shown = first_tooltip(page, 1)
        assert shown.keys() == {"layer", "head", "distance"}
        caption = page.locator("#fig-1 figcaption").inner_text()
        assert "How far heads look." in caption
        assert "How far back each head looks: the mean distance to its targets" in caption
        assert "looks farthest" in caption
    context.close()
    assert problems == []
