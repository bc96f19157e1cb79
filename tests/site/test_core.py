"""What every reader needs, in Chromium and in Firefox: the same steps in both."""

import json

import pytest

from tests.figures.live_page import TOOLTIP, given
from tests.site.conftest import ARTICLE
from tests.site.reader import token_index

pytestmark = pytest.mark.browser

CANVAS = "document.querySelector('#fig-{} canvas')"
LIVE = "document.querySelector('#fig-{}').classList.contains('live-figure--live')"
VALUE = "document.querySelector('#fig-{} input[name={}]').value"


class Chromium:
    """The steps of `firefox.Firefox` with Playwright's browser."""

    def __init__(self, browser):
        self.context = browser.new_context(viewport={"width": 1280, "height": 1000})
        self.page = self.context.new_page()
        self.problems, self.asked = [], []
        self.page.on("console", self._say)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def _say(self, message):
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def open(self, url):
        self.page.goto("about:blank")
        self.page.goto(url)

    def evaluate(self, expression):
        return self.page.evaluate(expression)

    def until(self, condition):
        for _ in range(1200):
            if found := self.page.evaluate(condition):
                return found
            self.page.wait_for_timeout(50)
        return pytest.fail(f"never came true in Chromium: {condition}")

    def press(self, *names):
        for name in names:
            self.page.keyboard.press(name)

    def move(self, x, y):
        self.page.mouse.move(x, y)

    def click(self):
        self.page.mouse.down()
        self.page.mouse.up()


@pytest.fixture(scope="module")
def chromium(browser):
    """Chromium, with one tab for all tests."""
    reader = Chromium(browser)
    yield reader
    reader.context.close()


@pytest.fixture(params=["chromium", "firefox"])
def reader(request, built):
    """A browser; its console may not complain, and it may ask no other host for anything."""
    reader = request.getfixturevalue(request.param)
    reader.problems.clear()
    reader.asked.clear()
    yield reader
    assert reader.problems == []
    foreign = [
        url for url in reader.asked if not url.startswith((built.address, "data:", "about:"))
    ]
    assert foreign == []


def to(reader, figure):
    """Scroll a figure into the middle of the window and wait until it is live."""
    reader.evaluate(f"void document.querySelector('#fig-{figure}').scrollIntoView()")
    reader.until(LIVE.format(figure))
    reader.evaluate(f"void {CANVAS.format(figure)}.scrollIntoView({{block: 'center'}})")


def box_of(reader, figure):
    """Where a figure's chart is in the window, once the page is at rest."""
    place = f"""(async () => {{ let [before, now] = [null, ''];
        while (now !== before) {{
            await new Promise(next => setTimeout(next, 120));
            const {{x, y, width, height}} = {CANVAS.format(figure)}.getBoundingClientRect();
            [before, now] = [now, JSON.stringify([x, y, width, height])]; }}
        return now; }})()"""
    return json.loads(reader.evaluate(place))


def tooltip(reader):
    return reader.evaluate(f"({TOOLTIP})()")


def pixels(reader, figure, summed):
    """What a sum in JavaScript makes of the bytes of a chart's picture, four a pixel."""
    return reader.evaluate(
        f"""(() => {{ const canvas = {CANVAS.format(figure)};
        const {{width, height}} = canvas;
        const copy = Object.assign(document.createElement('canvas'), {{width, height}});
        const context = copy.getContext('2d', {{willReadFrequently: true}});
        context.drawImage(canvas, 0, 0);
        return context.getImageData(0, 0, width, height).data.reduce({summed}, 0); }})()"""
    )


def drawn(reader, figure):
    """A number that changes with the picture of a chart."""
    return pixels(reader, figure, "(sum, value) => (31 * sum + value) % 1000003")


def painted(reader, figure):
    """How many pixels of a chart are not transparent."""
    return pixels(reader, figure, "(sum, value, n) => sum + (n % 4 === 3 && value > 0)")


def test_all_figures_become_live_and_paint(reader, built):
    reader.open(built.address + ARTICLE)
    for figure in range(1, 13):
        to(reader, figure)
        assert painted(reader, figure) > 2000, f"figure {figure} is empty"
        picture = f"document.querySelector('#fig-{figure} .live-figure__picture')"
        assert not reader.evaluate(f"{picture}.checkVisibility({{visibilityProperty: true}})")
    assert reader.evaluate("document.querySelectorAll('.live-figure--failed').length") == 0


def test_a_slider_by_keyboard_changes_the_figure_and_the_address(reader, built):
    reader.open(built.address + ARTICLE)
    to(reader, 1)
    before = drawn(reader, 1)
    reader.evaluate("void document.querySelector('#fig-1 input[name=head]').focus()")
    reader.press("End")
    reader.until(f"location.hash.startsWith('#fig-1:') && {VALUE.format(1, 'head')} === '7'")
    assert reader.evaluate("location.hash").endswith("head=7")
    reader.until("document.querySelector('#fig-1 a[data-link-data]').href.endsWith('/7.json')")
    reader.evaluate("new Promise(next => setTimeout(next, 200))")
    assert drawn(reader, 1) != before
    reader.evaluate("void history.back()")
    reader.until(f"{VALUE.format(1, 'head')} === '0'")


def test_an_address_is_restored(reader, built):
    fragment = "#fig-1:layer=2,head=3,cell=40+12,pinned_token=40"
    reader.open(built.address + ARTICLE + fragment)
    reader.until(LIVE.format(1))
    assert reader.evaluate(f"[{VALUE.format(1, 'layer')}, {VALUE.format(1, 'head')}]") == ["2", "3"]
    reader.until("document.querySelector('.pins__chip')?.textContent.includes('token 40')")
    assert reader.evaluate("document.querySelector('.token--pinned').dataset.token") == "40"
    assert reader.evaluate("location.hash") == fragment


def test_a_cell_by_mouse_and_by_key_tells_what_was_measured(reader, built, model):
    reader.open(f"{built.address}{ARTICLE}#fig-1:layer=3,head=2")
    to(reader, 1)
    x, y, width, height = box_of(reader, 1)
    reader.move(x + 0.3 * width, y + 0.7 * height)
    reader.until(f"Object.keys(({TOOLTIP})()).length > 3")
    by_mouse = tooltip(reader)
    reader.move(5, 5)
    reader.evaluate("void document.querySelector('#fig-1 .live-figure__chart').focus()")
    reader.press("Home", "ArrowRight", "ArrowRight", "ArrowUp")
    by_key = tooltip(reader)
    shard = json.loads((built.datasets / "attention/3/2.json").read_text("utf-8"))
    assert shard["tokens"] == model.length
    for told in (by_mouse, by_key):
        i, j = (token_index(told[f"{which} token"]) for which in ("current", "target"))
        share = pytest.approx(model.head(3, 2).probability[i, j], abs=0.0015)
        assert given(told) == (share, i - j)
    assert [token_index(by_key[f"{n} token"]) for n in ("current", "target")] == [
        model.length - 2,
        2,
    ]
    live = reader.evaluate("document.querySelector('#fig-1 .live-figure__live').textContent")
    assert live.startswith(by_key["title"])
