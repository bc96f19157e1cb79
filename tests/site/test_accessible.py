"""Nothing that axe-core calls serious or critical: every page, wide and light, narrow and dark.

Articles and lists are opened once for both: figures take longer to come alive than to be looked at.

What can be clicked or tapped is at least 24 pixels wide and high on all of them.
"""

import itertools
from contextlib import contextmanager, suppress

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import TimeoutError as NotYet

from tests.documents import ADDRESSES, FIGURES
from tests.figures.live_page import go_live, painted, until
from tests.figures.tools import CHART, FULL, TABLE, menu, tool

pytestmark = pytest.mark.browser

ARTICLES = ("attention-focus-plots", "filler-tokens", "reading-a-table", "how-heads-form")
ARTICLES += ("who-gets-the-drink", "which-heads-do-what", "what-four-bits-do")
ARTICLES += ("who-tells-it-where-to-look", "which-sentence-do-heads-come-back-to")
ARTICLES += ("the-same-heads-three-times",)
PAGES = ("", "archive/", "tags/", "models/", "glossary/", "about/", "404.html")
DOCS = ("docs/", "docs/how-to/figures/", "docs/reference/front-matter/")
DOCS += ("docs/gallery/", "docs/gallery/attention_map/")
"""Of the documentation: one of lists, of code, of tables, and those that are made in their ways."""
WORST = ("serious", "critical")

sizes = pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
"""Each palette and each width once: contrast does not depend on the width, nor size on colours."""


SMALL = """() => {
    const own = '.live-figure :is(a, button, input, summary, select), '
        + '.byline a, .cards a, .card__more a, .live-figure [tabindex="0"]';
    // a link within a sentence is as high as its line, as WCAG 2.5.8 allows
    const inSentence = each => each.matches('figcaption > a, p > a, td a, h2 a, h3 a');
    return [...document.querySelectorAll(own)]
        .filter(each => each.checkVisibility({visibilityProperty: true}) && !inSentence(each))
        .map(each => [each, (each.matches('[type=radio], [type=checkbox]')
            ? each.closest('label') : each).getBoundingClientRect()])
        .filter(([, box]) => box.width && (box.width < 23.9 || box.height < 23.9))
        .map(([each, box]) => `${each.outerHTML.slice(0, 90)} ${box.width} x ${box.height}`);
}"""
"""Own controls and links that are smaller."""


def at(width, scheme):
    """Options of a browser window of a desk or of a phone."""
    touch = {"has_touch": True, "is_mobile": True} if width < 600 else {}
    return {"viewport": {"width": width, "height": 1000}, "color_scheme": scheme, **touch}


def worst(page, *parts):
    """What axe-core finds, of the worst two kinds: list of texts.

    parts: selectors of the only ones that are looked at; none: the whole page
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(
        """parts => axe.run(parts.length ? { include: parts.map(each => [each]) } : document,
            { resultTypes: ['violations'], selectors: false }).then(all => all.violations)""",
        parts,
    )
    return [
        f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for each in found
        if each["impact"] in WORST
        for node in each["nodes"]
    ]


def fits(page, width):
    """Whether a page is no wider than its window, and all targets in it are large enough."""
    assert page.evaluate("innerWidth") == width
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(SMALL) == []


def test_no_page_is_forgotten(built):
    paths = {path.relative_to(built.folder).as_posix() for path in built.folder.rglob("*.html")}
    others = {path for path in paths if not path.startswith("embed/")}
    named = {*PAGES, *ADDRESSES, *FIGURES, *(f"articles/{article}/" for article in ARTICLES)}
    assert others == {f"{name}index.html" if name[-1:] in ("", "/") else name for name in named}


SWITCH = "document.querySelector('[data-md-component=palette] label:not([hidden])').click()"
"""To the other palette."""


@contextmanager
def with_a_finger_in_the_dark(page):
    """Meanwhile the reader of a page has a touch screen and the dark palette."""
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    page.evaluate(SWITCH)
    try:
        until(page, "document.body.dataset.mdColorScheme === 'slate'")
        until(page, "matchMedia('(pointer: coarse)').matches")
        painted(page)
        yield
    finally:  # other tests have this tab
        session.detach()
    page.evaluate(SWITCH)


def accessible(page):
    """What a page has to be, in whole: at a desk, in a narrow window there, and on a phone."""
    desk = page.viewport_size
    assert worst(page) == [], page.url
    fits(page, desk["width"])
    page.set_viewport_size({"width": 390, "height": 1000})
    until(page, "document.documentElement.scrollWidth <= innerWidth")  # charts follow the window
    fits(page, 390)  # no finger makes targets larger
    with with_a_finger_in_the_dark(page):
        assert worst(page) == [], page.url
        fits(page, 390)
    page.set_viewport_size(desk)


def test_lists_and_other_pages(visit):
    page = visit()
    root = page.url.split("articles/")[0]
    for path in (*PAGES, *DOCS):
        page.goto(root + path)
        page.evaluate("document.fonts.ready.then(() => new Promise(requestIdleCallback))")
        accessible(page)


def assert_headings_go_down_one_step_at_a_time(page):
    levels = page.evaluate(
        "[...document.querySelectorAll('article :is(h1,h2,h3,h4,h5,h6)')].map(h => +h.tagName[1])"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


@pytest.mark.parametrize("article", ARTICLES)
def test_articles_with_all_figures_alive(visit, article):
    page = visit(f"articles/{article}/")
    assert_headings_go_down_one_step_at_a_time(page)
    for number in range(1, page.locator("figure.live-figure").count() + 1):
        go_live(page, number)
    accessible(page)


def test_on_a_phone_a_slider_has_the_whole_width_and_a_large_thumb(visit):
    page = visit(**at(390, "light"))
    figure = go_live(page, 1)
    slider, whole = figure.locator("[type=range]").first.bounding_box(), figure.bounding_box()
    assert slider["width"] >= 0.98 * whole["width"]
    assert slider["height"] >= 44


@sizes
def test_pages_of_single_figures_alive(visit, built, scheme, width):
    """One of each: the figures themselves are looked at in their articles, in both ways, and what
    is around them is made from one template."""
    article = ARTICLES[width == 390]
    *_, path = sorted((built.folder / "embed" / article).glob("*.html"))
    page = visit(f"embed/{article}/{path.name}", **at(width, scheme))
    page.wait_for_selector(".live-figure--live")
    assert worst(page) == []
    fits(page, width)


FEWER_ROWS = """document.querySelectorAll('.live-figure__tables tbody tr:nth-child(n + 9)')
    .forEach(each => each.remove())"""
"""Rows of a table are alike, and axe-core takes 10 ms for every cell."""


@sizes
def test_what_a_reader_opens_over_a_page(visit, scheme, width):
    """The rest of the page is looked at above."""
    page = visit(reduced_motion="reduce", **at(width, scheme))  # nothing is half faded
    tool(page, 2, TABLE).click()
    page.wait_for_selector("#fig-2 .live-figure__tables table")
    page.evaluate(FEWER_ROWS)
    menu(page, 3)
    assert worst(page, "#fig-2", "#fig-3") == [], "a table and a menu"
    fits(page, width)
    page.keyboard.press("Escape")
    tool(page, 2, CHART).click()
    tool(page, 4, FULL).click()
    page.wait_for_selector("#fig-4 [aria-label='Leave full screen']")
    assert worst(page, "#fig-4") == [], "a figure over the screen"
    page.locator("#fig-4 [aria-label='Leave full screen']").click()
    term = page.locator("article .term").first
    for _ in range(10):  # the window may tell its new size late, which closes what is open
        page.keyboard.press("Tab")  # by keys, as what has the focus shows it only then
        term.focus()
        with suppress(NotYet):
            page.wait_for_selector("#hover-card", state="visible", timeout=2000)
            break
    assert page.is_visible("#hover-card")
    assert worst(page, "#hover-card") == [], "what a term means"


def test_a_wide_table_is_scrolled_by_keys_and_a_narrow_one_is_no_stop(visit):
    page = visit("articles/reading-a-table/", **at(390, "light"))
    tables = page.locator("article .md-typeset__scrollwrap:visible")
    # the article's own fit; what a study of another model has to say may not
    tables.first.locator("table").evaluate("each => { each.style.minWidth = '700px'; }")
    page.keyboard.press("Tab")  # who scrolls by keys has come here by them
    page.wait_for_selector("article .md-typeset__scrollwrap[tabindex='0'][aria-label]")
    wide = tables.evaluate_all("all => all.map(each => each.scrollWidth > each.clientWidth)")
    stops = tables.evaluate_all("all => all.map(each => each.tabIndex === 0)")
    assert stops == wide
    tables.nth(wide.index(True)).focus()
    page.keyboard.press("ArrowRight")
    until(page, "document.activeElement.scrollLeft > 0")
    goes_on = "document.activeElement.classList.contains('goes-on')"
    assert page.evaluate(goes_on)
    page.evaluate("document.activeElement.scrollLeft = 9999")
    until(page, f"!{goes_on}")
    page.set_viewport_size({"width": 1280, "height": 1000})
    until(page, "!document.querySelector('.md-typeset__scrollwrap[tabindex]')")


def test_nothing_moves_for_those_who_do_not_want_it(visit):
    page = visit(reduced_motion="reduce")
    page.wait_for_load_state("networkidle")
    longest = page.evaluate(
        """() => Math.max(...[...document.querySelectorAll('*')].flatMap(each => {
        const style = getComputedStyle(each);
        return [style.transitionDuration, style.animationDuration].flatMap(text =>
            text.split(',').map(part => parseFloat(part) * (part.includes('ms') ? 1 : 1000)));
        }))"""
    )
    assert longest <= 1  # ms
    page.evaluate("location.hash = '#fig-10'")
    page.wait_for_timeout(50)
    assert page.evaluate("scrollY") > 0
