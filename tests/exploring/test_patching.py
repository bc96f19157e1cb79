"""Two texts whose heads are patched on the page of `explore`: what an article of them has."""

import gc
import re
import threading
import weakref
from urllib.parse import urlencode

import pytest

from report.datasets import store
from report.exploring import server
from report.exploring.page import LENS, Question
from report.exploring.server import Desk
from report.kinds.pair import measure as kind
from report.kinds.pair.live import LivePair
from report.models.text.tokens import encode
from tests import tabs
from tests.figures.live_page import go_live, until

TEXTS = ("Nobody answered Ann.", "The lamp was lit.")
INPUTS = kind.Inputs("the lamp 7 on", "the lamp 8 on", "7", "8", TEXTS)
BOTH = {"text": INPUTS.clean, "other": INPUTS.corrupted}
LONGER = INPUTS.corrupted + "!"


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A random model answers nearly alike; and a mean needs no long corpus."""
    monkeypatch.setattr("report.effects.patching.LEAST", 1e-6)
    replaced = kind.replacements
    monkeypatch.setattr(kind, "replacements", lambda loaded, _: replaced(loaded, TEXTS))


@pytest.fixture
def asked(explorer):
    loaded = explorer.model.loaded
    return tuple(encode(loaded, INPUTS.clean + word)[-1] for word in (INPUTS.answer, INPUTS.other))


def answered(explorer, number, warnings=None, progress=lambda *_: None, **question):
    said = [] if warnings is None else warnings
    return explorer.answer(Question(number, **BOTH | question), progress, said.append)


def pair_of(answer):
    return next(each for each in answer.read if isinstance(each, LivePair))


def test_its_numbers_are_those_of_an_article_in_every_bit(explorer, asked):
    answer = answered(explorer, 1, patch=asked)
    assert "patched_heads-1" in answer.html
    (name,) = (each for each in answer.files if each.endswith("/pair.json"))
    made = answer.files[name]()["tables"]
    measured, facts = kind.measure(explorer.model.loaded, INPUTS, lambda *_: None, lambda _: None)
    published = store.as_read(kind.encoded(measured), "pair.json")["tables"]
    for table in ("tokens", "heads"):
        assert made[table] == published[table]
    assert published["edges"]["rows"] > made["edges"]["rows"] == 0
    data = pair_of(answer)
    own = {name: data.about[name] for name in ("clean", "corrupted", "start", "replaced")}
    assert own.items() <= facts["pair"].items()
    again = answered(explorer, 2, patch=asked)
    assert pair_of(again).origin == data.origin


def test_what_is_asked_is_the_likeliest_after_each_text(explorer):
    html = answered(explorer, 3).html
    assert "patched_heads" not in html
    options = re.findall(r'<option value="(\d+)"( selected)?>', html.partition("explore__patch")[2])
    (texts,) = kind.tokenized(explorer.model.loaded, INPUTS)
    for listed, text in zip((options[:8], options[8:]), texts, strict=True):
        likely = kind.likeliest(explorer.model.loaded, text, 8)
        assert [int(token) for token, _ in listed] == [*likely]
        assert sum(bool(chosen) for _, chosen in listed) == 1
    assert options[0][1]
    assert "forward passes" in html


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (LONGER, r"the text has \d+ tokens of .*, the other text \d+; from token"),
        (BOTH["text"], ""),
    ],
)
def test_texts_of_other_lengths_are_refused_beside_their_fields(explorer, other, said):
    warnings = []
    html = answered(explorer, 4, warnings, other=other).html
    assert "explore__patch" not in html
    told = [each for each in warnings if "patched" in each]
    assert re.search(said, told[0]) if said else not told


def test_what_cannot_be_patched_is_said(explorer, asked, monkeypatch):
    html = answered(explorer, 5, patch=asked[:1] * 2).html
    assert "both answers are the same token" in html
    monkeypatch.setattr("report.effects.patching.LEAST", 1e9)
    assert "answers both prompts alike" in answered(explorer, 6, patch=asked[::-1]).html
    monkeypatch.setattr(kind, "MOST", 5)
    html = answered(explorer, 7).html
    assert "a pair has at most 5" in html
    assert "explore__patch" not in html


@pytest.mark.parametrize("patch", [5, [1], [1, -2], [1, True], ["a", 2], {}])
def test_what_are_no_two_tokens_is_refused(explorer, patch):
    assert Desk(explorer).answer({**BOTH, "patch": patch})["error"].startswith("patch is the ids")


class StoppedError(Exception):
    """As of a question that a newer one takes the place of."""


def test_a_newer_question_ends_it_after_a_layer(explorer, asked):
    plain = answered(explorer, 8)
    steps = []

    def step(*_):
        steps.append(1)
        if len(steps) == 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        answered(explorer, 9, progress=step, patch=asked[::-1])
    assert plain.read  # so that only patching was left to be measured


def test_what_an_answer_shows_goes_with_it(explorer, asked):
    """And not once Python looks for cycles, which may be long after memory is full."""
    gc.disable()
    try:
        for number, question in enumerate(({}, {"predict": LENS}, {"patch": asked}), 10):
            answer = answered(explorer, number, **question)
            assert all(make() for make in answer.files.values())
            shown = [weakref.ref(each) for each in (answer, *answer.read)]
            del answer
            assert not [each() for each in shown if each()]
    finally:
        gc.enable()


@pytest.mark.browser
def test_a_reader_chooses_patches_and_goes_on(browser, explorer):
    with server.page_of(explorer, 0) as (serving, address):
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        with tabs.visits(browser, address.split("articles/")[0], {}, alone=True) as visit:
            page = visit("articles/explore/?" + urlencode(BOTH))
            form = page.locator(".explore__patch")
            form.wait_for()
            form.locator("select").first.select_option(index=1)
            chosen = form.locator("select").first.input_value()
            form.locator("button").click()
            page.locator("figure[data-figure=patched_heads]").wait_for()
            until(page, "document.activeElement.matches('.explore__patch button')")
            assert form.locator("select").first.input_value() == chosen
            assert "figure is below" in form.locator("output").text_content()
            go_live(page, page.locator("figure[data-figure]").count())
            page.locator("[name=other]").fill(LONGER)
            until(page, "document.querySelector('.explore__says').textContent.includes('token')")
            assert page.locator(".explore__patch").count() == 0
        serving.shutdown()
