"""The address of a figure's state: shared, restored, gone back and forward to."""

import pytest

from tests.figures.live_page import first_tooltip, go_live, ink, ink_at_rest, resting, until
from tests.figures.tools import open_more

pytestmark = pytest.mark.browser

PARSED = """hash => import('/assets/reader/address.js').then(({parsed}) => {
    const found = parsed(hash); return found && [found.id, Object.fromEntries(found.values)]; })"""
VALUE = "document.querySelector('#fig-{} input[name={}]').value"
COUNT = "history.length"
HOSTILE = [
    "#fig-1:",
    "#fig-1:layer",
    "#fig-1:layer=%E0%A4%A",
    "#fig-1:layer=-99999999999999999999999999,head=NaN",
    "#fig-1:__proto__=1,constructor=2,toString=3",
    "#fig-1:layer=1e1,head=0x1,head=%00",
    "#fig-99:layer=1",
    "#__proto__:layer=1",
    "#fig-1:head=<img src=x onerror=alert(1)>",
    "#fig-1:" + ",".join(f"key{n}={n}" for n in range(5000)),
    '#"]*:layer=1',
]


def wait_for(page, number, name, value):
    until(page, f"{VALUE.format(number, name)} === '{value}'")


def press(page, number, name, key):
    go_live(page, number)
    slider = page.locator(f"#fig-{number} input[name={name}]")
    if not slider.is_visible():
        open_more(page, number)
    slider.focus()
    page.keyboard.press(key)


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        ("#fig-1:layer=2,head=5", ["fig-1", {"layer": "2", "head": "5"}]),
        ("#fig-1:layer=2%2Chead=5", ["fig-1", {"layer": "2", "head": "5"}]),
        ("#fig-1%3Alayer%3D2%2Chead%3D5", ["fig-1", {"layer": "2", "head": "5"}]),
        ("#fig-1:found=L3H0%2CL5H5", ["fig-1", {"found": "L3H0,L5H5"}]),
        ("#fig-1%3Afound%3DL3H0%252CL5H5", ["fig-1", {"found": "L3H0,L5H5"}]),
        ("#fig-1:found=a%2C%20b%3Dc%2Chead=2", ["fig-1", {"found": "a, b=c", "head": "2"}]),
        ("#fig-7:singled=0+3", ["fig-7", {"singled": "0+3"}]),
        ("#fig-7:singled=0%2B3,", ["fig-7", {"singled": "0+3"}]),
        ("#fig-1:layer=1=2,head=5,=3,x=", ["fig-1", {"head": "5"}]),
        ("#fig-1", None),
        ("#fig-1:layer", None),
        ("", None),
    ],
)
def test_fragments_are_read_as_they_come_through_mail_and_chat(scripts, fragment, expected):
    assert scripts.evaluate(PARSED, fragment) == expected


@pytest.mark.parametrize(
    "values",
    [
        {"layer": 2, "target": "a, b = c: d%#é", "singled": "1+2"},
        {"found": "L3H0,L5H5"},
        {"found": "previous > 0.9,entropy<=1"},
    ],
)
def test_what_is_written_is_read_again(scripts, values):
    written = scripts.evaluate(
        "values => import('/assets/reader/address.js').then(m => m.fragment('fig-3', values))",
        values,
    )
    assert scripts.evaluate(PARSED, written) == ["fig-3", {k: str(v) for k, v in values.items()}]


def test_a_hostile_fragment_changes_nothing(page, address):
    page.goto(address)
    before = page.input_value("#fig-1 input[name=head]")
    for fragment in HOSTILE:
        page.goto("about:blank")
        page.goto(address + fragment)
        go_live(page, 1)
        assert page.input_value("#fig-1 input[name=head]") == before, fragment
        assert int(page.input_value("#fig-1 input[name=layer]")) in range(3), fragment
        assert page.evaluate("Object.keys(Object.prototype).length") == 0, fragment


def test_the_address_of_a_figure_opens_it_as_it_is(page, address):
    page.goto(address)
    press(page, 2, "sort_idx", "ArrowRight")
    press(page, 2, "head", "End")
    until(page, "location.hash === '#fig-2:layer=1,head=3,sort_idx=1'")
    ink_at_rest(page, 2)
    told = first_tooltip(page, 2)
    shared = page.evaluate("location.href")
    page.goto("about:blank")
    page.goto(shared)
    ink_at_rest(page, 2)
    assert first_tooltip(page, 2) == told != {}
    assert page.input_value("#fig-2 input[name=sort_idx]") == "1"
    link = page.evaluate("document.querySelector('#fig-2 a[data-link-data]').href")
    assert link.endswith("/attention/1/3.json")


@pytest.mark.first_visit
def test_back_and_forward_step_through_settled_changes(page, address):
    page.goto(address)
    go_live(page, 4)
    before, passage = page.evaluate(COUNT), ink(page, 4)
    open_more(page, 4)
    page.check("#fig-4 input[value=corpus]")
    until(page, "location.hash === '#fig-4:source=corpus'")
    corpus = ink(page, 4)
    assert corpus != passage
    open_more(page, 5)
    page.check("#fig-5 input[value=corpus]")
    until(page, "location.hash === '#fig-5:source=corpus'")
    assert page.evaluate(COUNT) == before + 2
    checked = "document.querySelector('#fig-{} input[name^=source]:checked').value === '{}'"
    page.go_back()
    until(page, checked.format(5, "passage"))
    until(page, checked.format(4, "corpus"))
    assert page.evaluate("location.hash") == "#fig-4:source=corpus"
    page.go_back()
    until(page, checked.format(4, "passage"))
    assert page.evaluate("location.hash") == ""
    page.go_forward()
    until(page, checked.format(4, "corpus"))
    page.wait_for_timeout(100)
    assert ink(page, 4) == corpus
    page.go_forward()
    until(page, checked.format(5, "corpus"))


NEVER_SETTLED = """const wait = window.setTimeout;
window.setTimeout = (act, after, ...more) => wait(act, after === 1000 ? 1e6 : after, ...more);"""
"""A busy machine may take longer than the second without a change that settles one; then only what
a reader does settles it."""


@pytest.mark.first_visit
def test_a_drag_is_one_step_back(page, address):
    page.add_init_script(NEVER_SETTLED)
    page.goto(address)
    go_live(page, 1)
    before = page.evaluate(COUNT)
    page.evaluate("window.scrollBy(0, -200)")
    box = resting(page.locator("#fig-1 input[name=head]"))
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 14, middle)
    page.mouse.down()
    for part, value in ((0.33, 1), (0.66, 2), (0.96, 3)):
        page.mouse.move(box["x"] + part * box["width"], middle, steps=3)
        wait_for(page, 1, "head", value)
        until(page, f"location.hash === '#fig-1:layer=1,head={value}'")
    assert page.evaluate(COUNT) == before + 1
    page.mouse.up()
    press(page, 1, "layer", "End")
    until(page, "location.hash === '#fig-1:layer=2,head=3'")
    assert page.evaluate(COUNT) == before + 2
    page.go_back()
    wait_for(page, 1, "layer", 1)
    assert page.input_value("#fig-1 input[name=head]") == "3"
    page.go_back()
    wait_for(page, 1, "head", 0)


def test_linked_figures_go_together_and_back(page, address):
    page.goto(address)
    go_live(page, 2)
    open_more(page, 2)
    page.check("#fig-2 input[data-link]")
    press(page, 2, "head", "End")
    until(page, "location.hash.startsWith('#fig-2:layer=1,head=3')")
    assert page.input_value("#fig-3 input[name=head]") == "3"
    page.go_back()
    wait_for(page, 2, "head", 0)
    assert page.input_value("#fig-3 input[name=head]") == "0"
    open_more(page, 1)
    page.uncheck("#fig-1 input[data-link]")
    press(page, 3, "head", "End")
    until(page, "location.hash.startsWith('#fig-3:layer=1,head=3')")
    assert [page.input_value(f"#fig-{number} input[name=head]") for number in (1, 2)] == ["0", "0"]


def test_a_link_to_a_figure_changes_no_state_and_is_gone_back_from(page, address):
    page.goto(address)
    go_live(page, 4)
    open_more(page, 4)
    page.check("#fig-4 input[value=corpus]")
    until(page, "location.hash === '#fig-4:source=corpus'")
    page.evaluate("location.hash = '#fig-9'")
    until(page, "document.querySelector('#fig-9').getBoundingClientRect().top < 400")
    assert page.locator("#fig-4 input[name^=source]:checked").get_attribute("value") == "corpus"
    page.evaluate("location.hash = '#fig-2:head=2'")  # as a link in the prose does
    wait_for(page, 2, "head", 2)
    until(page, "document.querySelector('#fig-2').getBoundingClientRect().top < 450")
    page.go_back()
    wait_for(page, 2, "head", 0)
    assert page.evaluate("location.hash") == "#fig-9"


def test_the_state_that_material_keeps_in_the_history_stays(page, address):
    page.goto(address)
    page.evaluate("history.replaceState({x: 0, y: 7}, '')")
    press(page, 1, "head", "End")
    until(page, "location.hash === '#fig-1:layer=1,head=3'")
    assert page.evaluate("history.state") == {"x": 0, "y": 7}


FIRST_DATA = """document.addEventListener('DOMContentLoaded', () => {
    window.told = [];
    const link = document.querySelector('#fig-1 a[data-link-data]');
    new MutationObserver(() => told.push(link.href)).observe(link, {attributeFilter: ['href']});
})"""


@pytest.mark.first_visit
def test_a_restored_figure_is_first_drawn_as_it_was(page, address):
    page.add_init_script(FIRST_DATA)
    page.goto(f"{address}#fig-1:layer=2,head=3")
    go_live(page, 1)
    assert first_tooltip(page, 1)
    told = page.evaluate("told")  # it links what it has just drawn
    assert {url.split("/attention/")[1] for url in told} == {"2/3.json"}
