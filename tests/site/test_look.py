"""Light and dark, wide and narrow."""

import pytest

from tests.figures.live_page import go_live, ink, until
from tests.held import Held

pytestmark = pytest.mark.browser

SCHEME = "document.body.dataset.mdColorScheme"


def still_picture(page, number):
    """Address of the still picture of a figure that a reader sees."""
    until(page, f"[...document.querySelectorAll('#fig-{number} img')].some(i => i.clientHeight)")
    seen = [i for i in page.locator(f"#fig-{number} img").all() if i.is_visible()]
    assert len(seen) == 1
    return seen[0].get_attribute("src")


def test_charts_follow_the_switch_in_the_page(visit):
    page = visit()
    for number in (1, 4):
        go_live(page, number)
    light = [ink(page, number) for number in (1, 4)]
    page.locator("form[data-md-component=palette] label:visible").click()
    until(page, f"{SCHEME} === 'slate'")
    page.wait_for_timeout(200)
    dark = [ink(page, number) for number in (1, 4)]
    assert all(one != other for one, other in zip(light, dark, strict=True))
    page.reload()  # the choice is kept, also for charts that are drawn afterwards
    for number in (1, 4):
        go_live(page, number)
    assert page.evaluate(SCHEME) == "slate"
    assert [ink(page, number) for number in (1, 4)] == dark


@pytest.mark.parametrize(("scheme", "name"), [("light", "default"), ("dark", "slate")])
def test_a_page_opens_in_the_palette_of_the_system(visit, scheme, name):
    page = visit(color_scheme=scheme, viewport={"width": 1280, "height": 400})  # of figure 1 little
    assert page.evaluate(SCHEME) == name
    held = Held(page, "**/assets/vega.js")
    page.locator("#fig-9").scroll_into_view_if_needed()
    page.wait_for_selector("#fig-9.live-figure--pictured")  # no chart comes in its place
    assert still_picture(page, 9).endswith(f"-{scheme}.svg#only-{scheme}")
    held.release()
    go_live(page, 9)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) > 3 * 127) == (scheme == "light")


ARTICLES = pytest.mark.parametrize(
    "name",
    [
        "attention-focus-plots",
        "filler-tokens",
        "how-heads-form",
        "reading-a-table",
        "who-gets-the-drink",
        "which-heads-do-what",
        "what-four-bits-do",
        "which-sentence-do-heads-come-back-to",
    ],
)


@ARTICLES
def test_an_article_s_first_window_shows_its_figure_in_whole_and_live(visit, name):
    page = visit(f"articles/{name}/", viewport={"width": 1280, "height": 800})
    until(page, "document.querySelector('#fig-1.live-figure--live') !== null")
    assert page.evaluate("scrollY") == 0
    boxes = [box.bounding_box() for box in page.locator("#fig-1 .live-figure__box").all()]
    assert max(box["y"] + box["height"] for box in boxes) <= 800
    assert min(box["height"] for box in boxes) >= 120
    answer = page.locator(".finding strong").bounding_box()
    assert answer["y"] + answer["height"] <= min(box["y"] for box in boxes)


@ARTICLES
def test_on_a_phone_a_picture_comes_first_then_its_words_then_its_controls(visit, name):
    page = visit(f"articles/{name}/", viewport={"width": 390, "height": 844})
    first = page.locator("#fig-1 .live-figure__box").first.bounding_box()
    assert first["y"] + min(100, first["height"]) <= 844
    for figure in page.locator(".live-figure:has(.live-figure__controls *)").all():
        boxes = [box.bounding_box() for box in figure.locator(".live-figure__box").all()]
        lowest = max(box["y"] + box["height"] for box in boxes if box)
        words = figure.locator("figcaption").bounding_box()
        assert words["y"] >= lowest
        controls = figure.locator(".live-figure__controls").bounding_box()
        assert controls["y"] >= words["y"] + words["height"]


def test_heads_open_as_a_map_on_a_phone(visit):
    page = visit(viewport={"width": 390, "height": 844})
    panels = page.locator(".live-figure__panel[data-view]")
    until(page, "document.querySelector('[data-param=view]:checked').value === 'map'")
    assert panels.count() > 2
    assert {each.get_attribute("data-view") for each in panels.all() if each.is_visible()} == {
        "map"
    }


@pytest.mark.parametrize("width", [1280, 390])
def test_choices_of_a_switch_that_wrap_stand_below_each_other(visit, width):
    page = visit("articles/how-heads-form/", viewport={"width": width, "height": 900})
    boxes = [each.bounding_box() for each in page.locator("#fig-3 fieldset input").all()]
    first = {}
    for box in boxes:
        first.setdefault(round(box["y"]), box["x"])  # of each line
    assert len(first) > 1
    assert len(set(first.values())) == 1
    legend = page.locator("#fig-3 legend").bounding_box()
    slider = page.locator("#fig-3 .live-figure__control span").first.bounding_box()
    assert abs(legend["x"] - slider["x"]) < 1


BROKEN = """() => [...document.querySelectorAll('.name, a[href*="models/#"]')].filter((name) => {
    if (name.firstElementChild) return false; // a link around a name, which is looked at itself
    const node = name.firstChild, range = document.createRange();
    const top = (at) => {
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        return range.getBoundingClientRect().top;
    };
    return [...node.data].some(
        (letter, at) => at && !/[ -]/.test(node.data[at - 1]) && top(at) > top(at - 1) + 4,
    );
}).map((name) => name.textContent)"""
"""Names of models of which a line ends within a word."""


@pytest.mark.parametrize("path", ["models/", "articles/how-heads-form/"])
def test_names_of_models_break_at_hyphens_only(visit, path):
    page = visit(path, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    assert page.locator('.name, a[href*="models/#"]').count() > 3
    assert page.evaluate(BROKEN) == []
    narrow = "display: inline-block; width: 4ch; white-space: normal; overflow-wrap: anywhere"
    page.add_style_tag(content=f'.md-typeset a[href*="models/#"] {{ {narrow} }}')
    assert path != "models/" or page.evaluate(BROKEN)  # the test finds what it looks for
