"""The script in a real browser, on a page made by the same macros as an article."""

import math
import shutil

import pytest
from playwright.sync_api import sync_playwright

from report.figures import attention_map
from report.pages import figure_module
from tests.figures import live_page

pytestmark = pytest.mark.browser

TOOLTIP = """() => Object.fromEntries([...document.querySelectorAll(
    '#vg-tooltip-element.visible tr')].map(row => [...row.cells].map(cell => cell.textContent)))"""


@pytest.fixture(scope="session")
def address(data):
    site = data.path.parents[2]
    live_page.write(site, data)
    with live_page.served(site) as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    """A page that fails the test on any error in its console; pictures are not made here."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.route("**/*.svg", lambda route: route.fulfill(body="<svg/>"))
    page = context.new_page()
    problems = []
    page.on("console", lambda m: problems.append(m.text) if m.type in ("error", "warning") else 0)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.problems = problems
    yield page
    context.close()
    assert problems == []


def go_live(page, number):
    figure = page.locator(f"#fig-{number}")
    figure.scroll_into_view_if_needed()
    page.wait_for_selector(f"#fig-{number}.live-figure--live")
    return figure


def first_tooltip(page, number):
    """Move over a figure until a tooltip shows."""
    go_live(page, number)
    box = page.locator(f"#fig-{number} canvas").bounding_box()
    for y in range(88, 10, -3):
        for x in range(10, 96, 2):
            page.mouse.move(box["x"] + x * box["width"] / 100, box["y"] + y * box["height"] / 100)
            found = page.evaluate(TOOLTIP)
            if found:
                return found
    return {}


def until(page, condition):
    """Wait for an expression of the page; Playwright's own wait needs eval, which is forbidden."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(25)
    pytest.fail(f"never came true: {condition}")


def ink(page, number):
    """How many pixels of a chart are drawn, and a sum that changes with the picture."""
    return page.evaluate(
        """number => { const canvas = document.querySelector(`#fig-${number} canvas`);
        const {width, height} = canvas;
        const copy = Object.assign(document.createElement('canvas'), {width, height})
            .getContext('2d', {willReadFrequently: true});
        copy.drawImage(canvas, 0, 0);
        const {data} = copy.getImageData(0, 0, width, height);
        let [drawn, sum] = [0, 0];
        for (let n = 0; n < data.length; n += 4) if (data[n + 3]) {
            drawn++; sum = (sum * 31 + data[n] + 7 * data[n + 1] + 49 * data[n + 2]) % 1000003; }
        return [drawn, sum]; }""",
        number,
    )


def test_decoders_give_the_rows_that_python_gives(page, address, data):
    page.goto(address)
    for name in live_page.ORDER:
        figure = figure_module(name)
        state = {control.param: control.value for control in figure.controls(data)}
        state |= {"sort_idx": 2} if "sort_idx" in state else {}
        report = figure.chart(data, **state).to_dict()["usermeta"]["report"]
        decoded = page.evaluate(
            """async ([decode, url, state]) => {
            const { decoders } = await import('/assets/decoders.js');
            const { loadJson, loadTokens } = await import('/assets/loading.js');
            const base = document.querySelector('.live-figure').dataset.datasets;
            const folder = new URL(base, location.href);
            const file = await loadJson(new URL(url, folder).href);
            const shown = decoders[decode](file, await loadTokens(folder), state);
            return { datasets: shown.datasets, signals: shown.signals ?? null }; }""",
            [report["data"]["decode"], report["data"]["url"].format(**state), state],
        )
        expected = figure.rows(data, **state)
        painted = {"map", "no_score"}  # a canvas, and always empty
        for dataset in set(expected) - painted:
            assert_same(decoded["datasets"][dataset], expected[dataset], f"{name}.{dataset}")


def assert_same(found, expected, where):
    assert len(found) == len(expected), where
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys(), where
        for key, value in other.items():
            if isinstance(value, float):
                assert math.isclose(one[key], value, rel_tol=1e-9, abs_tol=1e-9), (where, key)
            else:
                assert one[key] == value, (where, key)


def test_the_picture_of_the_map_has_the_colours_that_python_gives(page, address, data):
    page.goto(address)
    attention = data.attention(1, 2)
    low, high = attention_map.score_range(attention)
    ramp = ["#101010", "#ff0000", "#00ff80"]
    pixels, signals = page.evaluate(
        """async ramp => {
        const { decoders } = await import('/assets/decoders.js');
        const base = new URL(document.querySelector('.live-figure').dataset.datasets, location);
        const shard = await (await fetch(new URL('attention/1/2.json', base))).json();
        const shown = decoders.attention_map(shard, Array(shard.tokens).fill(''));
        return [[...shown.picture(ramp)], shown.signals]; }""",
        ramp,
    )
    expected = attention_map.raster(attention.score, low, high, ramp)
    worst = max(abs(a - b) for a, b in zip(pixels, expected.ravel().tolist(), strict=True))
    assert worst <= 2  # the script rounds to 256 shades
    assert signals["score_low"] == pytest.approx(low)
    assert signals["score_high"] == pytest.approx(high)


def test_all_figures_draw_and_their_tooltips_have_readable_names(page, address):
    page.goto(address)
    expected = {
        1: {"current token", "target token", "tokens in the past", "score", "probability",
            "content term", "bias term", "ALiBi term"},
        2: {"current token", "target token", "tokens in the past", "probability",
            "content term", "bias term", "ALiBi term"},
        3: {"target token", "bias term", "ALiBi term"},
        4: {"rank (0 = lowest)", "layer", "value", "real head"},
        5: {"rank (0 = lowest)", "layer", "value", "real head"},
        6: {"rank (0 = lowest)", "layer", "value", "real head"},
        7: {"head", "magnitude", "tokens"},
        8: {"head", "alignment", "tokens"},
        9: {"current token", "head", "largest target", "orientation", "magnitude"},
        10: {"current token", "head", "largest target", "magnitude"},
    }  # fmt: skip
    for number, names in expected.items():
        assert first_tooltip(page, number).keys() == names, number
        assert ink(page, number)[0] > 2000, number


def test_the_tooltip_of_the_map_has_the_numbers_of_its_cell(page, address, data):
    page.goto(address)
    chart = go_live(page, 1).locator(".live-figure__chart")
    chart.focus()
    for key in ("Home", "ArrowUp", "ArrowRight", "ArrowRight"):  # the last row but one, target 2
        page.keyboard.press(key)
    layer, head = (
        int(page.input_value(f"#fig-1 input[name={name}]")) for name in ("layer", "head")
    )
    attention = data.attention(layer, head)
    current, target = data.length - 2, 2
    shown = page.evaluate(TOOLTIP)
    minus = str.maketrans("-", "−")
    assert shown["current token"] == f"{current}  “{data.tokens[current].label}”"
    assert shown["target token"] == f"{target}  “{data.tokens[target].label}”"
    assert shown["score"] == f"{attention.score[current, target]:.2f}".translate(minus)
    assert shown["probability"] == f"{attention.probability[current, target]:.3f}"
    for name, term in (("bias", "bias"), ("position", "ALiBi"), ("content", "content")):
        value = attention.terms[name].matrix()[current, target]
        assert shown[f"{term} term"] == f"{value:.2f}".translate(minus)
    assert f"probability {shown['probability']}" in page.inner_text("#fig-1 .live-figure__live")


def test_a_slider_step_changes_picture_tooltip_value_and_address(page, address):
    page.goto(address)
    go_live(page, 1)
    before = ink(page, 1), first_tooltip(page, 1)
    page.locator("#fig-1 input[name=head]").focus()
    page.keyboard.press("End")
    until(page, "location.hash === '#fig-1:layer=1,head=3'")
    assert page.inner_text("#fig-1 label:has(input[name=head]) output") == "3"
    assert page.get_attribute("#fig-1 input[name=head]", "aria-valuetext") == "Head 3"
    page.wait_for_load_state("networkidle")
    after = ink(page, 1), first_tooltip(page, 1)
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_the_address_restores_a_figure_and_clamps_what_it_cannot_show(page, address):
    page.goto(f"{address}#fig-2:layer=99,head=1,sort_idx=4,colour=red")
    page.wait_for_selector("#fig-2.live-figure--live")
    state = {
        name: page.input_value(f"#fig-2 input[name={name}]")
        for name in ("layer", "head", "sort_idx")
    }
    assert state == {"layer": "2", "head": "1", "sort_idx": "4"}
    assert page.evaluate("document.querySelector('#fig-2').getBoundingClientRect().top") < 450


def test_linked_figures_go_together(page, address):
    page.goto(address)
    for number in (1, 2, 3):
        go_live(page, number)
    page.check("#fig-2 input[data-link]")
    page.locator("#fig-3 input[name=head]").focus()
    page.keyboard.press("End")
    heads = [page.input_value(f"#fig-{number} input[name=head]") for number in (1, 2, 3)]
    assert heads == ["3", "3", "3"]
    page.uncheck("#fig-1 input[data-link]")
    page.locator("#fig-3 input[name=head]").focus()
    page.keyboard.press("Home")
    assert page.input_value("#fig-1 input[name=head]") == "3"


def test_a_head_is_ringed_in_the_other_figures(page, address):
    page.goto(address)
    for number in (4, 5, 6):
        go_live(page, number)
    before = [ink(page, number) for number in (5, 6)]
    assert "head" in first_tooltip(page, 4)["real head"]
    page.wait_for_timeout(100)
    after = [ink(page, number) for number in (5, 6)]
    assert all(one != other for one, other in zip(before, after, strict=True))


def test_the_switch_shows_the_corpus(page, address):
    page.goto(address)
    go_live(page, 4)
    before = ink(page, 4)
    page.check("#fig-4 input[value=corpus]")
    until(page, "location.hash === '#fig-4:source=corpus'")
    assert ink(page, 4) != before


def test_a_token_is_marked_by_pointer_and_pinned_by_focus_until_escape(page, address):
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
    go_live(page, 3)
    with_guide = ink(page, 3)[0]
    page.mouse.move(1, 1)
    page.keyboard.press("Escape")
    assert page.locator(".token--marked").count() == 0
    page.wait_for_timeout(100)
    # redrawing a part moves the antialiasing of some pixels; the guide has hundreds
    assert abs(ink(page, 3)[0] - still) < 60 < with_guide - still


def test_heads_are_singled_out_by_click_and_return_with_escape(page, address):
    page.goto(address)
    first_tooltip(page, 7)  # leaves the pointer on a bar
    page.mouse.down()
    page.mouse.up()
    page.wait_for_timeout(150)
    one = ink(page, 7)
    page.keyboard.press("Escape")
    page.wait_for_timeout(150)
    all_heads = ink(page, 7)
    assert one != all_heads
    assert one[0] == pytest.approx(all_heads[0], rel=0.02)  # the total stays, in grey


def test_charts_follow_the_palette_and_print_in_light(page, address):
    page.goto(address)
    for number in (1, 4):
        go_live(page, number)
    light = [ink(page, number) for number in (1, 4)]
    page.evaluate("document.body.dataset.mdColorScheme = 'slate'")
    dark = [ink(page, number) for number in (1, 4)]
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    printed = [ink(page, number) for number in (1, 4)]
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert all(one != other for one, other in zip(light, dark, strict=True))
    assert printed == light
    assert [ink(page, number) for number in (1, 4)] == dark


def test_the_still_picture_stays_when_data_cannot_be_loaded(page, address):
    page.route("**/updates/*.json", lambda route: route.fulfill(status=404))
    page.goto(address)
    page.locator("#fig-9").scroll_into_view_if_needed()
    page.wait_for_selector("#fig-9.live-figure--failed")
    said = page.inner_text("#fig-9 .live-figure__live")
    assert "updates/1.json answered 404" in said
    assert "The still picture stays." in said
    assert page.locator("#fig-9 .live-figure__picture").first.is_visible()
    assert page.locator("#fig-9 input").is_disabled()
    page.problems.clear()  # the browser reports the 404, as it should


def test_a_failed_step_dims_the_chart_and_the_next_one_mends_it(page, address):
    page.goto(address)
    go_live(page, 3)
    page.route("**/attention/*/3.json", lambda route: route.fulfill(status=503))
    page.locator("#fig-3 input[name=head]").focus()
    page.keyboard.press("End")
    page.wait_for_selector("#fig-3.live-figure--failed")
    page.keyboard.press("Home")
    page.wait_for_selector("#fig-3.live-figure--live:not(.live-figure--failed)")
    assert page.inner_text("#fig-3 .live-figure__live") == ""
    page.problems.clear()


def test_a_drag_loads_few_files_and_ends_at_the_last_value(page, address):
    page.goto(address)
    go_live(page, 1)
    asked = []

    def slowly(route):
        asked.append(route.request.url)
        page.wait_for_timeout(60)
        route.continue_()

    page.route("**/attention/**", slowly)
    page.evaluate(
        """() => { const slider = document.querySelector('#fig-1 input[name=head]');
        for (const value of [1, 2, 3, 2, 1, 3]) {
            slider.value = value; slider.dispatchEvent(new Event('input')); } }"""
    )
    until(page, "location.hash.endsWith('head=3')")
    page.wait_for_load_state("networkidle")
    assert len(asked) <= 2
    assert asked[-1].endswith("/3.json")


def test_views_of_a_left_page_are_finalized_and_new_figures_found(page, address):
    page.add_init_script(
        """window.subscribers = [];
        window.document$ = { subscribe: run => { subscribers.push(run); addEventListener(
            'load', run); } };"""
    )
    page.goto(address)
    go_live(page, 4)
    page.evaluate(
        """() => { const old = document.querySelector('#fig-4'); const fresh = old.cloneNode(true);
        fresh.classList.remove('live-figure--live');
        fresh.querySelector('.live-figure__chart').replaceChildren();
        old.replaceWith(fresh); subscribers.forEach(run => run()); }"""
    )
    go_live(page, 4)
    assert page.locator("#fig-4 canvas").count() == 1


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_page_and_boxes_keep_their_height(page, address, width):
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(address)
    height = "document.documentElement.scrollHeight"
    before = page.evaluate(height)
    for number in range(1, 11):
        go_live(page, number)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(height) == before
    sizes = page.evaluate(
        "[...document.querySelectorAll('.live-figure__controls input[type=range]')]"
        ".map(input => input.getBoundingClientRect()).map(box => [box.width, box.height])"
    )
    assert min(height for _, height in sizes) >= 24
    assert min(width for width, _ in sizes) >= 120
