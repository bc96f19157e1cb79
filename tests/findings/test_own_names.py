"""An article of each kind with names of its own has no word that is only true of one that ships.

Its figures are drawn as specifications, its page is written; no picture is drawn.
"""

import functools
import html
import re
from dataclasses import replace

import pytest

from report.figures.build.find import figure_named
from report.figures.parts import choices, received
from report.pages import render
from report.pages.new import new_article
from report.project import Project
from report.study.study import read_study
from tests import made_conditions, rendered
from tests.figures import hand_conditions, hand_made, hand_sweep, hand_table

OURS = re.compile(
    r"meaningless|filler|slash|newline|random sentence|nonsense|of the study|study’s|reported"
    r"|falcon-8x8|lamp on the hill|seattle|weather|as the text says",
    re.IGNORECASE,
)
"""Words of the articles that ship; "study" alone may be the reader's."""

CALLED = {"none": ("plain", "Plainly asked"), "filler": ("polite", "Polite words")}
CALLED["sentence"] = ("rude", "Rude words")

MADE = {
    "passage": lambda folder: hand_made.study(folder / "0123456789ab"),
    "table": lambda folder: hand_table.study(folder / "0123456789ab"),
    "sweep": hand_sweep.study,
    "conditions": lambda folder, **of: made_conditions.study(
        folder, [of], conditions=tuple(CALLED), called=CALLED
    ),
}
FRONT = {
    "conditions": (
        "conditions:\n  - {name: plain}\n  - {name: polite, before: question, text: Please}\n"
        "  - {name: rude, before: question, text: Now}\n"
    )
}
MORE = """
{{ figure("filler_layers", data=find.panels(find.there([(0, 0, 0), (0, 1, 0)]), find.compared)) }}

{{ figure("filler_against", data=find.panels([(0, 0, 0)], ["polite", "rude"])) }}

{{ figure("filler_kinds") }}
"""


def test_wordings_of_which_none_adds_anything_are_compared(tmp_path, monkeypatch):
    rendered.words_only(monkeypatch)
    path = new_article("mine", "conditions", Project(tmp_path))
    called = {"reworded": ("kind", "Kind")}
    data = made_conditions.study(
        tmp_path / "datasets", conditions=made_conditions.ADD_NOTHING, called=called
    )
    text = html.unescape(rendered.text_of(read_study(path), data, tmp_path))
    assert rendered.figures(text) == ["filler_lines"]
    assert "Attention under “Nothing” and under “Kind”" in text
    assert "without" not in text.partition("## A few heads")[2].partition("## How")[0]


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A function from a kind of article to its page and its figures, as `new` begins them."""
    rendered.words_only(monkeypatch)
    drawn = []
    monkeypatch.setattr(
        render, "_write_figures", lambda folder, figures, article: drawn.append(figures) or {}
    )

    def write(kind):
        path = new_article("mine", kind, Project(tmp_path))
        text = path.read_text()
        if kind == "conditions":
            text = re.sub(r"conditions:.*?(?=layers:)", FRONT[kind], text, flags=re.DOTALL) + MORE
        path.write_text(text)
        data = MADE[kind](tmp_path / "datasets")
        text = rendered.text_of(read_study(path), data, tmp_path)
        return text, drawn[0]

    return write


def said(page):
    """All that a reader reads of a page, names of pictures and figures aside."""
    alts = " ".join(re.findall(r' alt="([^"]*)"', page))
    return html.unescape(f"{re.sub('<[^>]*>', ' ', page.partition('## How this')[0])} {alts}")


@pytest.mark.parametrize("kind", MADE)
def test_no_word_of_an_article_that_ships(page, kind):
    text, figures = page(kind)
    assert figures
    assert OURS.findall(said(text)) == []
    for one in figures:
        figure = figure_named(one.figure.name)
        for number in range(len(one.panels)):
            state = one.state | ({"panel": number} if figure.panels else {})
            found = OURS.findall(strings(figure.chart(one.data, **state).to_dict(validate=False)))
            assert found == [], one.name


@pytest.mark.parametrize("kind", ["conditions", "passage", "table"])
def test_the_only_head_of_the_only_layer_is_called_0(page, kind, monkeypatch):
    """In prose, captions, alternative texts, titles, axes and what controls show."""
    for module in (hand_made, hand_table):
        monkeypatch.setattr(module, "LAYERS", 1)
        monkeypatch.setattr(module, "HEADS", 1)
    one = functools.partial(MADE["conditions"], layers=1, heads=1)
    monkeypatch.setitem(MADE, "conditions", one)
    text, figures = page(kind)
    words = [said(text)]
    for one in figures:
        figure = figure_named(one.figure.name)
        words.append(choices.said(choices.at_state(figure.controls(one.data), {})))
        for number in range(len(one.panels)):
            state = one.state | ({"panel": number} if figure.panels else {})
            words.append(strings(figure.chart(one.data, **state).to_dict(validate=False)))
    shown = " ".join(words)
    named = re.findall(r"\b(?:[Ll]ayer|[Hh]ead)s? (\d+)|\bL(\d+)H(\d+)", shown)
    assert {number for numbers in named for number in numbers if number} == {"0"}
    assert "datum.value + " not in shown, "an axis calls them by other numbers"


def strings(spec):
    """All texts of a specification in one, but addresses and what the figure is called."""
    if isinstance(spec, dict):
        kept = {k: v for k, v in spec.items() if k not in ("figure", "url", "tokens", "name")}
        return " ".join(map(strings, kept.values()))
    if isinstance(spec, list):
        return " ".join(map(strings, spec))
    return spec if isinstance(spec, str) else ""


def test_every_figure_of_conditions_has_the_labels_of_the_article(page):
    text, figures = page("conditions")
    shown = re.findall(r"<figure .*?</figure>", text)
    assert len(shown) == len(figures) == 5
    for figure in shown:
        words = html.unescape(re.sub("<[^>]*>", " ", figure))
        assert "Polite words" in words
        assert re.search(r"live-figure__key--span[^>]*>(Polite words|Addition)<", figure) or (
            'data-figure="filler_layers"' in figure or 'data-figure="filler_kinds"' in figure
        )
    assert "With “Polite words”, the other tokens" in html.unescape(text)


def test_the_noun_of_an_article_is_in_its_figures_and_no_word_has_to_agree_with_it(
    page, monkeypatch
):
    made = MADE["conditions"]
    monkeypatch.setitem(MADE, "conditions", lambda folder: replace(made(folder), noun="manners"))
    text, figures = page("conditions")
    words = said(text)
    for one in figures:
        for number in range(len(one.panels)):
            figure, state = figure_named(one.figure.name), one.state | {"panel": number}
            words += strings(figure.chart(one.data, **state).to_dict(validate=False))
    assert words.count("the manners") > 3
    assert not re.findall(r"\bthe manners (?:\w+s|is|has)\b|\baddition\b", words)


def test_a_condition_that_adds_nothing_has_no_grey_part(tmp_path):
    conditions = hand_conditions.study(tmp_path)
    lines = ["filler", "none"]
    data = received.panels(conditions.models, [(0, 0, 0)], lines)
    figure = figure_named("filler_lines")
    words = figure.caption(data) + figure.seen(data)
    assert "grey" not in words
    assert [entry["mark"] for row in figure.legends(data) for entry in row].count("span") == 0
    words = figure_named("filler_against").caption(data)
    assert "All positions of two prompts, “Mless” and “None”." in words
