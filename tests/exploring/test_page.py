"""The page of `explore` in a browser: what is typed is shown, whatever it is and however fast."""

import json
import os
import re
import subprocess
import sys
import threading
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest

from report.exploring.page import Explorer
from report.notebook.measurement import load
from report.project import Project
from tests import tabs
from tests.commands import ROOT
from tests.documents import blocks
from tests.exploring.conftest import FIRST, opened
from tests.figures.live_page import TOOLTIP, go_live, until
from tests.site import hostile
from tests.site.test_accessible import worst

pytestmark = pytest.mark.browser

OTHER = "who lit the lamp on the hill?"
TEXT = ".passage .token:not(.token--special)"
PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}


@pytest.fixture
def visit(browser, address):
    """A function that opens the page, at a state of its address; nothing may be wrong with it."""
    with tabs.visits(browser, address.split("articles/")[0], {}, alone=True) as opened:
        yield lambda state=None, **options: opened(
            "articles/explore/" + (f"?{urlencode(state)}" if state else ""), **options
        )


def reads(page, text):
    """Wait until the page shows a text."""
    shown = f"[...document.querySelectorAll({TEXT!r})].map(each => each.textContent).join('')"
    until(page, f"{shown}.replaceAll('␣', ' ') === {json.dumps(text)}")


def said(page):
    return page.text_content(".explore__says")


def test_figures_follow_what_is_typed(visit, model):
    page = visit({"text": FIRST})
    reads(page, FIRST)
    posts = []
    page.on("request", lambda request: request.method == "POST" and posts.append(request))
    page.locator("[name=text]").fill("")
    page.locator("[name=text]").press_sequentially(OTHER, delay=5)
    reads(page, OTHER)
    assert len(posts) < len(OTHER) / 2
    go_live(page, 1)
    page.locator("#fig-1 .live-figure__chart").focus()
    page.keyboard.press("End")
    page.keyboard.press("Home")
    shown = page.evaluate(TOOLTIP)
    data = model.measure(OTHER).data
    last, attention = data.length - 1, data.attention(0, 0).probability
    assert shown["current token"].startswith(f"{last}  “")
    assert shown["target token"].startswith("0  “")
    (given,) = re.findall(r"gives ([\d.]+)\W%", shown["title"])
    assert float(given) == pytest.approx(100 * attention[last, 0], abs=0.51)


def test_the_map_is_painted_before_the_other_figures_are_drawn(visit):
    page = visit({"text": FIRST})
    reads(page, FIRST)
    go_live(page, 3)
    page.locator("#fig-3 input[name=head]").press("ArrowRight")
    until(page, "location.hash.includes('head=1')")
    held = []
    page.route("**/ask", lambda each: held.append(each) if later(each) else each.continue_())
    page.locator("[name=text]").fill(OTHER)
    reads(page, OTHER)
    go_live(page, 1)
    page.locator(".passage .token").nth(2).click()
    until(page, "location.hash.includes('pin')")
    assert page.locator("#fig-2").count() == 0
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    page.locator("#fig-3").wait_for()
    assert page.input_value("#fig-3 input[name=head]") == "1"
    assert "pinned_token=2" in page.evaluate("location.hash")
    go_live(page, 2)
    reads(page, OTHER)


def test_heads_that_look_from_the_pinned_token_are_listed_and_lead_to_their_map(visit, model):
    page = visit({"text": FIRST})
    reads(page, FIRST)
    go_live(page, 1)
    place = page.locator(".explore__looking")
    assert "Click a token" in place.text_content()
    token, target = 7, 3
    page.locator(f".passage .token[data-token='{token}']").click()
    place.locator("table").wait_for()
    place.locator("select").focus()
    place.locator("select").select_option(str(target))
    until(page, "document.querySelector('.explore__looking option:checked').value === '3'")
    until(page, "document.activeElement.name === 'target'")
    assert f"cell={token}+{target}" in page.evaluate("location.hash")
    data = model.measure(FIRST).data
    best = max(
        np.ndindex(data.layers, data.heads),
        key=lambda at: data.attention(*at).probability[token, target],
    )
    place.locator("button").first.click()
    until(page, f"document.querySelector('#fig-1 input[name=layer]').value === '{best[0]}'")
    assert page.input_value("#fig-1 input[name=head]") == str(best[1])
    page.locator("[name=text]").fill(f"{FIRST} me")
    reads(page, f"{FIRST} me")  # the same words in the same places
    until(page, "document.querySelector('.explore__looking option:checked')?.value === '3'")
    page.keyboard.press("Escape")
    until(page, "document.querySelector('.explore__looking').textContent.includes('Click a token')")
    page.locator(f".passage .token[data-token='{token}']").click()
    place.locator("table").wait_for()
    page.locator("[name=text]").fill(f"Now {OTHER}")
    reads(page, f"Now {OTHER}")
    until(page, "document.querySelector('.explore__looking').textContent.includes('Click a token')")
    assert page.locator(".pins__chip[data-of=token]").count() == 0


def test_all_figures_of_one_head_follow_the_map_until_a_reader_sets_them(visit):
    page = visit({"text": FIRST, "other": OTHER})
    page.locator("h2", has_text="The other text").wait_for()
    go_live(page, 1)
    page.locator("#fig-1 input[name=layer]").press("ArrowRight")
    stands = "document.querySelector('#fig-{} input[name=layer]').value === '{}'"
    for number in (3, 4, 6):
        until(page, stands.format(number, 1))
    assert page.evaluate("location.hash").startswith("#fig-1:")
    go_live(page, 3)
    page.locator("#fig-3 input[name=layer]").press("ArrowRight")
    until(page, stands.format(3, 2))
    page.locator("#fig-1 .live-figure__chart").hover()
    assert page.input_value("#fig-1 input[name=layer]") == "1"
    assert page.input_value("#fig-3 input[name=layer]") == "2"


def test_a_head_that_the_map_has_left_is_pinned_no_more_and_all_figures_open_at_the_maps(visit):
    page = visit({"text": FIRST})
    reads(page, FIRST)
    go_live(page, 1)
    page.locator(".passage .token[data-token='7']").click()
    page.locator(".explore__looking button", has_text="L0").first.click()
    until(page, "document.querySelector('.pins__chip[data-of=layer]')")
    page.locator("#fig-1 input[name=layer]").press("End")
    until(page, "!document.querySelector('.pins__chip[data-of=layer]')")
    last = page.get_attribute("#fig-1 input[name=layer]", "max")
    until(page, f"document.querySelector('#fig-3 input[name=layer]').value === '{last}'")
    page.locator("[name=text]").fill(f"{FIRST} so")
    reads(page, f"{FIRST} so")
    page.locator("#fig-3").wait_for()
    go_live(page, 3)
    assert page.input_value("#fig-1 input[name=layer]") == last
    assert page.input_value("#fig-3 input[name=layer]") == last


def test_nothing_of_a_text_that_is_gone_stays_pinned(visit):
    page = visit({"text": FIRST, "other": OTHER})
    page.locator("h2", has_text="The other text").wait_for()
    go_live(page, 4)
    page.locator("#fig-4 .live-figure__chart").focus()
    for key in ("End", "Enter"):
        page.keyboard.press(key)
    until(page, "document.querySelector('.pins__chip[data-of=token]')")
    page.locator("[name=other]").fill("")
    until(page, "!document.querySelector('.pins__chip[data-of=token]')")


def later(route):
    """Whether what comes after the first part is asked for."""
    return "number" in json.loads(route.request.post_data)


def test_a_figure_further_down_is_as_its_address_says(visit):
    page = visit({"text": FIRST})
    reads(page, FIRST)
    go_live(page, 3)
    page.locator("#fig-3 input[name=head]").press("ArrowRight")
    until(page, "location.hash.startsWith('#fig-3')")
    page.reload()
    page.locator("#fig-3.live-figure--live").wait_for()
    assert page.input_value("#fig-3 input[name=head]") == "1"


def test_what_is_shown_stands_in_the_address(visit):
    page = visit({"text": FIRST, "measure": "itself"})
    reads(page, FIRST)
    page.locator("[name=other]").fill(OTHER)
    page.locator("h2", has_text="The other text").wait_for()
    state = parse_qs(urlsplit(page.url).query)
    assert state == {"text": [FIRST], "other": [OTHER], "measure": ["itself"]}
    page.reload()
    reads(page, FIRST)
    page.locator("h2", has_text="The other text").wait_for()
    assert page.input_value("[name=measure]") == "itself"
    assert page.locator("figcaption", has_text="Attending to itself").count() == 2


def test_a_choice_that_is_not_there_is_the_first_one(visit):
    page = visit({"text": FIRST, "measure": "nothing", "predict": "all"})
    reads(page, FIRST)
    assert page.input_value("[name=measure]") == "first_token"
    assert page.input_value("[name=predict]") == ""


def test_a_head_stays_while_texts_change(visit):
    page = visit({"text": FIRST})
    reads(page, FIRST)
    go_live(page, 1)
    seen = page.locator("#fig-1 .live-figure__seen")
    assert seen.is_visible()
    page.locator("#fig-1 input[name=head]").press("ArrowRight")
    seen.wait_for(state="hidden")  # it is about the head before
    page.locator("[name=text]").fill(OTHER)
    reads(page, OTHER)
    assert page.input_value("#fig-1 input[name=head]") == "1"
    assert seen.is_visible()


def test_the_page_stays_where_it_is_while_one_types(visit):
    """Also where the address names a figure that is far below."""
    page = visit({"text": FIRST})
    reads(page, FIRST)
    go_live(page, 3)
    page.locator("#fig-3 input[name=head]").press("ArrowRight")
    until(page, "location.hash.startsWith('#fig-3')")
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")
    page.locator("[name=text]").fill(OTHER)
    reads(page, OTHER)
    go_on = page.evaluate("new Promise((next) => setTimeout(() => next(scrollY), 1000))")
    assert go_on == 0


def test_back_brings_the_text_of_its_time(visit):
    page = visit({"text": FIRST})
    reads(page, FIRST)
    go_live(page, 1)
    page.locator("#fig-1 input[name=head]").press("ArrowRight")
    until(page, "location.hash.includes('head=1')")
    page.locator("[name=text]").fill(OTHER)
    reads(page, OTHER)
    page.go_back()
    reads(page, FIRST)
    assert page.input_value("[name=text]") == FIRST


def test_another_measure_is_drawn_at_once(visit):
    page = visit({"text": FIRST})
    reads(page, FIRST)
    page.select_option("[name=measure]", "previous_token")
    page.locator("figcaption", has_text="Attending to the token before").wait_for()


def test_what_was_tried_can_be_had_again(visit):
    page = visit({"text": FIRST})
    reads(page, FIRST)
    page.locator("[name=text]").fill(OTHER)
    reads(page, OTHER)
    page.locator(".explore__history button", has_text=FIRST).click()
    reads(page, FIRST)
    assert page.input_value("[name=text]") == FIRST
    assert page.locator(".explore__history button").all_text_contents() == [OTHER]


def test_a_mistake_is_a_sentence_and_the_last_picture_stays(visit):
    page = visit({"text": FIRST})
    reads(page, FIRST)
    page.locator("[name=text]").fill("  ")
    until(page, "document.querySelector('.explore__says').textContent !== ''")
    assert "there is no text" in said(page)
    page.locator("[name=text]").fill("\0" * 3_000_000)  # each is sent as six bytes
    until(page, "document.querySelector('.explore__says').textContent.includes('100,000')")
    reads(page, FIRST)
    page.locator("[name=text]").fill(OTHER)
    reads(page, OTHER)
    assert said(page) == ""


@pytest.mark.promise("text-is-text")
@pytest.mark.parametrize("place", ["text", "other"])
def test_hostile_text_shows_as_text(visit, place):
    tokens = [token for token in hostile.TOKENS if token != hostile.LONG]
    page = visit({"text": FIRST, place: " ".join(tokens)})
    page.locator(".explore__answer figure").first.wait_for()
    assert page.evaluate(hostile.RAN) is None
    assert page.locator(".explore__answer script, .explore__answer img").count() == 0
    page.locator("[name=text]").fill(OTHER)
    reads(page, OTHER)
    assert page.evaluate(hostile.RAN) is None


def test_two_tabs_have_a_text_each(visit):
    texts = FIRST, OTHER
    pages = [visit({"text": text}) for text in texts]
    for page, text in zip(pages, texts, strict=True):
        reads(page, text)
    for page, text in zip(pages, texts, strict=True):
        go_live(page, 1)
        reads(page, text)


@pytest.mark.parametrize("options", [{}, PHONE], ids=["wide", "phone"])
def test_everybody_can_use_it(visit, options):
    page = visit({"text": FIRST, "other": OTHER}, **options)
    page.locator("h2", has_text="The other text").wait_for()
    go_live(page, 1)
    assert worst(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("[name=text]").focus()
    reached = set()
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.name"))
    assert {"other", "measure", "layer"} <= reached


def test_where_the_program_ends_the_page_says_so(browser, falcon_folder):
    command = [sys.executable, "-m", "report", "explore", falcon_folder]
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, env=variables, **pipes) as running:
        lines = map(str.strip, running.stdout)
        address = next((line for line in lines if line.startswith("http")), "no address")
        page = tabs.opened(browser)
        page.goto(f"{address}?{urlencode({'text': FIRST})}")
        reads(page, FIRST)
        running.kill()
        running.wait()
        page.locator("[name=text]").fill(OTHER)
        until(page, "document.querySelector('.explore__says').textContent !== ''")
        assert "Is it still running?" in said(page)
        reads(page, FIRST)
        page.context.close()


def test_typing_while_a_text_is_measured_shows_the_last(browser, explorer, monkeypatch):
    slow = threading.Event()
    before = explorer.answer

    def answer(question, progress, announce):
        if question.text == FIRST:
            slow.wait(30)
        return before(question, progress, announce)

    monkeypatch.setattr(explorer, "answer", answer)
    with opened(explorer) as (address, _):
        page = tabs.opened(browser)
        page.goto(f"{address}?{urlencode({'text': FIRST})}")
        until(page, "document.querySelector('.explore__form--busy')")
        page.locator("[name=text]").fill(OTHER)
        page.wait_for_timeout(500)
        slow.set()
        reads(page, OTHER)
        page.wait_for_timeout(500)
        reads(page, OTHER)
        page.context.close()


def test_a_measure_of_the_project_is_among_them(browser, model, tmp_path):
    (tmp_path / "measures").mkdir()
    (own,) = blocks("how-to/measures", "python")
    (tmp_path / "measures" / "two_back.py").write_text(own)
    with opened(Explorer(model, Project(tmp_path))) as (address, _):
        page = tabs.opened(browser)
        page.goto(f"{address}?{urlencode({'text': FIRST, 'measure': 'two_back'})}")
        page.locator("figcaption", has_text="Two tokens back").wait_for()
        assert page.input_value("[name=measure]") == "two_back"
        (tmp_path / "measures" / "later.py").write_text(
            own.replace("Two tokens", "Again two tokens")
        )
        page.locator("[name=text]").fill(OTHER)
        page.locator("[name=measure] option[value=later]").wait_for(state="attached")
        assert page.input_value("[name=measure]") == "two_back"
        page.select_option("[name=measure]", "later")
        page.locator("figcaption", has_text="Again two tokens back").wait_for()
        page.context.close()


def test_of_several_models_one_is_chosen_and_the_address_has_it(browser, explorer):
    """Each has its own tokens, so a pinned one is not carried over; head and text are."""
    other = Explorer(load("falcon-8x8"), None)
    number = sum(not token.special for token in other.model.measure(FIRST).data.tokens)
    with opened(explorer, other) as (address, _):
        page = tabs.opened(browser)
        page.goto(f"{address}?{urlencode({'text': FIRST})}")
        reads(page, FIRST)
        posts = []
        page.on("request", lambda each: each.method == "POST" and posts.append(each.post_data_json))
        page.locator(TEXT).nth(8).click()
        page.locator("[name=model]").select_option(other.name)
        until(page, f"document.querySelectorAll({TEXT!r}).length === {number}")
        of_other = [post for post in posts if post.get("model") == other.name]
        assert of_other and not any("token" in post for post in of_other)
        assert parse_qs(urlsplit(page.url).query)["model"] == [other.name]
        go_live(page, 1)
        assert page.get_attribute("#fig-1 input[name=layer]", "max") == "7"
        page.reload()
        until(page, f"document.querySelectorAll({TEXT!r}).length === {number}")
        assert page.input_value("[name=model]") == other.name
        page.set_viewport_size(PHONE["viewport"])
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.context.close()
