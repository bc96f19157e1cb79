"""Palette, print, failures, navigation, sizes: what happens to a page."""

import time

import pytest

from tests.figures.live_page import go_live, ink, until

pytestmark = pytest.mark.browser


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


def test_a_failed_step_dims_the_chart_and_the_next_one_mends_it(page, address):
    page.goto(address)
    go_live(page, 3)
    page.route("**/attention/*/3.json", lambda route: route.fulfill(status=503))
    page.expected = ("503",)
    page.locator("#fig-3 input[name=head]").focus()
    page.keyboard.press("End")
    page.wait_for_selector("#fig-3.live-figure--failed")
    page.keyboard.press("Home")
    page.wait_for_selector("#fig-3.live-figure--live:not(.live-figure--failed)")
    assert page.inner_text("#fig-3 .live-figure__live") == ""


def test_a_drag_loads_few_files_and_ends_at_the_last_value(page, address):
    page.goto(address)
    go_live(page, 1)
    asked = []

    def slowly(route):
        asked.append(route.request.url)
        time.sleep(0.06)  # and not the page's own wait, in which the test may end
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


@pytest.mark.first_visit
def test_views_of_a_left_page_are_finalized_and_new_figures_found(page, address):
    page.add_init_script(
        """window.subscribers = [];
        window.document$ = { subscribe: run => { subscribers.push(run);
            if (document.readyState === 'complete') run();
            else addEventListener('load', run); } };"""
    )
    page.goto(address)
    go_live(page, 4)
    page.evaluate(
        """() => { const old = document.querySelector('#fig-4'); const fresh = old.cloneNode(true);
        fresh.classList.remove('live-figure--live');
        fresh.querySelectorAll('.live-figure__chart').forEach(each => each.replaceChildren());
        old.replaceWith(fresh); subscribers.forEach(run => run()); }"""
    )
    go_live(page, 4)
    assert page.locator("#fig-4 canvas").count() == 2  # one a look


@pytest.mark.first_visit
def test_a_figure_that_left_while_it_was_drawn_is_finalized(page, address):
    leaving = """export const [parse, expressionInterpreter] = [() => {}, () => {}];
        export class Handler {}
        export class View {
            constructor(_, { container }) { container.closest('.live-figure').remove(); }
            async runAsync() { return this; }
            finalize() { document.title = 'finalized'; }
        }"""
    page.route("**/vega.js", lambda r: r.fulfill(body=leaving, content_type="text/javascript"))
    page.goto(address)
    until(page, "document.title === 'finalized'")
