"""What the theme has kept in a reader's browser may be damaged: the page is whole all the same."""

import json
import re

import pytest

from report.pages import assets
from report.site.build import BUILDERS
from tests.figures.live_page import until
from tests.serving import served

pytestmark = [pytest.mark.browser, pytest.mark.promise("browser-storage")]

KEYS = ("__palette", "__tabs", "__announce", "__consent", "__source", "__outdated")
"""All that Material for MkDocs and Zensical read."""

DAMAGED = {
    "": False,
    "{": False,
    "null": False,
    '"text"': False,
    "[]": False,
    "{}": False,
    '{"index": 1}': False,
    '{"index": "x", "color": {"scheme": "slate"}}': False,
    '{"index": 0, "color": {"a b": 1}}': False,
    '{"index": 99, "color": {"scheme": "no such"}}': True,
}
"""What is kept -> whether it may be read as a palette."""

STOPPING = ("{", '{"index": "x", "color": {}}', '{"index": 0, "color": {"a b": 1}}')
"""Values that stop a script of the theme in three ways: read as JSON, by a page, by its script."""

KEEP = """([keys, value]) => {
    for (const store of [localStorage, sessionStorage])
        for (const key of keys) store.setItem(`/.${key}`, value); }"""

READ = "keys => keys.map(key => [__md_get(key), __md_get(key, sessionStorage)])"

DENY = """for (const name of ['localStorage', 'sessionStorage'])
    Object.defineProperty(window, name, {get: () => {
        throw new DOMException('no', 'SecurityError'); }})"""

SCHEME = "document.body.dataset.mdColorScheme"


@pytest.fixture(scope="module", params=list(BUILDERS))
def address(request, unmeasured):
    with served(unmeasured(request.param)) as address:
        yield address


@pytest.fixture
def page(browser):
    context = browser.new_context(color_scheme="light")
    page, problems = context.new_page(), []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.problems = problems
    yield page
    context.close()
    assert problems == []


def switched(page):
    """Whether the palette can still be switched."""
    page.locator("form[data-md-component=palette] label:visible").first.click()
    until(page, f"{SCHEME} === 'slate'")
    page.locator("form[data-md-component=palette] label:visible").first.click()
    until(page, f"{SCHEME} === 'default'")


def test_scripts_of_ours_keep_nothing():
    keeps = re.compile(r"\b(localStorage|sessionStorage|indexedDB|cookie|caches|serviceWorker)\b")
    scripts = sorted(assets.WEB.rglob("*.js"))
    assert [path.name for path in scripts if keeps.search(path.read_text("utf-8"))] == []
    assert len(scripts) > 30


def test_a_damaged_value_is_read_as_none(page, address):
    """Of any key; where a palette is asked for, only what has the form of one is read."""
    page.goto(address)
    for value, readable in DAMAGED.items():
        page.evaluate(KEEP, [KEYS, value])
        palette, *_ = page.evaluate(READ, KEYS)
        assert [each is not None for each in palette] == [readable] * 2, value


def test_values_that_would_stop_the_theme_do_not(page, address):
    page.goto(address)
    for value in STOPPING:
        page.evaluate(KEEP, [KEYS, value])
        page.reload()
        until(page, f"['default', 'slate'].includes({SCHEME})")
        assert page.problems == [], value
    switched(page)


def test_what_a_reader_chose_is_kept(page, address):
    page.goto(address)
    page.locator("form[data-md-component=palette] label:visible").first.click()
    until(page, f"{SCHEME} === 'slate'")
    kept = page.evaluate("localStorage.getItem('/.__palette')")
    assert json.loads(kept)["color"]["scheme"] == "slate"
    page.reload()
    assert page.evaluate(SCHEME) == "slate"


def test_a_browser_that_keeps_nothing_shows_the_page(page, address):
    page.add_init_script(DENY)
    page.goto(address)
    switched(page)
