"""The figure that the documentation shows is one file of at most 40 lines, and a page shows it."""

import re
import shutil
import subprocess
import sys

import pytest

from report.site.check import check_site
from tests.commands import ROOT, report
from tests.documents import blocks
from tests.figures import hand_made
from tests.figures.live_page import first_tooltip, go_live, ink
from tests.serving import served
from tests.themed import write_themed
from tests.unpainted import unpainted

(FIGURE,) = blocks("how-to/figures", "python")
MOST_LINES = 40
NAME = "looking_back"


@pytest.fixture(scope="module")
def site(tmp_path_factory, falcon_folder):
    """The built site of an article with that figure, which lies in the publication's `figures/`."""
    project = write_themed(tmp_path_factory.mktemp("figure") / "project", "one", cover=NAME)
    (project / "figures").mkdir()
    (project / "figures" / f"{NAME}.py").write_text(FIGURE)
    read = ("--model", falcon_folder, "--passage", project / "passage.md")
    with unpainted():
        done = report("site", "--project", project, *read)
    assert done.returncode == 0, done.stderr
    return project / "site"


def test_it_is_short():
    assert len(FIGURE.splitlines()) <= MOST_LINES


def test_it_is_found_beside_the_figures_of_the_package(tmp_path):
    """There it is drawn as the publication's own are: only where it is found differs."""
    shutil.copytree(ROOT / "report", tmp_path / "report", ignore=shutil.ignore_patterns("*.pyc"))
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


def test_a_page_shows_it_and_the_check_passes(site, browser):
    assert check_site(site)["figures"] >= 2  # and embedded ones
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    problems = []
    page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else 0)
    page.on("pageerror", lambda error: problems.append(str(error)))
    with served(site) as address:
        page.goto(f"{address}articles/one/")
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
