"""The articles that have a model beside their own: whole sentences, each about the right model."""

import re
from types import SimpleNamespace

import pytest

from report.pages.article import figure_for
from report.study.study import read_study
from tests import rendered
from tests.commands import ROOT
from tests.figures import hand_made, hand_table

ARTICLES = ROOT / "templates" / "articles"
PAIRS = [
    ("rotary", "alibi_bias"),
    ("alibi_bias", "rotary"),
    ("rotary", "rotary"),
    ("score", "alibi_bias"),
]


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function from an article and its data to its text, and the figures with their panels."""
    rendered.words_only(monkeypatch)

    def write(name, data):
        study = read_study(ARTICLES / f"{name}.md.j2")
        text = rendered.text_of(study, data, tmp_path)
        return SimpleNamespace(
            text=text, plain=rendered.plain(text), figures=rendered.figures(text)
        )

    return write


def of_passage(folder, *kinds):
    return hand_made.several(folder, kinds, [f"{kind} {n}" for n, kind in enumerate(kinds)])


def of_table(folder, *kinds):
    first, *others = (hand_table.study(folder / f"{n}", kind) for n, kind in enumerate(kinds))
    for n, one in enumerate([first, *others]):
        one.manifest["model"]["name"] = f"{kinds[n]} {n}"
    first.beside = others
    return first


DATA = {"attention-focus-plots": of_passage, "reading-a-table": of_table}


@pytest.mark.parametrize("kinds", PAIRS)
@pytest.mark.parametrize("name", DATA)
def test_sentences_are_whole(written, tmp_path, name, kinds):
    page = written(name, DATA[name](tmp_path / "datasets", *kinds))
    assert not re.search(r"\d", rendered.answer(page.text))


def test_what_one_model_lacks_is_shown_of_the_other(written, tmp_path):
    page = written("attention-focus-plots", of_passage(tmp_path, "rotary", "alibi_bias"))
    assert {"attention_breakdown", "bias_vs_position"} <= set(page.figures)
    assert "The figure opens at alibi_bias 1." in page.plain
    assert "alibi_bias 1 has three such terms" in page.plain
    assert "In rotary 0, it is the content term in" in page.plain
    assert "In this model two of its terms can tell targets apart" in page.plain


def test_a_model_alone_is_not_compared(written, tmp_path):
    (one,) = of_passage(tmp_path / "a", "alibi_bias").models
    page = written("attention-focus-plots", one)
    assert "Figures also show" not in page.plain
    assert "three such terms" not in page.plain
    alone = written("reading-a-table", of_table(tmp_path / "b", "alibi_bias"))
    assert alone.figures == ["table_attention_map", "classes_by_layer", "renderings_compared"]


def test_a_table_is_shown_as_each_model_reads_it(written, tmp_path):
    data = of_table(tmp_path, "rotary", "alibi_bias")
    page = written("reading-a-table", data)
    assert {"table_attention_map_beside", "classes_by_layer_beside"} <= set(page.figures)
    assert "What does alibi_bias 1 do with it?" in page.plain
    assert f'data-datasets="../../datasets/reading-a-table/{data.beside[0].address}"' in page.text


def test_the_title_of_a_figure_fits_every_model_it_shows(tmp_path):
    same = of_passage(tmp_path / "a", "alibi_bias", "alibi_bias")
    other = of_passage(tmp_path / "b", "rotary", "alibi_bias")
    figure = figure_for("bias_vs_position", other)
    assert figure.title(same) == "Bias vs ALiBi"
    titles = ["Content vs rotary position (rotary 0)", "Bias vs ALiBi (alibi_bias 1)"]
    assert figure.title(other) == "; ".join(titles)


def test_what_captions_of_two_models_share_is_said_once(tmp_path):
    data = of_passage(tmp_path, "rotary", "alibi_bias")
    shared = "A point is a current token and its target of one rank: "
    said = figure_for("attention_breakdown", data).caption(data)
    assert said.startswith(shared)
    assert said.count(shared) == 1
    for name in ("rotary 0", "alibi_bias 1"):
        assert f"Of {name}: Its place says" in said
    apart = figure_for("bias_vs_position", data).caption(data)
    assert apart.startswith("A line is what one term adds to the score of a target. ")
    assert "Of rotary 0: It is shown at each distance" in apart
