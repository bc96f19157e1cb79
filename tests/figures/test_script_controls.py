"""Sliders, switches, addresses, marks: what a reader does."""

import pytest

from tests.figures.live_page import (
    first_tooltip,
    go_live,
    ink,
    painted,
    until,
)
from tests.figures.tools import open_more

pytestmark = pytest.mark.browser


def test_all_figures_draw_and_their_tooltips_have_readable_names(page, address):
    page.goto(address)
    expected = {
        1: {"title", "current token", "target token", "score"},
        2: {"title", "current token", "target token",
            "content term", "bias term", "ALiBi term"},
        3: {"target token", "bias term", "ALiBi term"},
        4: {"title"},
        5: {"title"},
        6: {"title"},
        7: {"title"},
        8: {"title"},
        9: {"current token", "head", "top target", "orientation", "magnitude"},
        10: {"current token", "head", "top target", "magnitude"},
    }  # fmt: skip
    for number, names in expected.items():
        assert first_tooltip(page, number).keys() == names, number
        assert ink(page, number)[0] > 2000, number


def test_a_slider_step_changes_picture_tooltip_value_and_address(page, address):
    page.goto(address)
    go_live(page, 1)
    before = ink(page, 1), first_tooltip(page, 1)
    page.locator("#fig-1 input[name=head]").focus()
    page.keyboard.press("End")
    until(page, "location.hash === '#fig-1:layer=1,head=3'")
    assert page.inner_text("#fig-1 label:has(input[name=head]) output") == "3"
    assert page.get_attribute("#fig-1 input[name=head]", "aria-valuetext") == "Head 3"
    painted(page)
    after = ink(page, 1), first_tooltip(page, 1)
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_the_shade_of_a_map_is_a_look_that_links_and_steps_back_keep(page, address):
    page.goto(address)
    go_live(page, 1)
    before = ink(page, 1)
    open_more(page, 1)
    page.locator("#fig-1 label:has(input[value=score])").click()
    until(page, "location.hash === '#fig-1:layer=1,head=0,shade=score'")
    painted(page)
    assert ink(page, 1) != before
    page.locator("#fig-1 input[name=head]").focus()
    page.keyboard.press("End")
    until(page, "location.hash === '#fig-1:layer=1,head=3,shade=score'")
    page.go_back()
    page.go_back()
    until(page, "document.querySelector('#fig-1 input[value=probability]').checked")
    assert "shade" not in page.evaluate("location.hash")  # as it came: it need not be said


def test_seldom_controls_stand_behind_a_word_that_keys_and_addresses_open(page, address):
    shade = page.locator("#fig-1 input[value=score]")
    for fragment, opens in (("#fig-1:shade=score", True), ("#fig-1:layer=2", False)):
        page.goto("about:blank")
        page.goto(f"{address}{fragment}")
        go_live(page, 1)
        assert shade.is_visible() == opens
    page.locator("#fig-1 input[name=head]").focus()
    for key in ("Tab", "Tab", "Enter", "Tab", "ArrowRight"):  # by way of tokens or words
        page.keyboard.press(key)
    until(page, "location.hash.includes('shade=below')")
    assert shade.is_visible()


VALUES = """number => Object.fromEntries([...document.querySelectorAll(
    `#fig-${number} :is(input[type=range], input[name^=source]:checked)`)].map(
    input => [input.name.split('-')[0], input.value]))"""


@pytest.mark.parametrize(
    ("number", "said", "expected"),
    [
        (2, "layer=99,head=1,sort_idx=4,colour=red", {"layer": "2", "head": "1", "sort_idx": "4"}),
        (4, "source=foo", {"source": "passage"}),
        (1, "layer=foo,head=2", {"layer": "1", "head": "2"}),
    ],
)
def test_the_address_restores_a_figure_as_far_as_it_can(page, address, number, said, expected):
    page.goto(f"{address}#fig-{number}:{said}")
    go_live(page, number)
    assert page.evaluate(VALUES, number) == expected
    top = f"document.querySelector('#fig-{number}').getBoundingClientRect().top"
    until(page, f"{top} < 450")


def test_a_token_is_marked_by_pointer_and_focus_and_pinned_by_enter_until_escape(page, address):
    page.goto(address)
    go_live(page, 3)
    still = ink(page, 3)[0]
    page.locator(".token[data-token='7']").hover()
    assert page.get_attribute(".token--marked", "data-token") == "7"
    page.locator("#fig-1 figcaption strong").hover()
    assert page.locator(".token--marked").count() == 0
    page.locator(".token[data-token='0']").focus()
    page.keyboard.press("ArrowRight")
    page.locator("#fig-1 figcaption strong").hover()
    assert page.get_attribute(".token--marked", "data-token") == "1"
    assert page.locator(".token--pinned").count() == 0
    page.keyboard.press("Enter")
    assert page.get_attribute(".token--pinned", "data-token") == "1"
    page.keyboard.press("ArrowRight")
    assert page.get_attribute(".token--marked", "data-token") == "2"
    assert page.get_attribute(".token--pinned", "data-token") == "1"
    go_live(page, 3)
    page.locator(".token:focus").evaluate("token => token.blur()")
    painted(page)
    with_guide = ink(page, 3)[0]
    page.mouse.move(1, 1)
    page.keyboard.press("Escape")
    assert page.locator(".token--marked, .token--pinned").count() == 0
    painted(page)
    # redrawing a part moves the antialiasing of some pixels; the guide has hundreds
    assert abs(ink(page, 3)[0] - still) < 60 < with_guide - still


@pytest.mark.parametrize("kind", ["line", "area", "trail"])
def test_an_outline_is_no_token(page, address, kind):
    page.goto(address)
    go_live(page, 1)
    heard = page.evaluate(  # what Vega tells of a line: the data of its first point
        """kind => import(new URL('../../assets/reader/items.js', location)).then(({ items }) => {
        const heard = {};
        const view = {addEventListener: (type, act) => heard[type] = act};
        const canvasBox = document.querySelector('.live-figure__chart');
        const {text} = document.getElementById('passage').dataset;
        items({canvasBox, view, text, report: {}, figure: {state: {}}});
        return [kind, 'symbol'].map(marktype => {
            const item = {datum: {token: 5}, tooltip: {a: 1}, mark: {marktype}};
            heard.pointermove({pointerType: 'mouse'}, item);
            return document.querySelectorAll('.token--marked').length; }); })""",
        kind,
    )
    assert heard == [0, 1]


def test_a_token_tells_its_index_and_id_to_the_keyboard(page, address, data):
    page.goto(address)
    page.locator(".token[data-token='0']").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".token[data-token='1']:focus")  # the script comes with the first key
    tip = page.locator(".passage__tip")
    assert tip.is_visible()
    assert tip.inner_text().endswith(f"token 1, id {data.tokens[1].id}")
    # in a box whose size and layout are its own: no line of the text is broken anew for a tip
    contained = tip.evaluate("each => getComputedStyle(each.parentElement).contain")
    assert {"size", "layout"} <= set(contained.split())
    token = page.locator(".token:focus")
    assert token.get_attribute("aria-describedby").split()[0] == tip.get_attribute("id")
    assert token.get_attribute("title") is None  # it would show twice
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.locator(".token[data-token='4']").hover()
    assert tip.inner_text().endswith(f"token 4, id {data.tokens[4].id}")


def test_heads_are_singled_out_by_click_and_return_with_escape(page, address):
    page.goto(address)
    first_tooltip(page, 7)  # leaves the pointer on a bar
    page.mouse.down()
    page.mouse.up()
    painted(page)
    one = ink(page, 7)
    page.keyboard.press("Escape")
    painted(page)
    all_heads = ink(page, 7)
    assert one != all_heads
    assert one[0] == pytest.approx(all_heads[0], rel=0.02)  # the total stays, in grey
