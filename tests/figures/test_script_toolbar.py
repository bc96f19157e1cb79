"""The toolbar of a figure: by pointer, keyboard and finger; links, full screen, nothing moves."""

import re

import pytest

from tests.figures.live_page import ORDER, go_live, ink, resting_box, until
from tests.figures.tools import FULL, LINK, MORE, TABLE, menu, opened_menu, set_to, tool

pytestmark = pytest.mark.browser

ACTIVE = "document.activeElement.getAttribute('aria-label')"
SAID = "document.querySelector('#fig-{} .live-figure__said').textContent"


def test_every_figure_has_one_small_row_of_named_buttons(page, address):
    page.goto(address)
    for number in range(1, len(ORDER) + 1):
        tool(page, number, MORE)
        bar = page.locator(f"#fig-{number} .live-figure__toolbar")
        assert bar.get_attribute("role") == "toolbar"
        assert bar.get_attribute("aria-label") == f"Figure {number}: Tools"
        names = [each.get_attribute("aria-label") for each in bar.locator("button").all()]
        closer = ["Zoom in", "Zoom out", "Show the whole map"] if number == 1 else []  # a map
        assert names == [*closer, TABLE, LINK, FULL, MORE]
        for button in bar.locator("button").all():
            box = button.bounding_box()
            assert min(box["width"], box["height"]) >= 24


def test_tab_stops_at_the_toolbar_once_and_arrows_walk_in_it(page, address):
    page.goto(address)
    tool(page, 4, TABLE).focus()
    walked = []
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "Home", "End"):
        page.keyboard.press(key)
        walked.append(page.evaluate(ACTIVE))
    assert walked == [LINK, FULL, MORE, TABLE, MORE, TABLE, MORE]
    page.keyboard.press("Tab")
    assert not page.evaluate("!!document.activeElement.closest('.live-figure__toolbar')")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(ACTIVE) == MORE  # where the reader was


def test_the_menu_opens_closes_and_gives_the_focus_back(page, address):
    page.goto(address)
    more = tool(page, 4, MORE)
    more.focus()
    page.keyboard.press("Enter")
    offers = opened_menu(page, 4)
    assert more.get_attribute("aria-expanded") == "true"
    assert more.get_attribute("aria-controls") == offers.get_attribute("id")
    assert page.evaluate("document.activeElement.textContent") == "CSV"
    names = []
    while page.evaluate("!!document.activeElement.closest('.live-figure__menu')"):
        names.append(page.evaluate("document.activeElement.textContent"))
        page.keyboard.press("Tab")
    expected = ["CSV", "JSON", "SVG", "PNG", "panel 1panel 2", "File", "Copy for the Vega editor"]
    assert names == [*expected, "Copy snippet", "Open alone"]
    assert offers.count() == 0  # left behind, it closes
    more.press("Enter")
    opened_menu(page, 4)
    page.keyboard.press("Escape")
    assert offers.count() == 0
    assert page.evaluate(ACTIVE) == MORE
    assert more.get_attribute("aria-expanded") == "false"
    more.click()
    opened_menu(page, 4)
    page.locator("#fig-4 figcaption strong").click()
    assert offers.count() == 0
    more.click()
    opened_menu(page, 4)
    more.click()
    offers.wait_for(state="detached")


def test_a_link_to_the_present_state_is_copied(page, address):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(address)
    set_to(page, 1, layer=2, head=3)
    tool(page, 1, LINK).click()
    until(page, f"{SAID.format(1)} === 'Link copied'")
    assert page.locator("#fig-1 .live-figure__said").get_attribute("role") == "status"
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{address}#fig-1:layer=2,head=3"
    page.goto("about:blank")
    page.goto(copied)
    go_live(page, 1)
    assert page.input_value("#fig-1 [name=layer]") == "2"
    assert page.input_value("#fig-1 [name=head]") == "3"


def test_the_specification_is_copied_for_the_vega_editor_and_nothing_is_sent(page, address):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(address)
    menu(page, 4).get_by_role("button", name="Copy for the Vega editor").click()
    until(page, f"{SAID.format(4)}.startsWith('Specification copied')")
    spec = page.evaluate("navigator.clipboard.readText().then(JSON.parse)")
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/v6")
    assert spec["datasets"]["heads"]
    assert isinstance(spec["width"], int)
    root = address.removesuffix("articles/hand/")
    assert all(url.startswith((root, "data:", "blob:")) for url in asked)


@pytest.mark.first_visit
def test_without_a_clipboard_the_link_is_shown_to_be_copied_by_hand(page, address):
    page.add_init_script(
        "Object.defineProperty(navigator, 'clipboard', { value: undefined }); window.old = true;"
        "const copy = document.execCommand.bind(document);"
        "document.execCommand = (act) => window.old && copy(act);"
    )
    page.goto(address)
    set_to(page, 4, source="passage")
    tool(page, 4, LINK).click()
    until(page, f"{SAID.format(4)} === 'Link copied'")  # the old way, which is tried first
    assert page.evaluate(ACTIVE) == LINK
    page.evaluate("window.old = false")
    tool(page, 4, LINK).click()
    field = page.locator("#fig-4 .live-figure__byhand")
    field.wait_for()
    assert field.input_value() == f"{address}#fig-4:source=passage"
    assert page.evaluate("getSelection().toString() || document.activeElement.selectionEnd") in (
        field.input_value(),
        len(field.input_value()),
    )
    assert "copy" in page.evaluate(SAID.format(4))
    page.locator("#fig-4 figcaption strong").click()
    assert field.count() == 0


@pytest.mark.parametrize("number", [1, 4])
def test_a_figure_fills_the_screen_and_esc_leaves(page, address, number):
    page.goto(address)
    full = tool(page, number, FULL)
    before = resting_box(page, number)["width"]
    full.focus()
    page.keyboard.press("Enter")
    until(page, f"document.fullscreenElement?.id === 'fig-{number}'")
    until(page, f"{widths(number)} > {before + 50}")
    leave = page.locator(f"#fig-{number} [aria-label='Leave full screen']")
    assert leave.is_visible()
    drawn, _ = ink(page, number)
    assert drawn > 1000
    for canvas in page.locator(f"#fig-{number} canvas").all():
        box = canvas.bounding_box()
        assert box["y"] + box["height"] <= 900
        assert number != 1 or abs(box["width"] - box["height"]) < 3  # a map is square
    point_in_full_screen(page, number)
    page.keyboard.press("Escape")
    until(page, "!document.fullscreenElement")
    until(page, f"{widths(number)} === {round(before)}")
    assert tool(page, number, FULL).is_visible()


def widths(number):
    """The width of all charts of a figure together, for the page: its two looks stand side by side
    where they have room, and one of them alone has none elsewhere."""
    charts = f"[...document.querySelectorAll('#fig-{number} canvas')]"
    return f"{charts}.reduce((sum, canvas) => sum + canvas.clientWidth, 0)"


def point_in_full_screen(page, number):
    """The tooltip shows over the full screen, and is not seen once it is left."""
    box = resting_box(page, number)
    for x in range(6, 60):
        for y in (60, 80, 90):
            page.mouse.move(box["x"] + x / 100 * box["width"], box["y"] + y / 100 * box["height"])
            tip = "document.querySelector('#vg-tooltip-element.visible')"
            if page.evaluate(f"!!{tip}"):
                assert page.evaluate(f"document.fullscreenElement.contains({tip})")
                page.mouse.move(2, 2)
                until(page, f"!{tip}")
                left = "getComputedStyle(document.getElementById('vg-tooltip-element'))"
                assert page.evaluate(f"{left}.visibility") == "hidden"
                return
    pytest.fail("no tooltip")


@pytest.mark.first_visit
def test_where_there_is_no_full_screen_a_figure_fills_the_window(page, address):
    page.add_init_script("delete Element.prototype.requestFullscreen")
    page.goto(address)
    before = page.evaluate("document.querySelector('#fig-4').getBoundingClientRect().width")
    tool(page, 4, FULL).click()
    until(page, f"{widths(4)} > {before + 50}")
    place = "JSON.stringify(document.querySelector('#fig-4').getBoundingClientRect())"
    assert re.search(r'"x":0,"y":0,"width":1280,"height":900', page.evaluate(place))
    page.keyboard.press("Escape")
    until(page, f"{widths(4)} <= {before}")
    tool(page, 4, FULL).click()
    page.locator("#fig-4 [aria-label='Leave full screen']").click()
    until(page, f"{widths(4)} <= {before}")


@pytest.mark.first_visit
def test_what_a_menu_needs_is_loaded_when_it_opens(page, address):
    asked = []
    page.on("request", lambda request: asked.append(request.url.rsplit("/", 1)[1]))
    page.goto(address)
    tool(page, 1, MORE)
    later = {"menu.js", "downloads.js", "picture.js", "table_view.js", "numbers.js", "csv.js"}
    assert "toolbar.js" in asked
    assert not later & set(asked)
    menu(page, 1)
    assert "picture.js" in asked


def test_without_a_script_and_on_paper_there_is_no_toolbar(browser, page, address):
    page.goto(address)
    tool(page, 1, MORE)
    page.emulate_media(media="print")
    assert not page.locator("#fig-1 .live-figure__tools").is_visible()
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert not page.locator("#fig-1 .live-figure__tools").is_visible()
    assert page.locator("#fig-1 .live-figure__links a").count() == 2
    context.close()


def test_a_phone_has_room_for_menu_and_fingers(phone, address):
    phone.goto(address)
    tool(phone, 1, MORE).tap()
    box = opened_menu(phone, 1).bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    for each in phone.locator("#fig-1 .live-figure__menu :is(button, a)").all():
        assert each.bounding_box()["height"] >= 24
