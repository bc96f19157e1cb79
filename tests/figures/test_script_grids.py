"""Grids in a real browser: every panel draws, marks go through all panels, the heat map leads."""

import json

import pytest

from report.figures import filler_effect
from tests.figures import hand_conditions
from tests.figures.hand_conditions import FILLER, MERGED, SYSTEM
from tests.figures.live_page import TOOLTIP, go_live, painted, resting, told_at, until
from tests.figures.tools import open_more

pytestmark = pytest.mark.browser

LINES, AGAINST, LAYERS, EFFECT = 1, 2, 3, 4
PANELS = {LINES: 6, AGAINST: 2, LAYERS: 3, EFFECT: 3}

DRAWN = """number => [...document.querySelectorAll(`#fig-${number} canvas`)].map(canvas => {
    const {width, height} = canvas;
    const copy = Object.assign(document.createElement('canvas'), {width, height})
        .getContext('2d', {willReadFrequently: true});
    copy.drawImage(canvas, 0, 0);
    const {data} = copy.getImageData(0, 0, width, height);
    const count = {};
    for (let n = 0; n < data.length; n += 4) if (data[n + 3] > 200) {
        const colour = '#' + [0, 1, 2].map(k => data[n + k].toString(16).padStart(2, '0')).join('');
        count[colour] = (count[colour] ?? 0) + 1; }
    return count; })"""


def drawn(page, number):
    """For each panel of a figure, how many pixels there are of each colour."""
    painted(page)
    return page.evaluate(DRAWN, number)


def both_lines(page, *numbers):
    """Have figures draw two lines that they would draw as their difference."""
    for number in numbers:
        go_live(page, number)
        for switch in page.locator(f"#fig-{number} input[value=both]").all():
            open_more(page, number)
            switch.check(force=True)


def plot(page, number, panel):
    """The panel's canvas in the window, once it is in view."""
    go_live(page, number)
    canvas = page.locator(f"#fig-{number} canvas").nth(panel)
    canvas.scroll_into_view_if_needed()
    return resting(canvas)


def point_at(page, number, panel, position):
    """Move over a panel until its tooltip tells of a position; returns the tooltip."""
    box = plot(page, number, panel)
    low, high = 0, box["width"]
    while high - low > 0.2:
        x = (low + high) / 2
        page.mouse.move(box["x"] + x, box["y"] + box["height"] / 2)
        found = page.evaluate(TOOLTIP)
        there = int(found.get("position", -1 if x < box["width"] / 2 else 999))
        if there == position:
            return found
        low, high = (x, high) if there < position else (low, x)
    return pytest.fail(f"no place of the panel tells of position {position}")


def measured(study, model, layer, head):
    """The file of one head, and the texts by condition: read here, not by the project's reader."""
    path = study.models[model].path
    shard = json.loads((path / f"received/{layer}/{head}.json").read_text("utf-8"))
    texts = json.loads((path / "conditions.json").read_text("utf-8"))["conditions"]
    return shard["conditions"], {text["name"]: text for text in texts}


def said(values, place):
    mean, error = values["mean"][place], values["standard_error"][place]
    if error is None:
        return f"{mean * 0.00002:.5f}"
    return f"{mean * 0.00002:.5f} ± {error * 0.00002:.5f}"


@pytest.mark.parametrize("shade", ["default", "slate"])
def test_every_panel_draws_its_lines_in_the_colours_of_its_legend(page, grids, shade):
    page.goto(grids)
    page.evaluate(f"document.body.dataset.mdColorScheme = '{shade}'")
    blue, red, orange = (
        ("#1f5fc4", "#c62a35", "#b65c00")
        if shade == "default"
        else ("#7fb0ff", "#ff8b86", "#ffb45e")
    )
    expected = {
        LINES: [(blue, red)] * 3 + [(red,)] * 3,
        AGAINST: [(red, orange)] * 2,
        LAYERS: [(blue, red)] * 3,
        EFFECT: [(), (blue, red), (red,)],
    }
    both_lines(page, *expected)
    for number, panels in expected.items():
        go_live(page, number)
        assert page.locator(f"#fig-{number} canvas").count() == len(panels) == PANELS[number]
        for panel, (colours, found) in enumerate(zip(panels, drawn(page, number), strict=True)):
            assert sum(found.values()) > 1000
            for colour in (blue, red, orange):
                # dashes and thin lines: many pixels are mixed with what lies behind them
                assert (found.get(colour, 0) > 25) == (colour in colours), (number, panel, colour)
    key = "getComputedStyle(document.querySelector('{}'), '::before').borderTopColor"
    red_key = page.evaluate(key.format("#fig-1 .live-figure__key--dash"))
    assert red_key == f"rgb({int(red[1:3], 16)}, {int(red[3:5], 16)}, {int(red[5:], 16)})"


def test_a_tooltip_tells_what_was_measured_at_a_position(page, grids, conditions):
    page.goto(grids)
    of_both_where_the_filler_is_cut_out(page, conditions)
    of_one_inside_and_outside_of_the_filler(page, conditions)
    of_a_position_that_only_longer_prompts_have(page, conditions)
    assert point_at(page, LINES, 0, 2)["token"] == "“ <b>bold</b>”"
    assert page.locator("#vg-tooltip-element b").count() == 0


def of_both_where_the_filler_is_cut_out(page, conditions):
    position = SYSTEM + 2
    found = point_at(page, LINES, 1, position)
    values, texts = measured(conditions, 0, 2, 3)
    place = texts["filler"]["positions"][position]
    assert place == position + FILLER
    token = {
        name: f"“{texts[name]['tokens'][at]}”"
        for name, at in (("none", position), ("filler", place))
    }
    assert found == {
        "position": str(position),
        "token, w/o Meaningless tokens": token["none"],
        "token, w/ Meaningless tokens": token["filler"],
        "w/o Meaningless tokens": said(values["none"]["mean"], position),
        "w/ Meaningless tokens": said(values["filler"]["mean"], place),
        "±": "one standard error, 3 prompts",
    }


def of_one_inside_and_outside_of_the_filler(page, conditions):
    values, texts = measured(conditions, 0, 0, 1)
    for position, inside in ((SYSTEM - 1, "no"), (SYSTEM, "yes"), (SYSTEM + FILLER, "no")):
        assert point_at(page, LINES, 3, position) == {
            "position": str(position),
            "token": f"“{texts['filler']['tokens'][position]}”",
            "w/ Meaningless tokens": said(values["filler"]["mean"], position),
            "±": "one standard error, 3 prompts",
            "in the filler": inside,
        }


def of_a_position_that_only_longer_prompts_have(page, conditions):
    values, texts = measured(conditions, 0, 0, 1)
    last = len(texts["filler"]["counts"]) - 1
    found = point_at(page, LINES, 3, last)
    assert found["token"] == "none, the first prompt is shorter"
    assert found["w/ Meaningless tokens"] == said(values["filler"]["mean"], last)
    assert "±" not in found["w/ Meaningless tokens"]
    assert found["±"] == "one standard error, 1 prompt has it"


def test_hovering_marks_the_same_token_in_all_panels(page, grids):
    page.goto(grids)
    both_lines(page, LINES)
    plot(page, LINES, 0)
    page.mouse.move(1, 1)
    still = drawn(page, LINES)
    point_at(page, LINES, 0, SYSTEM + 1)
    marked = drawn(page, LINES)
    assert all(one != other for one, other in zip(still, marked, strict=True))
    # from the bottom row: in the filler there is nothing to mark above
    point_at(page, LINES, 4, SYSTEM + 1)
    within = drawn(page, LINES)
    assert within[:3] == still[:3]
    assert all(one != other for one, other in zip(still[3:], within[3:], strict=True))
    # and behind it the same token as before
    point_at(page, LINES, 4, SYSTEM + 1 + FILLER)
    assert drawn(page, LINES) == marked
    # what has no counterpart is marked above only
    found = point_at(page, LINES, 2, MERGED)
    assert "w/ Meaningless tokens" not in found
    now = drawn(page, LINES)
    assert all(one != other for one, other in zip(still[:3], now[:3], strict=True))
    assert now[3:] == still[3:]
    page.mouse.move(1, 1)
    assert drawn(page, LINES) == still
    assert page.evaluate(TOOLTIP) == {}


def test_a_click_pins_a_mark_and_escape_takes_it_away(page, grids):
    page.goto(grids)
    plot(page, LAYERS, 0)
    page.mouse.move(1, 1)
    still = drawn(page, LAYERS)
    point_at(page, LAYERS, 1, 6)
    marked = drawn(page, LAYERS)
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(1, 1)
    assert page.evaluate(TOOLTIP) == {}
    pinned = drawn(page, LAYERS)  # in all panels, and not as what is pointed at
    for one, others in zip(pinned, zip(still, marked, strict=True), strict=True):
        assert one not in others
    page.keyboard.press("Escape")
    assert drawn(page, LAYERS) == still


def test_keys_move_over_positions(page, grids):
    page.goto(grids)
    go_live(page, LAYERS)
    page.locator(f"#fig-{LAYERS} .live-figure__chart").nth(1).focus()
    places = []
    for key in (*["ArrowRight"] * 3, "ArrowLeft", "End", "Home"):
        page.keyboard.press(key)
        places.append(int(page.evaluate(TOOLTIP)["position"]))
    last = SYSTEM + hand_conditions.QUESTION + hand_conditions.LONGER - 1
    assert places == [0, 1, 2, 1, last, 0]
    page.keyboard.press("Tab")
    assert page.evaluate(TOOLTIP) == {}


def cell(page, layer, head):
    """Point at a cell of the heat map; returns the tooltip."""
    plot(page, EFFECT, 0)
    # looked for by a pointer of the page's own, then pointed at by a real one
    places = [(x, y) for y in range(4, 100, 4) for x in range(4, 100, 4)]
    wanted = {"title": f"L{layer}H{head}"}
    for at, told in told_at(page, EFFECT, places):
        if told.items() >= wanted.items():
            page.mouse.move(*at)
            found = page.evaluate(TOOLTIP)
            if found.items() >= wanted.items():
                return found
    return pytest.fail(f"no place of the map tells of layer {layer}, head {head}")


def test_a_cell_tells_both_measures(page, grids, conditions):
    page.goto(grids)
    found = cell(page, 2, 1)
    cells = filler_effect.cells(conditions.models[0], "filler", "mean")
    of = next(row for row in cells if (row["layer"], row["head"]) == (2, 1))
    taken, varied = (
        f"{of[name]:.4f} ± {of[f'{name}_error']:.4f}" for name in ("taken", "total_variation")
    )
    assert found == {
        "title": "L2H1",
        "share of the filler": taken,
        "shift among the rest": varied,
        "±": "one standard error, 3 prompts",
    }
    assert cell(page, 0, 1)["shift among the rest"] == "not known"


def test_a_click_on_a_cell_shows_its_panels(page, grids, conditions):
    page.goto(grids)
    cell(page, 2, 1)
    before = drawn(page, EFFECT)[1:]
    page.mouse.down()
    page.mouse.up()
    until(page, "location.hash.startsWith('#fig-4:layer=2,head=1,')")
    painted(page)
    titles = f"[...document.querySelectorAll('#fig-{EFFECT} .live-figure__title')].slice(1)"
    until(page, f"{titles}.every(title => title.innerText === 'one-model L2H1')")
    outputs = page.locator(f"#fig-{EFFECT} label output").all_inner_texts()
    assert outputs == ["2", "1"]
    assert page.input_value(f"#fig-{EFFECT} input[name=layer]") == "2"
    label = f"#fig-{EFFECT} input[name=layer]"
    assert page.get_attribute(label, "aria-valuetext") == "Layer 2"
    assert all(one != other for one, other in zip(before, drawn(page, EFFECT)[1:], strict=True))
    values, _ = measured(conditions, 0, 2, 1)
    found = point_at(page, EFFECT, 2, SYSTEM + 3)
    assert found["w/ Meaningless tokens"] == said(values["filler"]["mean"], SYSTEM + 3)
    links = page.locator(f"#fig-{EFFECT} a[data-link-data]")
    assert links.nth(1).get_attribute("href").endswith("/received/2/1.json")
    assert links.nth(0).get_attribute("href").endswith("/effects.json")


@pytest.mark.parametrize("key", ["Enter", " "])
def test_keys_choose_a_cell(page, grids, key):
    page.goto(grids)
    go_live(page, EFFECT)
    page.locator(f"#fig-{EFFECT} .live-figure__chart").first.focus()
    for each in ("ArrowUp", "ArrowUp", "ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(each)
    found = page.evaluate(TOOLTIP)  # from L1H2, where the figure stands, within the map
    assert found["title"] == "L1H3"
    assert page.inner_text(f"#fig-{EFFECT} .live-figure__live").startswith("L1H3, share")
    page.keyboard.press(key)
    until(page, "location.hash.startsWith('#fig-4:layer=1,head=3,')")
    title = f"document.querySelectorAll('#fig-{EFFECT} .live-figure__title')[1]"
    until(page, f"{title}.innerText === 'one-model L1H3'")


def test_the_colour_switch_repaints_the_map_only(page, grids):
    page.goto(grids)
    go_live(page, EFFECT)
    before = drawn(page, EFFECT)
    open_more(page, EFFECT)
    page.check(f"#fig-{EFFECT} input[value=total_variation]")
    until(page, "location.hash.includes('measure=total_variation')")
    after = drawn(page, EFFECT)
    assert after[0] != before[0]
    assert after[1:] == before[1:]


def test_what_is_loaded_is_one_file_of_texts_a_model_and_one_a_head(page, grids):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(grids)
    for number in PANELS:
        go_live(page, number)
    page.wait_for_load_state("networkidle")
    data = [url for url in asked if "/datasets/" in url]
    assert len(data) == len(set(data))
    assert sum(url.endswith("/conditions.json") for url in data) == 2
    assert not any("passage.json" in url for url in asked)


@pytest.mark.parametrize(("width", "columns"), [(800, 3), (320, 1)])
def test_panels_stand_side_by_side_where_there_is_room(page, grids, width, columns):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(grids)
    height = "document.documentElement.scrollHeight"
    before = page.evaluate(height)
    for number in PANELS:
        go_live(page, number)
    assert page.evaluate(height) == before
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    boxes = [
        page.locator(f"#fig-{LINES} .live-figure__box").nth(n).bounding_box() for n in range(6)
    ]
    assert len({round(box["x"]) for box in boxes}) == columns
    assert len({round(box["y"]) for box in boxes}) == 6 // columns
    assert min(box["width"] for box in boxes) > 180
    heat_map, *others = [
        page.locator(f"#fig-{EFFECT} .live-figure__box").nth(n).bounding_box() for n in range(3)
    ]
    side = "x" if columns > 1 else "y"  # the others are beside it, or below
    assert all(heat_map[side] + 100 < box[side] for box in others if box)
    canvases = page.locator(", ".join(f"#fig-{number} canvas" for number in PANELS)).all()
    assert len(canvases) == sum(PANELS.values())
    inside = "c => { const [a, b] = [c, c.closest('.live-figure__box')]"
    inside += ".map(e => e.getBoundingClientRect()); return a.right - b.right; }"
    assert max(canvas.evaluate(inside) for canvas in canvases) <= 1


def test_a_tap_marks_and_tells_until_a_tap_there_or_elsewhere(phone, grids):
    page = phone
    page.goto(grids)
    plot(page, LAYERS, 0)
    still = drawn(page, LAYERS)
    box = plot(page, LAYERS, 0)
    place = box["x"] + 0.7 * box["width"], box["y"] + box["height"] / 2
    page.touchscreen.tap(*place)
    painted(page)
    assert "Mless" in page.evaluate(TOOLTIP)
    assert all(one != other for one, other in zip(still, drawn(page, LAYERS), strict=True))
    page.touchscreen.tap(*place)
    painted(page)
    assert page.evaluate(TOOLTIP) == {}
    assert drawn(page, LAYERS) == still
    page.touchscreen.tap(*place)
    assert "Mless" in page.evaluate(TOOLTIP)
    page.tap(f"#fig-{LAYERS} figcaption strong")
    painted(page)
    assert page.evaluate(TOOLTIP) == {}
    assert drawn(page, LAYERS) == still


def test_a_tap_chooses_a_cell(phone, grids):
    page = phone
    page.goto(grids)
    box = plot(page, EFFECT, 0)
    page.touchscreen.tap(box["x"] + 0.9 * box["width"], box["y"] + 0.45 * box["height"])
    until(page, "/^#fig-4:layer=\\d,head=3/.test(location.hash)")
    assert page.evaluate(TOOLTIP)["title"].endswith("H3")
