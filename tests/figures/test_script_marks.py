"""One token and one head, marked in all figures; pins, their chips, and what an address says."""

import json
import re

import pytest

from report.figures.build import defaults
from report.figures.build.find import figure_named
from tests.figures import live_page
from tests.figures.live_page import first_tooltip, go_live, ink, painted, until
from tests.figures.test_every_figure import panels_of

pytestmark = pytest.mark.browser

CHIPS = "[...document.querySelectorAll('.pins__chip')].map(chip => chip.textContent)"
CURSOR = "document.querySelector('#fig-{} .live-figure__cursor:not([hidden])') !== null"
SAID = "document.querySelector('#fig-{} .live-figure__live').textContent"


def focus(page, number, panel=0):
    go_live(page, number)
    page.locator(f"#fig-{number} .live-figure__chart").nth(panel).focus()


def walk(page, number, *keys):
    focus(page, number)
    for key in keys:
        page.keyboard.press(key)


def seen_together(page, *numbers):
    """Make a window so high that all these figures are in it at once, and live."""
    for number in numbers:
        go_live(page, number)
    page.set_viewport_size({"width": 1280, "height": 12000})
    painted(page)


def redrawn(page, before):
    """Which of some figures {number: ink} have another picture now."""
    painted(page)
    return {number for number, picture in before.items() if ink(page, number) != picture}


TOKENS = (1, 2, 3, 7, 8, 9, 10)
"""Figures that show tokens; 1 to 10 but those that compare heads."""


def test_a_token_of_the_passage_is_marked_in_every_figure_that_shows_tokens(page, address):
    page.goto(address)
    seen_together(page, *range(1, 11))
    page.mouse.move(1, 1)
    before = {number: ink(page, number) for number in range(1, 11)}
    page.locator(".token[data-token='9']").hover()
    assert redrawn(page, before) == set(TOKENS)
    pointed = {number: ink(page, number) for number in TOKENS}
    page.locator(".token[data-token='9']").click()
    page.mouse.move(1, 1)
    # pinned is not drawn as pointed at
    assert redrawn(page, pointed) == set(TOKENS)
    assert "token 9×" in page.evaluate(CHIPS)[0]


def test_a_token_of_a_figure_is_marked_in_the_passage(page, address):
    page.goto(address)
    for number in (1, 2, 3, 9, 10):
        walk(page, number, "ArrowRight", "ArrowRight")
        token = int(page.get_attribute(".token--marked", "data-token"))
        said = page.evaluate(SAID.format(number))
        assert f"token {token} " in said, number
        page.keyboard.press("Enter")
        assert page.get_attribute(".token--pinned", "data-token") == str(token), number
        until(page, f"location.hash.includes('pinned_token={token}')")
        page.keyboard.press("Escape")
        until(page, "document.querySelector('.token--pinned') === null")
        assert "pinned_token" not in page.evaluate("location.hash"), number


@pytest.mark.parametrize(("source", "changes"), [(4, {5, 6, 7, 8, 9, 10}), (9, {4, 5, 6, 7, 8})])
def test_a_head_is_marked_in_every_figure_that_shows_heads(page, address, source, changes):
    page.goto(f"{address}#fig-9:layer=1")
    for number in (7, 8, 10):
        assert page.input_value(f"#fig-{number} input[name=layer]") == "1"
    seen_together(page, *range(4, 11))
    before = {number: ink(page, number) for number in changes}
    # of layer 1, which the figures of one layer show
    walk(page, source, "ArrowRight", "ArrowRight")
    assert redrawn(page, before) == changes


def test_what_points_at_a_slider_of_a_head_marks_that_head(page, address):
    page.goto(address)
    seen_together(page, 1, 4)
    before = {4: ink(page, 4)}
    page.locator("#fig-1 input[name=head]").focus()
    page.keyboard.press("ArrowRight")
    assert redrawn(page, before) == {4}
    assert page.locator("#fig-1 .live-figure__controls--marked").count() == 1
    page.keyboard.press("Tab")
    page.mouse.move(1, 1)
    page.evaluate("document.activeElement.blur()")
    assert page.locator("#fig-1 .live-figure__controls--marked").count() == 0


def test_a_chip_unpins(page, address):
    page.goto(address)
    walk(page, 9, "ArrowRight", "Enter")
    until(page, f"({CHIPS}).length === 2")
    page.locator(".pins__chip", has_text="token").click()
    until(page, f"({CHIPS}).length === 1")
    assert page.evaluate(CHIPS)[0].startswith("L1H")
    until(page, "!location.hash.includes('pinned_token')")
    assert "pinned_head" in page.evaluate("location.hash")
    page.keyboard.press("Escape")
    until(page, f"({CHIPS}).length === 0")
    until(page, "location.hash === '#fig-9:layer=1'")


def test_pins_are_restored_and_clamped(page, address):
    page.goto(f"{address}#fig-9:pinned_token=999,pinned_layer=1,pinned_head=77")
    until(page, f"({CHIPS}).length === 2")
    assert page.evaluate(CHIPS)[0].startswith("L1H3")
    until(page, f"({CHIPS})[1].includes('token 23×')")  # once the figure has its text
    page.goto("about:blank")
    page.goto(f"{address}#fig-9:pinned_token=-1,pinned_layer=x,pinned_head=2")
    go_live(page, 9)
    assert page.evaluate(CHIPS) == []


def test_a_pin_of_the_passage_is_in_the_address_and_gone_back_from(page, address):
    page.goto(address)
    page.locator(".token[data-token='6']").click()
    until(page, "location.hash === '#passage:pinned_token=6'")
    page.locator(".token[data-token='8']").click()
    until(page, "location.hash === '#passage:pinned_token=8'")
    page.go_back()
    until(page, "document.querySelector('.token--pinned').dataset.token === '6'")
    page.go_back()
    until(page, "!document.querySelector('.token--pinned')")
    page.goto("about:blank")
    page.goto(f"{address}#passage:pinned_token=8")
    until(page, "document.querySelector('.token--pinned')?.dataset.token === '8'")


def test_token_text_in_a_chip_is_text(page, address, data):
    marked_up = next(token for token in data.tokens if "<b>" in token.label)
    page.goto(f"{address}#passage:pinned_token={marked_up.index}")
    until(page, f"({CHIPS}).length === 1")
    assert page.evaluate(CHIPS) == [f"“{marked_up.label.strip()}”, token {marked_up.index}×"]
    assert page.locator(".pins b").count() == 0


def test_a_cell_is_pinned_restored_and_clamped(page, address):
    page.goto(address)
    walk(page, 1, "Home", "ArrowUp", "ArrowUp", "ArrowRight", "Enter")
    until(page, "location.hash === '#fig-1:layer=1,head=0,cell=21+1,pinned_token=21'")
    assert both_pinned(page) == ["21", "1"]
    assert "token 21×" in page.evaluate(CHIPS)[0]
    assert "” → “" in page.evaluate(CHIPS)[0]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")  # another cell of the same row
    until(page, "location.hash === '#fig-1:layer=1,head=0,cell=21+2,pinned_token=21'")
    assert both_pinned(page) == ["21", "2"]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    until(page, "location.hash === '#fig-1:layer=1,head=0,cell=21+1,pinned_token=21'")
    page.keyboard.press("Tab")
    page.mouse.move(1, 1)
    painted(page)
    pinned = ink(page, 1)
    page.keyboard.press("Escape")
    until(page, "location.hash === '#fig-1:layer=1,head=0'")
    painted(page)
    assert ink(page, 1) != pinned
    page.goto("about:blank")
    page.goto(f"{address}#fig-1:layer=1,head=0,cell=21+999")
    go_live(page, 1)
    until(page, "document.querySelector('.pins__chip')?.textContent.includes('token 21×')")
    page.locator("#fig-1 input[name=head]").focus()
    page.keyboard.press("ArrowRight")  # the same cell in another head
    until(page, "location.hash === '#fig-1:layer=1,head=1,cell=21+21,pinned_token=21'")
    assert both_pinned(page) == ["21", "21"]
    page.locator(".token[data-token='6']").click()  # alone: what was looked at is no longer pinned
    assert both_pinned(page) == ["6"]


def test_the_other_token_of_a_cell_is_gone_back_to(page, address):
    page.goto(f"{address}#fig-1:layer=1,head=0,cell=21+3")
    go_live(page, 1)
    until(page, "document.querySelector('.token--target-pinned')?.dataset.token === '3'")
    page.locator(".token[data-token='8']").click()
    until(page, "location.hash.includes('pinned_token=8')")
    assert both_pinned(page) == ["8"]
    page.go_back()
    until(page, "document.querySelector('.token--target-pinned')?.dataset.token === '3'")
    assert both_pinned(page) == ["21", "3"]


def both_pinned(page):
    """The token that is pinned in the passage and its target, as far as there is one."""
    classes = ".token--pinned", ".token--target-pinned"
    found = (page.locator(each).all() for each in classes)
    return [token.get_attribute("data-token") for tokens in found for token in tokens]


def test_heads_singled_out_are_in_the_address(page, address):
    page.goto(address)
    walk(page, 7, "ArrowRight")
    still = ink(page, 7)
    page.keyboard.press("Enter")
    until(page, "location.hash.startsWith('#fig-7:layer=1,singled=')")
    (head,) = page.evaluate("location.hash.split('singled=')[1]")
    assert f"head {head}" in page.evaluate(SAID.format(7)).lower()
    painted(page)
    assert ink(page, 7) != still
    page.keyboard.press("Escape")
    until(page, "location.hash === '#fig-7:layer=1'")
    page.goto("about:blank")
    page.goto(f"{address}#fig-7:layer=1,singled=0+2+99")
    go_live(page, 7)
    page.locator("#fig-7 input[name=layer]").focus()
    page.keyboard.press("End")
    until(page, "location.hash === '#fig-7:layer=2,singled=0+2'")


# --- Keys: the same in every figure ---------------------------------------------------------------


@pytest.mark.parametrize("on", [on for on in live_page.PAGES if on != "models_address"])
def test_keys_walk_every_figure(page, request, on):
    page.goto(request.getfixturevalue(on))
    for number, name in enumerate(live_page.PAGES[on][1], 1):
        walks(page, number, least=1 if name == "score_origins" else 2)  # it may be one part


def walks(page, number, least=2):
    """Every panel is a stop of the Tab key, says how it is gone through, and says its points."""
    go_live(page, number)
    for panel, chart in enumerate(page.locator(f"#fig-{number} .live-figure__chart").all()):
        assert chart.get_attribute("role") == "application"
        label = chart.get_attribute("aria-label")
        for words in ("; ", "arrow", "Home", "Page Down", "Enter", "Escape"):
            assert words in label, number
        if not chart.is_visible():  # the other look of the same values, where one has room
            page.locator(f"#fig-{number} input[name^=view]:not(:checked)").check(force=True)
            chart.wait_for()
        focus(page, number, panel)
        width = "getComputedStyle(document.activeElement).outlineStyle"
        page.keyboard.press("Shift")  # so that the browser knows of a keyboard
        said = set()
        for key in ("ArrowRight", "ArrowRight", "ArrowRight", "End", "Home", "PageDown"):
            page.keyboard.press(key)
            told = page.evaluate(live_page.TOOLTIP)
            assert told, (number, key)
            announced = page.evaluate(SAID.format(number))
            assert all(value in announced for value in told.values()), (number, key)
            said.add(announced)
        assert len(said) >= least  # a panel may have three points
        assert page.evaluate(width) == "solid"
        page.keyboard.press("Escape")
        assert page.evaluate(live_page.TOOLTIP) == {}
        assert not page.evaluate(CURSOR.format(number))


def test_left_and_right_go_along_a_line_and_up_and_down_to_its_neighbours(page, address):
    page.goto(address)
    walk(page, 4, "ArrowRight")
    assert page.evaluate(CURSOR.format(4))
    places = []
    for key in ("ArrowUp", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowDown", "Home"):
        page.keyboard.press(key)
        told = page.evaluate(live_page.TOOLTIP)
        layer, _, _, rank = live_page.head_of(told)
        places.append((layer, rank))
    assert places == [(0, 1), (1, 1), (2, 1), (2, 1), (2, 0), (0, 0)]


def test_all_points_of_a_cloud_are_reached(page, address, data):
    page.goto(address)
    walk(page, 9, "Home")
    found = set()
    for _ in range(data.heads * (data.length - 1)):
        told = page.evaluate(live_page.TOOLTIP)
        found.add((told["current token"], told["head"]))
        page.keyboard.press("ArrowRight")
    assert len(found) == data.heads * (data.length - 1)


def test_the_pointer_and_the_keys_tell_the_same(page, address):
    page.goto(address)
    by_mouse = first_tooltip(page, 4)
    page.mouse.move(1, 1)
    walk(page, 4, "Home")
    layer, _, _, rank = live_page.head_of(by_mouse)
    for key in ("PageDown", *["ArrowRight"] * layer):
        page.keyboard.press(key)
    for _ in range(rank):
        page.keyboard.press("ArrowUp")
    assert page.evaluate(live_page.TOOLTIP) == by_mouse


def test_a_head_of_the_map_is_marked_in_the_titles_of_its_panels(page, grids):
    page.goto(grids)
    for number in (1, 4):
        go_live(page, number)
    page.set_viewport_size({"width": 1280, "height": 6000})
    painted(page)
    walk(page, 4, *["Home", "PageUp", "ArrowRight"])
    marked = page.locator("#fig-1 .live-figure__title--marked").all_inner_texts()
    assert marked == ["one-model L0H1"] * 2


# --- Of which text ------------------------------------------------------------------------------

MARKS = """async text => {
    const start = document.querySelector('script[src$="page/start.js"]').src;
    const { pin, pins, unpin } = await import(new URL('../reader/marks.js', start));
    const { figures } = await import(new URL('../figure/figure.js', start));
    const at = {token: 1, target: 1, position: 1, original: 1};
    const found = [];
    for (const figure of figures.values()) for (const chart of figure.charts) {
        const {view, params} = chart;
        const names = Object.keys(at).filter(name => view && params.has(`pinned_${name}`));
        if (!names.length) continue;
        pin({...at, text: text ?? chart.text});
        figure.inSight = true;
        figure.mark();
        found.push([figure.element.id, names.map(name => view.signal(`pinned_${name}`))]);
        unpin(Object.keys(at));
    }
    return found; }"""
"""For each chart that marks tokens or positions, what it marks of a text, or of its own."""


@pytest.mark.parametrize("name", live_page.PAGES)
def test_a_chart_marks_tokens_of_its_own_text_and_of_no_other(page, request, name):
    _, figures = live_page.PAGES[name]
    page.goto(request.getfixturevalue(name))
    for number in range(1, len(figures) + 1):
        go_live(page, number)
    painted(page)
    assert all({*marks} == {1} for _, marks in page.evaluate(MARKS))
    others = page.evaluate(MARKS, "00000000")
    assert all({*marks} == {-1} for _, marks in others)
    specs = [specified(figure, request.getfixturevalue) for figure in figures]
    assert {place for place, _ in others} == {
        f"fig-{number}" for number, spec in enumerate(specs, 1) if any(map(spec.count, OF_TOKENS))
    }


OF_TOKENS = ("pinned_token", "pinned_target", "pinned_position", "pinned_original")
"""What a specification of a figure that marks tokens names."""


def specified(name, fixture):
    """The specifications of all charts of a figure, as JSON."""
    figure, data = figure_named(name), live_page.data_of(name, fixture)
    return json.dumps([defaults.spec_of(figure, data, **each) for each in panels_of(figure, data)])


def in_another_text(page, address, fragment=""):
    """Open a page whose passage is another text than that of its figures."""

    def other(route):
        body = re.sub(r'data-text="\w+"', 'data-text="00000000"', route.fetch().text())
        route.fulfill(body=body, content_type="text/html")

    page.goto("about:blank")
    page.route(address, other)
    page.goto(f"{address}{fragment}")
    page.unroute(address)


def test_a_pin_is_in_one_text_on_the_page_and_in_a_link(page, address):
    in_another_text(page, address)
    walk(page, 1, "Home", "ArrowUp", "ArrowUp", "ArrowRight")
    assert page.locator(".token--marked, .token--target").count() == 0
    page.keyboard.press("Enter")
    until(page, "location.hash === '#fig-1:layer=1,head=0,cell=21+1,pinned_token=21'")
    hash_of_figure = page.evaluate("location.hash")
    says = "document.querySelector('.passage__says').textContent"
    until(page, f"{says}.includes('no token of this text')")
    assert page.locator(".token--pinned, .token--target-pinned").count() == 0
    page.locator(".token[data-token='6']").click()
    until(page, "location.hash.endsWith('pinned_token=6,pinned_text=00000000')")
    assert "cell" not in page.evaluate("location.hash")
    page.locator("#fig-1 .live-figure__note").wait_for(state="visible")
    hash_of_passage = page.evaluate("location.hash")
    page.keyboard.press("Escape")
    page.locator("#fig-1 .live-figure__note").wait_for(state="hidden")
    for fragment, inside in ((hash_of_figure, 0), (hash_of_passage, 1)):
        in_another_text(page, address, fragment)
        go_live(page, 1)
        painted(page)
        assert page.locator(".token--pinned").count() == inside
        assert page.locator("#fig-1 .live-figure__note:visible").count() == inside
        assert page.evaluate("location.hash") == fragment
        assert ("21" in page.evaluate(CHIPS)[0]) != inside


def test_a_pin_does_not_go_to_a_model_that_cuts_the_text_otherwise(page, models_address):
    def cut(route):
        file = route.fetch().json()
        file["tokens"][3] |= {"text": "cut", "label": "cut"}
        route.fulfill(json=file)

    page.route("**/000000000001/passage.json", cut)
    page.goto(models_address)
    walk(page, 1, "Home", "ArrowUp", "Enter")
    until(page, "location.hash.includes('cell=')")
    page.locator("#fig-1 input[value=step2000]").check(force=True)
    page.locator("#fig-1 .live-figure__note").wait_for(state="visible")
    until(page, "location.hash.includes('pinned_text=')")
    assert page.locator(".token--pinned").count() == 1
    walk(page, 1, "Home", "Enter")
    until(page, "document.querySelector('.token--pinned') === null")
    page.locator("#fig-1 .live-figure__note").wait_for(state="hidden")
    page.unroute("**/000000000001/passage.json")
