"""What articles and the page of models say of a model: where from, under which licence, how its
numbers are stored, unpacked or changed by an adapter, what was measured; and its card. And the line
of the home page: its words are shaded by what a head gives from the one in hand.
"""

import re
from collections import Counter
from html import unescape

import pytest

from report.models.find import known
from report.pages import lists, render
from report.pages.lists import LEAST, line_of
from report.study.study import read_study
from tests import rendered
from tests.commands import ROOT
from tests.figures import hand_made
from tests.pages import test_render
from tests.small import write_publication
from tests.unpainted import unpainted

FORMATS = "Q4_K_M: Q8_0, Q5_0, Q4_K"
DEFAULTS = "gemma3.rope.freq_base: 1,000,000 is taken, as Ollama does"
ADAPTER = {"name": "<b>", "kind": "rsLoRA", "ranks": [4, 8], "tensors_changed": 30}
ADAPTER |= {"sha256": "d" * 64}
BASE = {"base": "owner/model@" + "a" * 40}

(NAME, *_) = known.packaged()
PRESET = known.packaged()[NAME]


@pytest.fixture
def pages(tmp_path, monkeypatch):
    """A function from facts of models to the Markdown of an article about the first of them, and of
    the page of models."""
    rendered.words_only(monkeypatch)

    def write(*models):
        project = write_publication(tmp_path, cover="attending_to_itself")
        data = []
        for number, about in enumerate(models):
            data.append(hand_made.study(tmp_path / f"datasets-{number}", "rotary"))
            data[-1].manifest["model"] |= {"name": "it", "source": "folder"} | about
        study = read_study(project / "templates" / "articles" / "small.md.j2")
        page = render.render_article(study, data[0], project / "site_src")
        lists.render_lists([page] * len(data), data, project / "site_src")
        names = ("articles/small/index.md", "models/index.md")
        return [unescape((project / "site_src" / name).read_text("utf-8")) for name in names]

    return write


STORED = [
    ({"stored_as": FORMATS}, f"| Matrices stored as | {FORMATS} |"),
    ({"defaults": [DEFAULTS]}, f"| Not stated in the file | {DEFAULTS} |"),
    ({"zeros": ["a.w", "b"]}, "| Nothing but zeros | 2 weights, the first is <code>a.w</code> |"),
    ({"stored_dtype": "bfloat16"}, "| in float32; the checkpoint is in bfloat16 |"),
    (
        {"stored_dtype": "float16, float32"},
        "in float32; the checkpoint is in float16 and float32 |",
    ),
    ({"stored_dtype": "float32"}, "| in float32 |"),
    ({}, "| in float32 |"),  # measured before it was recorded
]


@pytest.mark.parametrize(("about", "said"), STORED)
def test_article_and_page_of_models_say_how_numbers_are_stored(pages, about, said):
    for text in pages({"source": "file", "dtype": "float32"} | about):
        assert said in text.replace("| Computed in | ", "| in ")


@pytest.mark.parametrize(
    ("about", "above"), [({}, []), (ADAPTER, ["it"]), (ADAPTER | BASE, ["owner/model"])]
)
def test_article_and_page_of_models_name_the_adapter(pages, about, above):
    article, models = pages({"adapter": about} if about else {})
    byline = next(line for line in article.splitlines() if 'class="byline"' in line)
    assert re.findall("<span>([^<]*) with the rsLoRA adapter <b></span>", byline) == above
    for text in (article, models):
        rows = [line for line in text.splitlines() if line.strip().startswith("| Adapter |")]
        assert len(rows) == bool(about)
        for row in rows:
            for said in ("rsLoRA", "<b>", "rank 4 and 8", "30 tensors", "d" * 64):
                assert said in row
            assert ("owner/model" in row) == ("base" in about)


def test_models_of_the_same_weights_with_other_adapters_are_two(pages):
    adapters = [{"adapter": ADAPTER | {"sha256": letter * 64}} for letter in "ab"]
    _, models = pages(*({"weights_sha256": "e" * 64} | adapter for adapter in adapters))
    assert models.count("| Adapter |") == 2


def card(pages, *models):
    """What the page says of the preset."""
    _, text = pages(*({"name": NAME} | about for about in models))
    return text.partition(f"{{: #{models[0].get('name', NAME).lower()} }}")[2]


QUANTISED = {"source": "package", "stored_as": "Q4_1"}
PART = {"weights_sha256": "1" * 64, "layers_measured": 1} | QUANTISED


def test_the_card_of_a_preset_says_source_licence_and_quantisation_once_though_parts_were_measured(
    pages,
):
    said = card(pages, QUANTISED, PART)
    assert said.strip().startswith(PRESET.made)
    for part in (PRESET.page, PRESET.package, PRESET.licence, "*quantised* (Q4_1)"):
        assert part in said
    assert "| Measured for | [Small](../articles/small/index.md) |" in said
    assert "Weights, SHA-256" in said
    assert said.count(PRESET.made) == 1
    assert said.count("The same file, measured otherwise:") == 1
    assert "| Layers measured | the first 1 of " in said


def test_a_label_hides_neither_where_it_is_from_nor_its_name(pages):
    said = card(pages, {"source": "package", "name": "Small", "own_name": NAME})
    assert PRESET.made in said
    assert NAME in said.partition(PRESET.made)[0]


def test_a_model_of_that_name_from_elsewhere_is_not_called_the_preset(pages):
    said = card(pages, {"source": "folder"})
    assert "A checkpoint from a folder" in said
    assert PRESET.package not in said
    assert "quantised" not in said


CARD = """One model.

## Architecture

The same words.

## Text

Books:

- A
- B

Prompts as well.

## Training

As follows:

    one

## Licence

MIT.
"""
OTHER = CARD.replace("One", "Another").replace("    one", "    other").replace("- B", "- C")


def test_what_is_the_same_in_cards_is_said_once():
    shared, (first, other) = lists.split([CARD, OTHER])
    assert shared == "## Text\n\nBooks:\n\n- A\n\nPrompts as well.\n\n## Licence\n\nMIT.\n"
    assert first == (
        "One model.\n\n## Architecture\n\nThe same words.\n\n## Text\n\n- B\n\n"
        "## Training\n\nAs follows:\n\n    one\n"
    )
    assert other.endswith("As follows:\n\n    other\n")
    assert "- C" in other
    assert lists.split([CARD]) == ("", [CARD])
    assert lists.split([]) == ("", [])


def test_nothing_of_the_cards_that_ship_is_lost_and_the_books_are_listed_once():
    folders = [ROOT / "report" / "embedded" / name for name in known.embedded_models()]
    cards = [(folder / "README.md").read_text("utf-8") for folder in folders]
    cards = [re.split(r"\n---\n", card, maxsplit=1)[1] for card in cards]
    shared, rest = lists.split(cards)
    for part in re.split(r"^## ", "\n".join([shared, *rest]), flags=re.MULTILINE):
        assert part.count("```") % 2 == 0  # no command is cut in two
    for card, mine in zip(cards, rest, strict=True):
        assert not Counter(card.split()) - Counter(shared.split()) - Counter(mine.split())
    assert "Aesop" in shared
    assert not any("Aesop" in card for card in rest)
    assert sum(map(len, rest)) + len(shared) < 0.85 * sum(map(len, cards))


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
def home(tmp_path, data):
    """A function from an article's body to its page, and to the home page."""

    def written(body):
        with unpainted():
            page, _ = test_render.render(tmp_path, data, body, HEADER)
        lists.render_lists([page], [data], tmp_path / "site_src")
        return page, (tmp_path / "site_src" / "index.md").read_text("utf-8")

    return written


def test_its_words_and_shares_are_those_of_the_head(home, data):
    page, written = home(BODY)
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
    assert f"head 2 of layer 1 of {data.label}" in unescape(written)
    assert "<b>bold</b>" not in written


def test_without_a_token_that_it_opens_at_there_is_none(home, data):
    page, written = home(BODY.replace("opens=20", ""))
    assert line_of([page], [data]) is None
    assert 'class="looks"' not in written


@pytest.mark.browser
def test_a_word_that_is_pointed_at_shades_what_it_looks_at(home, data, browser):
    page, written = home(BODY)
    line = line_of([page], [data])
    context = browser.new_context()
    tab = context.new_page()
    style = re.search(r"<style>.*?</style>", written, re.DOTALL)[0]
    tab.set_content(style + re.search(r'<div class="looks".*?</div>', written, re.DOTALL)[0])

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
