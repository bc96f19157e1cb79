"""The passage shaded by attention: what a token attends to, and who attends to it."""

import numpy as np
import pytest

from report.datasets.formats.attention import of_regions
from tests.figures.live_page import go_live, resting_box, until
from tests.figures.test_script_marks import in_another_text
from tests.figures.tools import set_to
from tests.held import Held

pytestmark = pytest.mark.browser

SHADED = "document.querySelector('.passage--shaded') !== null"
LOOKED = """[...document.querySelectorAll('#passage .token')].map(
    token => Number(token.style.getPropertyValue('--looked')))"""
RANKS = """Object.fromEntries([...document.querySelectorAll('#passage .token')].flatMap(
    (token, n) => token.dataset.rank ? [[token.dataset.rank, n]] : []))"""
SAYS = "document.querySelector('.passage__says').textContent"
GETS, KEEP, OUT = (f".passage__button[data-act={act}]" for act in ("gets", "keep", "out"))
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
    told = [f"{round(100 * shares[each])}\u202f%" for each in strongest[:3]]
    places = [
        said.index(f"{each} to ") if f"{each} to " in said else said.index(f"{each} from ")
        for each in told
    ]
    assert places == sorted(places)


def sliders(page, number):
    """The layer and the head that a figure is set to."""
    names = ("layer", "head")
    return [int(page.locator(f"#fig-{number} input[name={each}]").input_value()) for each in names]


def chosen(page):
    """Those that the lists above the passage stand at."""
    return [
        int(page.locator(f".passage__bar select[name={each}]").input_value())
        for each in ("layer", "head")
    ]


@pytest.mark.parametrize("index", [0, 23])
def test_a_token_that_is_pointed_at_shades_what_it_attends_to(page, address, data, index):
    page.goto(address)
    token(page, index).hover()
    until(page, SHADED)
    layer, head = sliders(page, 1)
    assert_shaded(page, head_of(data, layer, head)[index])
    assert page.evaluate(SAYS).startswith(f"L{layer}H{head} of ")
    shares = head_of(data, layer, head)[index]
    first_line, second = page.inner_text(".passage__tip").split("\n")
    top = data.tokens[shares.argmax()].text.strip() or data.tokens[shares.argmax()].label
    assert first_line == f"gives {round(100 * shares.max())}\u202f% to “\u2068{top}\u2069”"
    assert second == f"token {index}, id {data.tokens[index].id}"


@pytest.mark.parametrize("out", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_the_shades_are_of_the_words_that_the_map_is_of(page, address, data, turned, out):
    """All tokens of a word have its shade, and one number; its sentence has the word's text."""
    page.goto(address)
    set_to(page, 1, by="words")
    token(page, 20).hover()
    until(page, SHADED)
    for act in [*([GETS] if turned else []), *([OUT] if out else [])]:
        page.click(act)
    token(page, 20).hover()
    layer, head = sliders(page, 1)
    firsts = data.regions["words"]
    given = of_regions(data.attention(layer, head), firsts).probability
    if out:  # of each row, without the first word, whose only token is the first
        given = given / given[:, firsts[1:]].sum(1, keepdims=True).clip(1e-300)
        given[:, 0] = 0
    shares = given[:, 20] if turned else given[20]
    expected = np.where(shares >= FAINTEST, np.sqrt(shares), 0)
    until(page, f"Math.max(...{LOOKED}) > 0")
    assert np.abs(np.array(page.evaluate(LOOKED)) - expected).max() < 0.002
    order = sorted(firsts, key=lambda each: (-shares[each], each))
    ranked = [each for each in order if shares[each] >= LEAST][:NUMBERED]
    assert list(page.evaluate(RANKS).values()) == ranked
    assert " word" in page.evaluate(SAYS)
    assert " token" not in page.evaluate(SAYS)


def test_the_passage_and_its_figure_have_one_layer_and_head(page, address, data):
    page.goto(address)
    go_live(page, 1)
    token(page, 20).click()
    set_to(page, 1, layer=2, head=1)
    until(page, f"{SAYS}.startsWith('L2H1 ')")
    assert chosen(page) == [2, 1]
    assert_shaded(page, head_of(data, 2, 1)[20])
    page.locator(".passage__bar select[name=layer]").select_option("0")
    page.locator(".passage__bar select[name=head]").select_option("3")
    until(page, f"{SAYS}.startsWith('L0H3 ')")
    assert sliders(page, 1) == [0, 3]
    until(page, "location.hash.startsWith('#fig-1:') && location.hash.includes('layer=0,head=3')")
    assert_shaded(page, head_of(data, 0, 3)[20])
    go_live(page, 2)
    set_to(page, 2, layer=1, head=0)
    assert (sliders(page, 1), chosen(page)) == ([0, 3], [0, 3])  # another figure's head is its own
    page.go_back()
    page.go_back()
    until(page, f"{SAYS}.startsWith('L0H1 ')")  # before its head was chosen
    assert chosen(page) == sliders(page, 1)


def test_the_switch_and_alt_turn_the_shades_round(page, address, data):
    page.goto(f"{address}#fig-1:layer=1,head=0")
    resting_box(page, 1)  # the address scrolls there, away from a pointer that was at the text
    token(page, 3).hover()
    until(page, f"{SAYS}.includes(' gives ')")
    page.keyboard.down("Alt")
    until(page, f"{SAYS}.includes(' gets ')")
    assert_shaded(page, head_of(data, 1, 0)[:, 3])
    page.keyboard.up("Alt")
    until(page, f"{SAYS}.includes(' gives ')")
    page.locator(GETS).click()
    assert page.locator(GETS).get_attribute("aria-pressed") == "true"
    token(page, 5).hover()
    until(page, f"{SAYS}.includes(' gets ')")
    assert_shaded(page, head_of(data, 1, 0)[:, 5])
    page.locator("[data-act=gives]").click()
    token(page, 5).hover()
    until(page, f"{SAYS}.includes(' gives ')")


def test_a_token_that_gets_little_is_told_from_whom(page, address, data):
    got = head_of(data, 0, 2)[:, 23]
    assert got.max() < LEAST
    page.goto(f"{address}#fig-1:layer=0,head=2")
    page.locator(GETS).click()
    token(page, 23).hover()
    until(page, f"{SAYS}.includes(' gets little, at most ')")
    assert "less than 1\u202f% from" in page.evaluate(SAYS)
    assert page.evaluate(RANKS) == {}


def test_without_the_first_token_the_others_share_the_rest(page, address, data):
    whole = head_of(data, 1, 1)
    assert whole[3, 0] > 0.9
    page.goto(f"{address}#fig-1:layer=1,head=1")
    resting_box(page, 1)
    token(page, 3).hover()
    until(page, f"{SAYS}.includes('Leave out the first token')")  # where it has nearly all
    page.locator(OUT).click()
    token(page, 12).hover()
    until(page, f"{SAYS}.includes('left out; of the rest')")
    rest = np.where(np.arange(24) > 0, whole, 0)
    rest = rest / np.maximum(rest.sum(1, keepdims=True), 1e-30)
    assert f"{round(100 * whole[12, 0])}\u202f%" in page.evaluate(SAYS)
    assert_shaded(page, rest[12])
    token(page, 0).hover()
    until(page, f"{SAYS}.includes('nothing else gets any')")
    page.locator(GETS).click()
    token(page, 12).hover()
    until(page, f"{SAYS}.includes(' gets ')")
    assert_shaded(page, rest[:, 12])
    token(page, 0).hover()
    until(page, f"{RANKS}[1] === 0")
    assert_shaded(page, whole[:, 0])  # of the first token itself, all is told


def test_the_keys_shade_and_are_told(page, address, data):
    page.goto(address)
    page.locator("#passage .token").first.focus()  # which brings the scripts
    token(page, 0).wait_for()  # of keys that are pressed before they have come, the last one counts
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    until(page, "document.querySelector('.passage__tip').textContent.includes('token 2, id')")
    until(page, f"{SAYS}.includes(' gives ')")
    ids = token(page, 2).get_attribute("aria-describedby").split()
    told = " ".join(page.locator(f"#{each}").inner_text() for each in ids)
    assert "token 2, id" in told
    assert "gives" in told
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    until(page, f"!({SHADED})")
    assert max(page.evaluate(LOOKED)) == 0
    assert page.evaluate(RANKS) == {}
    assert page.evaluate(SAYS).startswith("Point at a token")


def test_a_finger_shades(phone, address, data):
    phone.goto(address)
    phone.locator("#passage .token").nth(9).tap()
    until(phone, f"{SAYS}.includes(' gives ')")
    phone.locator(GETS).tap()
    until(phone, f"{SAYS}.includes(' gets ')")
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("act", ["out", "keep"])
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
    strip = "document.querySelector('.passage-frame').getBoundingClientRect()"
    assert page.evaluate(f"{strip}.height <= innerHeight / 5")
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


INSIDE = """selector => { const box = document.querySelector('#passage').getBoundingClientRect();
    const token = document.querySelector(selector).getBoundingClientRect();
    return token.top >= box.top - 1 && token.bottom <= box.bottom + 1; }"""


def test_the_strip_shows_the_pinned_token_and_one_that_is_marked_in_a_figure(phone, address, data):
    page = phone
    page.set_viewport_size({"width": 390, "height": 500})
    page.goto(address)
    page.locator("#passage .token").nth(22).tap()
    page.wait_for_selector(".token--pinned")  # of taps before the scripts come, the last counts
    page.locator(KEEP).tap()
    until(page, KEPT)
    assert page.evaluate("document.querySelector('#passage').clientHeight") < page.evaluate(
        "document.querySelector('#passage').scrollHeight"
    )
    until(page, f"({INSIDE})('.token--pinned')")
    go_live(page, 1)
    page.locator("#fig-1 .live-figure__chart").focus()
    for _ in range(3):
        page.keyboard.press("PageUp")
    until(page, "Number(document.querySelector('.token--marked')?.dataset.token) < 3")
    until(page, f"({INSIDE})('.token--marked')")


def test_the_strip_goes_with_the_figure_in_view(page, address, data):
    page.goto(address)
    token(page, 20).click()
    page.locator(KEEP).click()
    until(page, KEPT)
    for number, (layer, head) in {2: (2, 1), 3: (1, 0)}.items():
        go_live(page, number)
        set_to(page, number, layer=layer, head=head)
        page.evaluate(f"document.querySelector('#fig-{number}').scrollIntoView()")
        until(page, f"{SAYS}.includes('(Figure {number})')")
        until(page, f"{SAYS}.startsWith('L{layer}H{head} ')")
        assert chosen(page) == [layer, head]
        assert_shaded(page, head_of(data, layer, head)[20])
    go_live(page, 8)
    page.evaluate("document.querySelector('#fig-8').scrollIntoView()")
    assert "(Figure 3)" in page.evaluate(SAYS)  # this one shows all heads of a layer
    page.locator(KEEP).click()
    until(page, f"{SAYS}.includes('(Figure 1)')")
    assert chosen(page) == sliders(page, 1)


def test_a_head_that_cannot_be_fetched_is_said_and_tried_again(page, address, data):
    page.expected = ("404", "could not be loaded")
    page.route("**/attention/**", lambda route: route.fulfill(status=404))
    page.goto(address)
    token(page, 4).hover()
    until(page, f"{SAYS}.startsWith('The text could not be shaded (')")
    assert "answered 404" in page.evaluate(SAYS)
    page.unroute("**/attention/**")
    token(page, 6).hover()
    until(page, f"{SAYS}.includes(' gives ')")


def test_the_text_of_a_table_is_shaded_too(page, table_address, table):
    page.goto(table_address)
    token(page, 12).hover()
    until(page, SHADED)
    assert_shaded(page, head_of(table, *sliders(page, 1))[12])


def choose_the_second(page):
    go_live(page, 1)
    page.locator("#fig-1 input[value=step2000]").check(force=True)


def test_the_shades_are_of_the_model_that_is_chosen(page, models_address, models):
    page.goto(models_address)
    choose_the_second(page)
    token(page, 9).hover()
    until(page, f"{SAYS}.includes(' of step2000 ')")
    layer, head = sliders(page, 1)
    assert_shaded(page, head_of(models.models[1], layer, head)[9])


def test_a_model_that_cuts_the_text_differently_shades_nothing(page, models_address):
    in_another_text(page, models_address)
    choose_the_second(page)
    token(page, 2).hover()
    until(page, f"{SAYS}.includes('of step2000') && {SAYS}.includes('into other tokens')")
    assert chosen(page) == sliders(page, 1)
    assert not page.evaluate(SHADED)
