"""The passage shaded by attention: what a token attends to, and who attends to it."""

import numpy as np
import pytest

from tests.figures.live_page import go_live, resting_box, until
from tests.figures.tools import set_to
from tests.held import Held

pytestmark = pytest.mark.browser

SHADED = "document.querySelector('.passage--shaded') !== null"
LOOKED = """[...document.querySelectorAll('#passage .token')].map(
    token => Number(token.style.getPropertyValue('--looked')))"""
RANKS = """Object.fromEntries([...document.querySelectorAll('#passage .token')].flatMap(
    (token, n) => token.dataset.rank ? [[token.dataset.rank, n]] : []))"""
SAYS = "document.querySelector('.passage__says').textContent"
TURN, KEEP = (f".passage__button[data-act={act}]" for act in ("turn", "keep"))
KEPT = "getComputedStyle(document.querySelector('.passage-frame')).position === 'fixed'"
FAINTEST, LEAST, NUMBERED = 0.002, 0.02, 9


def token(page, index):
    return page.locator(f"#passage .token[data-token='{index}']")


def head_of(study, layer, head):
    """[query, key], 0 where a query sees no key."""
    return np.nan_to_num(study.attention(layer, head).probability)


def assert_shaded(page, shares):
    """The shades and the numbers of all tokens say `shares`, and so does the sentence."""
    expected = np.where(shares >= FAINTEST, np.sqrt(shares), 0)
    until(page, f"{LOOKED}.some(each => each > 0)")
    assert np.abs(np.array(page.evaluate(LOOKED)) - expected).max() < 0.002
    order = sorted(range(len(shares)), key=lambda each: (-shares[each], each))
    strongest = [each for each in order if shares[each] >= LEAST][:NUMBERED]
    assert list(page.evaluate(RANKS).values()) == strongest
    said = page.evaluate(SAYS)
    assert all(f"{each} “" in said for each in strongest[:3])
    assert f"{round(100 * shares[strongest[0]])}\u202f%" in said


@pytest.mark.parametrize("index", [0, 23])
def test_a_token_that_is_pointed_at_shades_what_it_attends_to(page, address, data, index):
    page.goto(address)
    token(page, index).hover()
    until(page, SHADED)
    state = page.evaluate(
        """() => Object.fromEntries(['layer', 'head'].map(name =>
        [name, Number(document.querySelector(`#fig-1 input[name=${name}]`).value)]))"""
    )
    assert_shaded(page, head_of(data, **state)[index])
    assert page.evaluate(SAYS).endswith(f"(layer {state['layer']}, head {state['head']}).")


def test_the_shades_are_of_the_head_of_the_figure_that_was_used_last(page, address, data):
    page.goto(address)
    go_live(page, 1)
    go_live(page, 2)
    set_to(page, 1, layer=2, head=1)
    set_to(page, 2, layer=0, head=3)
    page.locator("#fig-2 input[name=layer]").focus()
    token(page, 20).hover()
    until(page, f"{SAYS}.includes('layer 0, head 3')")
    assert_shaded(page, head_of(data, 0, 3)[20])
    token(page, 20).click()
    page.mouse.move(1, 1)
    page.locator("#fig-1 input[name=layer]").focus()
    page.keyboard.press("Home")
    until(page, f"{SAYS}.includes('layer 0, head 1')")
    page.locator("#fig-1 input[name=layer]").blur()
    assert_shaded(page, head_of(data, 0, 1)[20])


def test_the_switch_and_alt_turn_the_shades_round(page, address, data):
    page.goto(f"{address}#fig-1:layer=1,head=0")
    resting_box(page, 1)  # the address scrolls there, away from a pointer that was at the text
    token(page, 3).hover()
    until(page, f"{SAYS}.startsWith('Token 3 ')")  # what stands there at first has the words too
    page.keyboard.down("Alt")
    until(page, f"{SAYS}.includes('gets attention from')")
    assert_shaded(page, head_of(data, 1, 0)[:, 3])
    page.keyboard.up("Alt")
    until(page, f"{SAYS}.includes('attends to')")
    page.locator(TURN).click()
    assert page.locator(TURN).get_attribute("aria-pressed") == "true"
    token(page, 5).hover()
    until(page, f"{SAYS}.includes('Token 5 ')")
    assert "gets attention from" in page.evaluate(SAYS) or "no token" in page.evaluate(SAYS)
    assert_shaded(page, head_of(data, 1, 0)[:, 5])


def test_the_keys_shade_and_are_told(page, address, data):
    page.goto(address)
    page.locator("#passage .token").first.focus()  # which brings the scripts
    token(page, 0).wait_for()  # of keys that are pressed before they have come, the last one counts
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    until(page, f"{SAYS}.startsWith('Token 2 ')")
    ids = token(page, 2).get_attribute("aria-describedby").split()
    told = " ".join(page.locator(f"#{each}").inner_text() for each in ids)
    assert "token 2, id" in told
    assert "attends to" in told
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    until(page, f"!({SHADED})")
    assert max(page.evaluate(LOOKED)) == 0
    assert page.evaluate(RANKS) == {}
    assert page.evaluate(SAYS).startswith("Point at a token")


def test_a_finger_shades(phone, address, data):
    phone.goto(address)
    phone.locator("#passage .token").nth(9).tap()
    until(phone, f"{SAYS}.startsWith('Token 9 ')")
    phone.locator(TURN).tap()
    until(phone, f"{SAYS}.includes('gets attention from')")
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("act", ["turn", "keep"])
def test_a_button_is_obeyed_before_its_script_has_come(page, address, act):
    held = Held(page, "**/reader/shading.js")
    page.goto(address)
    button = page.locator(f".passage__button[data-act={act}]")
    button.click()
    page.wait_for_timeout(200)
    assert button.get_attribute("aria-pressed") == "false"
    held.release()
    until(page, f"document.querySelector('[data-act={act}]').ariaPressed === 'true'")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"


def test_the_text_can_be_kept_in_view(page, address, data):
    """Above its own place and below it; what a link leads to is not under it, and nothing moves."""
    page.goto(address)
    place = "document.querySelector('#passage').getBoundingClientRect()"
    figure = "document.querySelector('#fig-3').getBoundingClientRect()"
    into = "document.querySelector('#fig-3').scrollIntoView({behavior: 'instant'})"
    go_live(page, 3)
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    before = page.evaluate(f"{figure}.top + scrollY")
    page.locator(KEEP).click()
    until(page, KEPT)
    assert page.evaluate(f"{figure}.top + scrollY") == pytest.approx(before, abs=1)
    for move in (into, "scrollTo({top: 0, behavior: 'instant'})"):
        page.evaluate(move)
        assert page.evaluate(f"{place}.top >= 0 && {place}.bottom < innerHeight / 2")
    page.evaluate(into)
    assert page.evaluate(f"{figure}.top > {place}.bottom")
    width = page.evaluate(f"{place}.width")
    page.set_viewport_size({"width": 600, "height": 900})
    until(page, f"{place}.width < {width} && {place}.right <= innerWidth")
    page.locator(KEEP).click()
    page.evaluate(into)
    assert page.evaluate(f"{place}.bottom < 0")


def test_a_token_that_is_marked_in_a_figure_is_brought_into_the_strip(page, address, data):
    page.set_viewport_size({"width": 500, "height": 700})
    page.goto(address)
    page.locator(KEEP).click()
    until(page, KEPT)
    page.evaluate("document.querySelector('#passage').style.maxHeight = '40px'")
    go_live(page, 1)
    page.locator("#fig-1 .live-figure__chart").focus()
    page.keyboard.press("End")  # the last row
    last = page.evaluate("document.querySelectorAll('#passage .token').length - 1")
    until(page, f"document.querySelector('.token--marked')?.dataset.token === '{last}'")
    inside = """(() => { const box = document.querySelector('#passage').getBoundingClientRect();
        const token = document.querySelector('.token--marked').getBoundingClientRect();
        return token.top >= box.top - 1 && token.bottom <= box.bottom + 1; })()"""
    until(page, inside)


def test_a_head_that_cannot_be_fetched_is_said_and_tried_again(page, address, data):
    page.expected = ("404", "could not be loaded")
    page.route("**/attention/**", lambda route: route.fulfill(status=404))
    page.goto(address)
    token(page, 4).hover()
    until(page, f"{SAYS}.startsWith('The text could not be shaded (')")
    assert "answered 404" in page.evaluate(SAYS)
    page.unroute("**/attention/**")
    token(page, 6).hover()
    until(page, f"{SAYS}.startsWith('Token 6 ')")


def test_the_text_of_a_table_is_shaded_too(page, tables_address, table):
    page.goto(tables_address)
    token(page, 12).hover()
    until(page, SHADED)
    state = {
        name: int(page.locator(f"#fig-1 input[name={name}]").input_value())
        for name in ("layer", "head")
    }
    assert_shaded(page, head_of(table, **state)[12])


def choose_the_second(page):
    go_live(page, 1)
    page.locator("#fig-1 input[value=step2000]").check(force=True)


def test_the_shades_are_of_the_model_that_is_chosen(page, models_address, models):
    page.goto(models_address)
    choose_the_second(page)
    token(page, 9).hover()
    until(page, f"{SAYS}.includes('of step2000)')")
    layer, head = (
        int(page.locator(f"#fig-1 input[name={name}]").input_value()) for name in ("layer", "head")
    )
    assert_shaded(page, head_of(models.models[1], layer, head)[9])


def test_a_model_that_cuts_the_text_differently_shades_nothing(page, models_address):
    page.goto(models_address)
    page.evaluate("[...document.querySelectorAll('#passage .token')].at(-1).remove()")
    choose_the_second(page)
    token(page, 2).hover()
    until(page, f"{SAYS} === 'step2000 cuts this text into other tokens.'")
    assert not page.evaluate(SHADED)
