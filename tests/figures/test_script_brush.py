"""Heads that are looked for, or dragged over: all figures of a page mark them."""

import re

import pytest

from report.figures.parts.groups import groups
from report.figures.parts.heads import head_label
from tests.figures import hand_atlas
from tests.figures.live_page import OF, called, go_live, painted, resting, until
from tests.figures.tools import set_to

pytestmark = pytest.mark.browser

NUMBERS = {name: number for number, name in enumerate(OF["atlas"], 1)}
SCATTER, MAP = NUMBERS["heads_by_two"], NUMBERS["heads_map"]
PREVIOUS = head_label(*hand_atlas.PREVIOUS)

FOUND = """async ([number, panel]) => {
    const { figures } = await import('/assets/figure/figure.js');
    const { view } = figures.get(document.getElementById(`fig-${number}`)).charts[panel];
    return [...view.signal('found')].sort(); }"""

PLACE = """async ([number, places]) => {
    const { figures } = await import('/assets/figure/figure.js');
    const { view } = figures.get(document.getElementById(`fig-${number}`)).charts[0];
    const { left, top } = view.container().querySelector('canvas').getBoundingClientRect();
    const [x, y] = view.origin(), edge = view.padding();
    const at = (axis, value) => view.scale(axis)(value);
    return places.map(([across, up]) => [
        left + edge.left + x + at("x", across), top + edge.top + y + at("y", up)]); }"""


def found(page, number, panel=0):
    """The heads that a chart marks."""
    go_live(page, number)
    painted(page)
    return called(page, FOUND, [number, panel])


def field(page, number=SCATTER):
    return page.locator(f"#fig-{number} input[type=search]").input_value()


def drag(page, number, first, last):
    """Drag between two places of a chart, (across, up) in its own numbers."""
    go_live(page, number)
    page.locator(f"#fig-{number} canvas").first.scroll_into_view_if_needed()
    resting(page.locator(f"#fig-{number} canvas").first)
    (x, y), to = called(page, PLACE, [number, [first, last]])
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move((x + to[0]) / 2, (y + to[1]) / 2)
    page.mouse.move(*to)
    assert page.locator(f"#fig-{number} .live-figure__brush").is_visible()
    page.mouse.up()
    painted(page)


@pytest.fixture
def tab(desk, atlas_address):
    desk.goto("about:blank")
    desk.goto(atlas_address)
    for number in (SCATTER, MAP):
        go_live(desk, number)
    return desk


def test_heads_dragged_over_in_the_map_are_marked_everywhere_and_said_in_words(tab):
    drag(tab, MAP, (0.7, 1.2), (2.2, 2.4))
    expected = [f"L{layer}H{head}" for layer in (1, 2) for head in (1, 2)]
    assert found(tab, MAP) == found(tab, SCATTER) == expected
    assert field(tab, MAP) == field(tab) == "layer 1–2, head 1–2"
    assert not tab.locator(".live-figure__found table").filter(visible=True).count()
    tab.locator(f"#fig-{MAP} button", has_text="List them").click()
    assert tab.locator(f"#fig-{MAP} .live-figure__found tr").count() == 5
    assert not tab.locator(f"#fig-{SCATTER} .live-figure__found table").is_visible()
    assert tab.locator(".pins__chip").text_content().startswith("layer 1–2, head 1–2")


def test_the_words_of_a_drag_find_the_same_heads_again(tab):
    set_to(tab, SCATTER, across="to_previous_token", up="entropy")
    drag(tab, SCATTER, (0.02, 0.01), (0.0705, 0.0605))
    said, marked = field(tab), found(tab, SCATTER)
    assert re.fullmatch(
        r"Mean attention to the token before [\d.]+–7\.\d %, Entropy 0\.\d+–0\.06\d", said
    )
    assert marked == ["L0H2", "L0H3", "L1H0", "L1H1"]  # 0.01 a head and 0.002
    until(tab, "location.hash.includes('found=')")
    address = tab.url
    tab.goto("about:blank")
    tab.goto(address)
    assert found(tab, MAP) == marked
    assert field(tab, MAP) == said
    tab.locator(".pins__chip").click()
    assert found(tab, MAP) == [] and field(tab) == ""


def test_heads_dragged_over_on_the_control_are_found_there(tab):
    set_to(tab, SCATTER, across="to_previous_token", up="entropy", source="control")
    drag(tab, SCATTER, (0.5, 0.0), (0.95, 0.4))
    assert field(tab).startswith("control of Mean attention to the token before")
    assert found(tab, MAP) == [PREVIOUS]


def test_points_whose_axes_no_question_knows_are_asked_for_by_name(tab):
    composition = NUMBERS["composition"]
    drag(tab, composition, (-0.45, 0.275), (0.2, 0.255))  # around the heads 1 and 2 of layer 0
    assert found(tab, MAP) == found(tab, composition) == ["L0H1", "L0H2"]
    assert field(tab, MAP) == field(tab) == "L0H1, L0H2"
    drag(tab, composition, (0.4, 0.5), (-0.2, 0.4))  # where no head is
    assert found(tab, MAP) == [] and field(tab) == ""


def test_what_is_typed_is_marked_by_keys_alone(tab):
    tab.locator(f"#fig-{MAP} input[type=search]").focus()
    tab.keyboard.type("L0H1, L2H3")
    assert found(tab, SCATTER) == found(tab, NUMBERS["composition"]) == ["L0H1", "L2H3"]
    tab.locator(f"#fig-{MAP} input[type=search]").fill("entropy")  # of which all heads have some
    assert found(tab, SCATTER) == []
    tab.locator(f"#fig-{MAP} input[type=search]").fill("layer 2, control previous < 10 %")
    assert found(tab, SCATTER) == ["L2H0", "L2H1"]
    tab.locator(f"#fig-{MAP} input[type=search]").fill("layer > 1")
    assert len(found(tab, SCATTER)) == hand_atlas.HEADS
    tab.go_back()
    assert found(tab, SCATTER) == ["L2H0", "L2H1"]


def test_a_group_is_chosen_by_keys_and_by_a_click(tab, atlas):
    group = groups(atlas)[0][0]
    number = NUMBERS["head_groups"]
    go_live(tab, number)
    tab.locator(f"#fig-{number} [role=application]").focus()
    tab.keyboard.press("Home")
    tab.keyboard.press("Enter")
    assert found(tab, SCATTER) == sorted(group.labels)
    assert field(tab) == f"group {group.number}"
    go_live(tab, number)
    resting(tab.locator(f"#fig-{number} canvas").first)
    for again in (sorted(groups(atlas)[0][1].labels), []):
        lines = 2 + len(group.traits)  # of the first group, and of the second its name and one
        ((x, y),) = called(tab, PLACE, [number, [(0.4, lines)]])
        tab.mouse.click(x, y)
        assert found(tab, MAP) == again
        go_live(tab, number)


def test_a_click_pins_and_no_drag_does(tab):
    before = resting(tab.locator(f"#fig-{MAP} canvas").first)
    drag(tab, MAP, (0.7, 1.2), (1.2, 1.4))
    assert resting(tab.locator(f"#fig-{MAP} canvas").first)["height"] == before["height"]
    assert tab.locator(".pins__chip").count() == 1
    ((x, y),) = called(tab, PLACE, [MAP, [hand_atlas.PREVIOUS]])
    tab.mouse.click(x, y)
    painted(tab)
    assert [PREVIOUS in chip for chip in tab.locator(".pins__chip").all_text_contents()] == [
        True,
        False,
    ]
    assert found(tab, SCATTER) == ["L1H1"]


def test_a_finger_drags_sideways_and_scrolls_up_and_down(phone, atlas_address):
    phone.goto(atlas_address)
    go_live(phone, MAP)
    canvas = phone.locator(f"#fig-{MAP} canvas").first
    canvas.evaluate("each => each.scrollIntoView({block: 'center', behavior: 'instant'})")
    resting(canvas)
    (x, y), (right, below) = called(phone, PLACE, [MAP, [(0, 1), (1, 2)]])
    touch = phone.context.new_cdp_session(phone)

    def slide(*places):
        kinds = ["touchStart", *["touchMove"] * (len(places) - 1)]
        for kind, (across, down) in zip(kinds, places, strict=True):
            point = [{"x": across, "y": down}]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": point})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    at = phone.evaluate("scrollY")
    slide((x, y), (x + 20, y), ((x + right) / 2, y), (right, (y + below) / 2), (right, below))
    assert phone.evaluate("scrollY") == at
    assert phone.locator(f"#fig-{MAP} input[type=search]").input_value() == "layer 0–1, head 1–2"
    slide((x, y), *((x, y - step) for step in range(15, 181, 15)))
    until(phone, f"scrollY > {at} + 60")
    assert found(phone, MAP) == ["L0H1", "L0H2", "L1H1", "L1H2"]
