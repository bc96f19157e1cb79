"""What is said of a figure is said of the state that it shows."""

import re

from report.figures.build.find import figure_named
from report.pages.sentences import in_two
from tests.figures.live_page import ORDER, go_live, until
from tests.figures.tools import set_to

NUMBER = ORDER.index("update_magnitude") + 1
SEEN, ALSO = (f"#fig-{NUMBER} .live-figure__{part}" for part in ("seen", "also"))


def test_the_sentence_below_a_figure_follows_its_controls(page, address, data):
    figure = figure_named("update_magnitude")
    page.goto(address)
    opened, folded = page.text_content(SEEN), page.text_content(ALSO)
    state = {control.param: control.value for control in figure.controls(data)}
    first, others = in_two(figure.seen(data, **state))
    assert (opened, folded.strip()) == (f"As it opens (layer {state['layer']}): {first}", others)
    assert others
    for layer in (0, 2):
        set_to(page, NUMBER, layer=layer)
        said, folded_then = in_two(figure.seen(data, layer=layer))
        said = f"As shown (layer {layer}): {said}"
        until(page, f"document.querySelector('{SEEN}').textContent === {said!r}")
        assert page.text_content(ALSO).strip() == folded_then
    set_to(page, NUMBER, **state)
    until(page, f"document.querySelector('{SEEN}').textContent === {opened!r}")
    # the controls say at which layer; where they are not to be seen, the sentence does
    assert page.text_content(ALSO) == folded
    assert page.inner_text(SEEN) == first
    page.emulate_media(media="print")
    assert page.inner_text(SEEN) == opened


def test_an_address_that_names_a_state_brings_its_sentence(page, address, data):
    figure = figure_named("update_magnitude")
    page.goto(f"{address}#fig-{NUMBER}:layer=2")
    go_live(page, NUMBER)
    said = f"As shown (layer 2): {in_two(figure.seen(data, layer=2))[0]}"
    until(page, f"document.querySelector('{SEEN}').textContent === {said!r}")


def test_of_many_states_the_file_of_the_one_shown_is_fetched(page, address):
    fetched = []

    def give(route):
        fetched.append(route.request.url.rpartition("/")[2])
        route.fulfill(json={"layer=2": ["layer 2", "There it is.", ""]})

    page.route(re.compile(r"\.seen\.\d+\.json$"), give)
    page.goto(address)
    go_live(page, NUMBER)
    page.evaluate(
        """number => { const { dataset } = document.querySelector(`#fig-${number}`);
        dataset.seen = dataset.seen.replace(".json", ".{layer}.json"); }""",
        NUMBER,
    )
    set_to(page, NUMBER, layer=2)
    until(
        page,
        f"document.querySelector('{SEEN}').textContent === 'As shown (layer 2): There it is.'",
    )
    assert fetched == ["update_magnitude.seen.2.json"]


def test_a_sentence_of_another_state_goes_where_none_is_known(page, address):
    page.route(re.compile(r"\.seen\.json$"), lambda route: route.fulfill(status=404))
    page.expected = ("404",)  # the browser reports it
    page.goto(address)
    go_live(page, NUMBER)
    assert page.locator(SEEN).is_visible()
    set_to(page, NUMBER, layer=2)
    page.locator(SEEN).wait_for(state="hidden")
