"""What opening an article fetches, and what only a reader who goes on does."""

import gzip
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.figures.live_page import until
from tests.held import Held
from tests.site.conftest import ARTICLE

pytestmark = [pytest.mark.browser, pytest.mark.first_visit]

LIMIT = 90_000
"""Bytes, compressed as static hosts do, without the figure that the first window shows."""

FIGURE = 420_000
"""The same with it: its scripts, its chart and its data."""

WINDOW = {"width": 1280, "height": 800}

LOW = {"width": 1280, "height": 400}
"""Shows so little of the first figure that it waits for an act of the reader."""


@pytest.fixture
def opened_in(visit, built):
    """A function from a window to the article, opened in it and left alone, and to a function that
    gives the paths of all requests so far."""

    def opened(window):
        asked = []
        page = visit("about/", viewport=window)
        page.context.on("request", lambda request: asked.append(request.url))
        page.goto(built.address + ARTICLE)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(1000)
        return page, lambda: [url.removeprefix(built.address) for url in asked]

    return opened


def size(built, path):
    file = built.folder / path
    file = file / "index.html" if file.is_dir() else file
    return len(gzip.compress(file.read_bytes(), 6)) if file.is_file() else 0


def test_an_article_opens_with_its_text_and_the_figure_that_the_window_shows(opened_in, built):
    page, asked = opened_in(WINDOW)
    until(page, "document.querySelector('#fig-1.live-figure--live') !== null")
    weights = {path: size(built, path) for path in set(asked()) | {"assets/page/start.js"}}
    for path in ("assets/stylesheets", "assets/javascripts"):  # as for a first visit
        for file in (built.folder / path).glob("*.min.*s"):
            weights[f"{path}/{file.name}"] = size(built, f"{path}/{file.name}")
    assert weights[ARTICLE] > 1000
    assert sum(weights.values()) <= FIGURE, weights
    late = ("assets/vega.js", "assets/figure/", "assets/data/", "assets/reader/", "assets/tools/")
    of_figure = (*late, "datasets/", "figures/attention-focus-plots/attention_map")
    text = {path: size for path, size in weights.items() if not path.startswith(of_figure)}
    assert sum(text.values()) <= LIMIT, text
    assert [path for path in text if "search" in path or "figures/" in path] == []
    assert page.locator(".live-figure--live").count() == 1


def test_a_low_window_has_the_charts_with_the_first_scroll(opened_in):
    page, asked = opened_in(LOW)
    assert not [path for path in asked() if "vega.js" in path or "/attention/" in path]
    page.mouse.move(640, 300)
    page.mouse.wheel(0, 60)
    until(page, "document.querySelector('#fig-1.live-figure--live') !== null")
    assert [path for path in asked() if "/attention/" in path]


def test_a_picture_comes_where_a_reader_waits_for_the_chart_and_nowhere_else(opened_in):
    page, asked = opened_in(LOW)
    held = Held(page, "**/assets/vega.js")
    page.locator("#fig-3").scroll_into_view_if_needed()
    until(page, "document.querySelector('#fig-3 img').naturalWidth > 0")
    assert page.locator("#fig-3 .live-figure__picture").first.is_visible()
    pictures = {path.split("/")[-1] for path in asked() if path.endswith(".svg")}
    assert "bias_vs_position-light.svg" in pictures
    assert not {name for name in pictures if name.startswith(("alignment_vs", "update_"))}
    held.release()
    until(page, "document.querySelector('#fig-3.live-figure--live') !== null")
    assert not page.locator("#fig-3 .live-figure__picture").first.is_visible()


def test_search_comes_with_its_first_use(opened_in):
    page, asked = opened_in(LOW)
    assert not [path for path in asked() if "search" in path]
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").press_sequentially("softmax")
    page.wait_for_selector(".md-search-result__link")
    assert "search/search_index.json" in asked()


LOST = """([whole, lighter]) => {
    const selectors = (text) => {
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(text);
        const of = (rules) => [...rules].flatMap((rule) =>
            rule.selectorText ? rule.selectorText.split(/,(?![^(]*\\))/) : of(rule.cssRules ?? []));
        return new Set(of(sheet.cssRules).map((each) => each.trim()));
    };
    const kept = selectors(lighter);
    return [...selectors(whole)].filter((each) => !kept.has(each));
}"""

MATCHED = """(selectors) => selectors.filter((each) =>
    document.querySelector(each.replace(/::?(?:before|after|marker|placeholder|selection)/g, "")
        .replace(/:(?:hover|focus|checked|target|active|empty)(?![-\\w(])/g, ":is(*)") || "*"))"""


DECLARED = re.compile(r"(--md-[\w-]+):")


def test_no_page_has_what_the_theme_was_relieved_of(visit, built):
    """As the browser reads both style sheets, and finds their selectors in pages."""
    (theme,) = find_spec("material").submodule_search_locations
    folder = Path(theme) / "templates" / "assets" / "stylesheets"
    page = visit(ARTICLE)
    paths = sorted(folder.glob("*.min.css"))
    whole = [path.read_text("utf-8") for path in paths]
    light = [
        (built.folder / "assets" / "stylesheets" / path.name).read_text("utf-8") for path in paths
    ]
    lost = [
        each for both in zip(whole, light, strict=True) for each in page.evaluate(LOST, list(both))
    ]
    names = set(DECLARED.findall("".join(whole))) - set(DECLARED.findall("".join(light)))
    assert "--md-source-stars-icon" in names
    assert not [name for name in names if f"var({name}" in "".join(light)]
    assert len(lost) > 200
    assert any("tabbed" in each for each in lost)
    for address in (ARTICLE, "", "glossary/", "docs/how-to/figures/", "docs/reference/prose/"):
        page = visit(address)
        assert page.evaluate(MATCHED, lost) == [], address
