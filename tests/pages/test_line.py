"""The line of the home page: its words are shaded by what a head gives from the one in hand."""

import html
import re

import pytest

from report.pages import lists
from report.pages.lists import LEAST, line_of
from tests.figures import hand_made
from tests.pages.test_render import render
from tests.unpainted import unpainted

BODY = '{{ figure("attention_map", layer=1, head=2) }}\n\n{{ passage(opens=20) }}\n'
HEADER = """---
title: Heads
date: 2026-01-02
author: Ann
summary: Where do they look?
cover: attention_map
---
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return hand_made.study(tmp_path_factory.mktemp("line") / "datasets" / "a" / "0123456789ab")


@pytest.fixture
def pages(tmp_path, data):
    """A function from an article's body to its page, and to the home page."""

    def written(body):
        with unpainted():
            page, _ = render(tmp_path, data, body, HEADER)
        lists.render_lists([page], [data], tmp_path / "site_src")
        return page, (tmp_path / "site_src" / "index.md").read_text("utf-8")

    return written


def test_its_words_and_shares_are_those_of_the_head(pages, data):
    page, home = pages(BODY)
    line, probability = line_of([page], [data]), data.attention(1, 2).probability
    assert (line.layer, line.head, line.opens) == (1, 2, 20)
    shown = [word.index for word in line.words]
    assert shown == sorted(shown)
    assert {20, int(probability[20].argmax())} <= set(shown)
    for word, before in zip(line.words, [-1, *shown], strict=False):
        assert word.text == data.tokens[word.index].text.strip()
        assert word.skips == (word.index != before + 1)
        expected = {n: probability[word.index, n] for n in shown}
        assert word.looks == {n: p for n, p in expected.items() if p >= LEAST}
    assert f"head 2 of layer 1 of {data.label}" in html.unescape(home)
    assert "<b>bold</b>" not in home


def test_without_a_token_that_it_opens_at_there_is_none(pages, data):
    page, home = pages(BODY.replace("opens=20", ""))
    assert line_of([page], [data]) is None
    assert 'class="looks"' not in home


@pytest.mark.browser
def test_a_word_that_is_pointed_at_shades_what_it_looks_at(pages, data, browser):
    page, home = pages(BODY)
    line = line_of([page], [data])
    context = browser.new_context()
    tab = context.new_page()
    style = re.search(r"<style>.*?</style>", home, re.DOTALL)[0]
    tab.set_content(style + re.search(r'<div class="looks".*?</div>', home, re.DOTALL)[0])

    def shaded():
        return {
            word.index: float(value)
            for word in line.words
            if (value := tab.locator(f".at-{word.index}").evaluate(
                "word => getComputedStyle(word).getPropertyValue('--looked')"))
        }  # fmt: skip

    for word in (next(word for word in line.words if word.index == line.opens), line.words[1]):
        if word.index != line.opens:
            tab.locator(f".at-{word.index}").focus()
        assert shaded() == pytest.approx({n: p**0.5 for n, p in word.looks.items()}, abs=0.006)
        assert tab.locator(".looks i:visible").count() == 1
    context.close()
