"""One head in hand: a head that is pinned anywhere is shown by all figures of one head."""

import pytest

from report.pages.templates import head_name
from tests.figures.live_page import ATLAS, go_live, painted, until
from tests.figures.test_script_marks import CHIPS, focus, walk

pytestmark = pytest.mark.browser

SHOWN = """numbers => numbers.map(number => ['layer', 'head'].map(name =>
    Number(document.querySelector(`#fig-${number} input[name=${name}]`).value)))"""


def shown(page, *numbers):
    """(layer, head) of each of some figures."""
    return [tuple(at) for at in page.evaluate(SHOWN, numbers)]


def all_at(page, head, *numbers):
    at = f"[{', '.join(map(str, numbers))}]"
    until(page, f"({SHOWN})({at}).every(shown => shown.join() === '{head[0]},{head[1]}')")


def pinned_head(page):
    layer, head = page.evaluate(CHIPS)[0].partition(":")[0].removeprefix("L").split("H")
    return int(layer), int(head)


@pytest.mark.parametrize("view", ["lines", "map"])
def test_figures_of_one_head_go_to_a_head_that_is_pinned_among_many(page, address, view):
    page.goto(address)
    go_live(page, 5)
    page.locator(f"#fig-5 input[value={view}]").check(force=True)
    painted(page)
    before = shown(page, 1, 2, 3)
    focus(page, 5, panel=("lines", "map").index(view))
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    head = pinned_head(page)
    all_at(page, head, 1, 2, 3)
    # what the reader sets stays, whatever else is pinned or taken back
    go_live(page, 1)
    page.locator("#fig-1 input[name=head]").focus()
    page.keyboard.press("End" if head[1] != 3 else "Home")
    (moved,) = shown(page, 1)
    page.locator(".token[data-token='6']").click()
    assert shown(page, 1) == [moved] != [head]
    page.locator(".pins__chip").first.click()
    until(page, f"!({CHIPS}).join().includes('L')")
    assert shown(page, 1, 2, 3) == [moved, *before[1:]]


def test_escape_and_the_way_back_undo_it(page, address):
    page.goto(address)
    before = shown(page, 1, 2, 3)
    walk(page, 5, "ArrowRight", "ArrowRight", "ArrowUp", "Enter")
    head = pinned_head(page)
    all_at(page, head, 1, 2, 3)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")  # another head in its place
    other = pinned_head(page)
    assert other != head
    all_at(page, other, 1, 2, 3)
    until(page, f"location.hash.includes('pinned_layer={other[0]},pinned_head={other[1]}')")
    page.go_back()
    all_at(page, head, 1, 2, 3)
    page.keyboard.press("Escape")
    until(page, f"({CHIPS}).length === 0")
    assert shown(page, 1, 2, 3) == before


def test_a_link_brings_the_head_too_and_the_text_is_shaded_by_it(page, address):
    page.goto(f"{address}#fig-5:pinned_token=9,pinned_layer=2,pinned_head=3")
    all_at(page, (2, 3), 1, 2, 3)
    says = "document.querySelector('.passage__says').textContent"
    until(page, f"/L2H3/.test({says})")


# --- Names in the text, and a map beside the pointer ----------------------------------------------

NAME = "#fig-5 .head-name"
CARD = "document.querySelector('.head-card:not([hidden]) canvas') !== null"


def test_a_name_in_the_text_marks_pins_and_shows_its_map(page, address):
    page.goto(address)
    go_live(page, 5)
    name = page.locator(NAME).first
    at = tuple(map(int, name.inner_text().removeprefix("L").split("H")))
    before = shown(page, 1, 2, 3)
    name.hover()
    until(page, CARD)
    card, own = page.locator(".head-card").bounding_box(), name.bounding_box()
    assert card["y"] >= own["y"] + own["height"] or card["y"] + card["height"] <= own["y"]
    page.mouse.move(1, 1)
    until(page, f"!({CARD})")
    assert shown(page, 1, 2, 3) == before
    page.locator("#fig-5 .live-figure__number").focus()
    page.keyboard.press("Tab")
    assert page.evaluate(f"document.activeElement === document.querySelector('{NAME}')")
    until(page, CARD)
    page.keyboard.press("Enter")
    all_at(page, at, 1, 2, 3)
    assert name.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Enter")
    until(page, f"({CHIPS}).length === 0")
    assert shown(page, 1, 2, 3) == before


def test_a_point_shows_the_map_of_its_head_beside_its_tooltip(page, address):
    page.goto(address)
    walk(page, 5, "ArrowRight", "ArrowRight")
    until(page, CARD)
    box = "[...document.querySelectorAll('{}')].at(-1).getBoundingClientRect().toJSON()"
    tip, card = (page.evaluate(box.format(of)) for of in ("#vg-tooltip-element", ".head-card"))
    aside = card["left"] >= tip["right"] or card["right"] <= tip["left"]
    assert aside or card["top"] >= tip["bottom"] or card["bottom"] <= tip["top"]
    page.keyboard.press("Escape")
    until(page, f"!({CARD})")


def test_a_tap_pins_a_head_and_covers_nothing(phone, address):
    phone.goto(address)
    go_live(phone, 5)
    phone.locator(NAME).first.tap()
    until(phone, f"({CHIPS}).length === 1")
    phone.wait_for_timeout(400)
    assert phone.locator(".head-card").count() == 0
    phone.locator(".pins__chip").tap()
    until(phone, f"({CHIPS}).length === 0")


NAMED = """async ([text, model]) => {
    const { nameHeads } = await import(new URL('../../assets/reader/names.js', location.href));
    const place = document.body.appendChild(document.createElement('p'));
    place.textContent = text;
    nameHeads(place, model);
    const found = [...place.querySelectorAll('button')];
    place.remove();
    return found.map(each => each.textContent); }"""


def test_a_sentence_names_heads_that_a_figure_shows(page, models_address):
    page.goto(models_address)
    go_live(page, 1)
    text = "It is L1H2. And L2H3. L9H1 and L1H9 are not there, XL1H2 is no name."
    assert page.evaluate(NAMED, [text, "000000000001"]) == []
    for model in ("step100", "step2000"):
        assert page.evaluate(NAMED, [text, model]) == ["L1H2", "L2H3"]


@pytest.mark.first_visit
def test_a_name_in_the_prose_is_of_the_model_that_the_page_says(page, models_address):
    def with_prose(route):
        names = "".join(str(head_name("L1H2", model)) for model in ("step100", "step2000"))
        frame = '<div class="passage-frame'
        route.fulfill(body=route.fetch().text().replace(frame, f"<p>{names}</p>{frame}", 1))

    page.route(models_address, with_prose)
    page.set_viewport_size({"width": 1280, "height": 200})  # no figure is near
    page.goto(models_address)
    names = page.locator("p button.head-name")
    names.first.wait_for()
    assert page.locator(".live-figure--live").count() == 0
    for number, model in enumerate(("step100", "step2000")):
        names.nth(number).click()
        until(page, f"({CHIPS}).length === 1")
        assert [each.get_attribute("aria-pressed") for each in names.all()] == [
            str(number == n).lower() for n in range(2)
        ]
        all_at(page, (1, 2), 1)
        until(page, f"document.querySelector('#fig-1 input[value={model}]').checked")
    page.unroute(models_address)


# --- Back to how the page opened ------------------------------------------------------------------

RESET = "document.querySelector('.pins__reset')?.checkVisibility() ?? false"


@pytest.mark.parametrize("screen", ["page", "phone"])
def test_one_button_brings_everything_back(request, address, screen):
    page = request.getfixturevalue(screen)
    page.goto(address)
    for number in (1, 2, 5):
        go_live(page, number)
    painted(page)
    before = shown(page, 1, 2, 3)
    assert not page.evaluate(RESET)

    def bring_back():
        until(page, RESET)
        page.locator(".pins__reset").click()
        until(page, f"!({RESET}) && ({CHIPS}).length === 0")
        assert shown(page, 1, 2, 3) == before

    slider = page.locator("#fig-2 input[name=layer]")
    slider.focus()
    page.keyboard.press("End")
    assert shown(page, 2) != before[1:2]
    bring_back()
    page.locator(".token[data-token='6']").click()
    page.locator(".passage__button[data-act=gets]").click()
    page.locator(".passage__button[data-act=keep]").click()
    bring_back()
    assert page.locator(".passage__button[data-act=gives][aria-pressed=true]").count() == 1
    assert page.locator(".passage-frame--kept, .token--pinned").count() == 0
    page.locator(NAME).first.click()
    bring_back()
    page.reload()
    go_live(page, 1)
    painted(page)
    assert shown(page, 1, 2, 3) == before
    assert not page.evaluate(RESET)


# --- Several models -------------------------------------------------------------------------------


def test_a_head_of_another_model_moves_no_figure_that_lacks_it(page, models_address):
    page.goto(f"{models_address}#fig-1:pinned_layer=2,pinned_head=3,pinned_model=other")
    go_live(page, 1)
    before = shown(page, 1)
    assert before != [(2, 3)]
    page.goto("about:blank")
    link = "#fig-2:pinned_layer=2,pinned_head=3,pinned_model=step2000"
    page.goto(f"{models_address}{link}")
    all_at(page, (2, 3), 1)
    until(page, "document.querySelector('#fig-1 input[value=step2000]').checked")
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('#fig-1 input[value=step2000]').checked")
    assert shown(page, 1) == before


@pytest.fixture
def apart(page):
    """Figure 2 of the page is of another model."""

    def other(route):
        before, name, after = route.fetch().text().partition('data-figure="attention_breakdown"')
        body = before + name + after.replace("0123456789ab/", "another/", 1)
        route.fulfill(body=body, content_type="text/html")

    def same(route):
        address = route.request.url.replace("/another/", "/0123456789ab/")
        route.fulfill(response=route.fetch(url=address))

    routes = {"**/articles/hand/": other, "**/another/**": same}
    for pattern, act in routes.items():
        page.route(pattern, act)
    yield
    for pattern in routes:
        page.unroute(pattern)


def test_a_figure_of_another_model_stays_where_it_is(page, address, apart):
    page.goto(address)
    for number in (2, 1):
        go_live(page, number)
    before = shown(page, 2)
    walk(page, 5, "ArrowRight", "ArrowRight", "ArrowUp", "Enter")
    all_at(page, pinned_head(page), 1, 3)
    assert shown(page, 2) == before
    page.keyboard.press("Escape")
    page.locator("#fig-1 summary", has_text="More").click()
    page.locator("#fig-1 input[data-link]").check(force=True)
    page.locator("#fig-1 input[name=layer]").focus()
    page.keyboard.press("End")
    until(page, f"({SHOWN})([3])[0][0] === 2")
    assert shown(page, 2) == before
    assert page.locator("#fig-2 .live-figure__note").is_visible()


def test_what_an_atlas_says_of_a_head_stands_at_it_and_leads_there(page, address):
    page.goto(address)
    go_live(page, 5)
    name = page.locator(NAME).first
    at = tuple(map(int, name.inner_text().removeprefix("L").split("H")))
    line = ATLAS["lines"][at[0]][at[1]]
    name.hover()
    until(page, "document.querySelector('.head-card:not([hidden]) small')")
    assert page.locator(".head-card small").text_content() == line  # text, whatever it is
    own = f"/embed/atlas/head.html#head=L{at[0]}H{at[1]}"
    page.locator(".head-card a").hover()  # the card stays for a pointer that goes to it
    page.wait_for_timeout(1000)
    assert page.locator(".head-card a").get_attribute("href").endswith(own)
    page.mouse.move(2, 2)
    until(page, "document.querySelector('.head-card').hidden")
    name.click()
    until(page, "document.querySelector('.pins__atlas')")
    link = page.locator(".pins__atlas")
    assert link.get_attribute("title") == line
    assert link.get_attribute("href").endswith(own)
    page.keyboard.press("Escape")
    until(page, "!document.querySelector('.pins__atlas')")
