"""What a page loads, and when: nothing that its reader does not need yet, and nothing is missed."""

import re
from graphlib import TopologicalSorter

import numpy as np
import pytest

from report.pages.assets import WEB
from tests.figures.live_page import go_live, until
from tests.figures.tools import MORE, tool
from tests.held import Held

pytestmark = [pytest.mark.browser, pytest.mark.first_visit]

FAR = "document.querySelector('.passage').style.marginBottom = '1200px'"
"""Puts figure 1 a good way below the window; it must be said before the page is laid out."""


@pytest.fixture
def asked(page):
    """Paths of all requests."""
    paths = []
    page.on("request", lambda request: paths.append(request.url.split("/", 3)[-1]))
    return paths


def open_above_the_figures(page, address):
    page.add_init_script(f"document.addEventListener('DOMContentLoaded', () => {{ {FAR} }})")
    page.goto(address)
    page.wait_for_load_state("networkidle")


def fetched(asked, *parts):
    return [path for path in asked if any(part in path for part in parts)]


def test_only_the_first_script_comes_before_a_figure_is_needed(page, address, asked):
    open_above_the_figures(page, address)
    assert [path for path in asked if path.endswith(".js")] == ["assets/page/start.js"]
    assert fetched(asked, "datasets/", ".json") == []
    assert page.locator("#fig-1 input").first.is_disabled()


def test_a_figure_a_little_below_the_window_comes_to_life_at_the_first_scroll(page, address, asked):
    open_above_the_figures(page, address)
    top = page.evaluate("document.querySelector('#fig-1').getBoundingClientRect().top")
    page.evaluate("y => scrollTo({top: y, behavior: 'instant'})", top - 900 - 300)
    until(page, "document.querySelector('#fig-1').classList.contains('live-figure--live')")
    below = page.evaluate("document.querySelector('#fig-1').getBoundingClientRect().top")
    assert below > 900
    assert fetched(asked, "assets/vega.js")
    assert page.locator(".live-figure--live").count() == 1


def open_before_the_scripts(page, address):
    """Returns what lets the first script come."""
    held = Held(page, "**/assets/page/start.js")
    page.goto(address, wait_until="commit")
    until(page, "document.readyState === 'interactive' && document.querySelector('#fig-1')")
    return held.release


@pytest.mark.parametrize("part", [0.4, 0.6])
def test_a_picture_that_fills_most_of_the_window_comes_to_life_without_an_act(page, address, part):
    """Half of a figure higher than two windows is never in the window."""
    come = open_before_the_scripts(page, address)
    height = page.viewport_size["height"]
    top = page.evaluate(
        """top => {
          const figure = document.querySelector('#fig-1');
          document.querySelector('.passage').before(figure);
          figure.style.minHeight = '3000px';
          figure.style.marginTop = `${top - figure.getBoundingClientRect().top}px`;
          return figure.getBoundingClientRect().top;
        }""",
        height * (1 - part),
    )
    assert 1 - top / height == pytest.approx(part, abs=0.09)
    come()
    page.wait_for_load_state("networkidle")
    assert page.locator("#fig-1.live-figure--live").count() == (part > 0.5)


def test_a_reader_who_scrolled_before_the_scripts_came_is_not_missed(page, address):
    """A figure is a little below the window then, as after a scroll that the script hears."""
    come = open_before_the_scripts(page, address)
    page.evaluate(FAR)
    top = page.evaluate("document.querySelector('#fig-1').getBoundingClientRect().top")
    page.evaluate("y => scrollTo({top: y, behavior: 'instant'})", top - 900 - 300)
    page.wait_for_timeout(100)
    come()
    until(page, "document.querySelector('#fig-1').classList.contains('live-figure--live')")


def test_a_figure_finds_its_files_when_the_location_changes_before_the_page(page, address, asked):
    """As instant navigation does it, while the next page is on its way."""
    open_above_the_figures(page, address)
    page.route("**/another/**", lambda asks: asks.fulfill(content_type="image/svg+xml"))
    page.evaluate("history.replaceState(null, '', '/another/folder/below/')")
    page.evaluate("document.querySelector('#fig-1').scrollIntoView({behavior: 'instant'})")
    go_live(page, 1)
    assert fetched(asked, "figures/", "datasets/")
    scripts = [path for path in fetched(asked, "another/") if not path.endswith(".svg")]
    assert scripts == []  # pictures are the browser's own affair


def test_a_token_that_was_pointed_at_before_the_scripts_came_is_marked(page, address, asked):
    open_above_the_figures(page, address)
    page.locator(".token").nth(3).hover()
    until(page, "document.querySelector(\".token--marked[data-token='3']\") !== null")
    assert fetched(asked, "assets/reader/marks.js")
    until(page, "document.querySelector('.passage--shaded') !== null")
    assert not fetched(asked, "assets/vega.js")
    assert len(fetched(asked, "datasets/")) == 2  # the head that shades the passage, and its tokens


def test_a_figure_that_an_address_names_is_loaded_at_once(page, address, asked):
    alone = "document.querySelector('#fig-1').style.marginBottom = '3000px'"
    moved = f"document.addEventListener('DOMContentLoaded', () => {{ {FAR}; {alone} }})"
    page.add_init_script(moved)
    page.goto(f"{address}#fig-1:head=2")
    until(page, "document.querySelector('#fig-1').classList.contains('live-figure--live')")
    assert [path[-7:] for path in fetched(asked, "attention/")] == ["/2.json"]


def test_a_slider_moved_before_there_is_a_chart_is_obeyed(page, address, asked):
    held = Held(page, "**/assets/vega.js")
    page.goto(address)
    slider = page.locator("#fig-1 input[name=head]")
    slider.scroll_into_view_if_needed()
    until(page, "!document.querySelector('#fig-1 input[name=head]').disabled")
    slider.focus()
    page.keyboard.press("End")
    until(page, "document.querySelector('#fig-1 input[name=head]').value === '3'")
    held.release()
    go_live(page, 1)
    until(page, "document.querySelector('#fig-1 [data-link-data]').href.endsWith('/3.json')")


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_moves_while_an_article_is_read(page, address, width):
    page.set_viewport_size({"width": width, "height": 844})
    page.add_init_script(
        """window.shifts = [];
        new PerformanceObserver(list => list.getEntries().forEach(each =>
            shifts.push(each.value, ...each.sources.map(({node}) => node?.className))))
            .observe({type: 'layout-shift', buffered: true});"""
    )
    page.goto(address)
    high = page.evaluate("document.documentElement.scrollHeight")
    page.mouse.move(width / 2, 300)
    for number in range(1, 11):
        tool(page, number, MORE)  # comes last
        page.mouse.wheel(0, 200)
    page.wait_for_timeout(300)
    assert page.evaluate("shifts") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.scrollHeight") == high
    sizes = page.evaluate(
        "[...document.querySelectorAll('.live-figure__controls input[type=range]')]"
        ".map(input => input.getBoundingClientRect()).map(box => [box.width, box.height])"
    )
    assert (np.array(sizes) >= (120, 24)).all()
    lines = page.evaluate(
        "[...document.querySelectorAll('.live-figure__control > span')]"
        ".map(label => label.getClientRects().length)"
    )
    assert set(lines) == {1}, "the label of a slider has two lines"


IMPORTED = re.compile(r'\b(?:from |import\(|import )"(\.[^"]+)"')


def test_scripts_import_each_other_in_no_circle():
    """Those that come later, by a call, count too."""
    graph = {
        path: {(path.parent / name).resolve() for name in IMPORTED.findall(path.read_text("utf-8"))}
        for path in WEB.resolve().rglob("*.js")
    }
    assert sum(map(len, graph.values())) > 100
    TopologicalSorter(graph).prepare()  # stops at a circle
