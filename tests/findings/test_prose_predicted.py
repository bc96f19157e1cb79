"""The last section of article 1, on predictions: true sentences, whatever the numbers are."""

import html
import re

import numpy as np
import pytest

from report.kinds.passage import findings as passage
from report.kinds.passage.predicted import Both, PredictedFindings
from report.study.study import read_study
from tests import made_prediction, rendered
from tests.commands import ROOT
from tests.figures import hand_made

TEMPLATE = ROOT / "templates" / "articles" / "attention-focus-plots.md.j2"
HEADING = "## Does it matter where a head looks?"


@pytest.fixture(scope="module")
def predicted(tmp_path_factory, falcon_folder):
    """What the tiny Falcon predicts for a passage."""
    folder = tmp_path_factory.mktemp("predicted") / "ab9876543210"
    return made_prediction.study(folder, falcon_folder, made_prediction.PASSAGE)


@pytest.fixture
def written(tmp_path, monkeypatch, predicted):
    """A function from numbers of heads to the words of the section, and all figures.

    adds, lost: {(layer, head): value}, 0 for others; first: parts of attention and of effects that
    are the first token's; why: why nothing was measured
    """
    rendered.words_only(monkeypatch)

    def write(adds=None, lost=None, first=(0.5, 0.1), why=""):
        data = hand_made.study(tmp_path / "datasets", "alibi_bias")
        data.manifest["prediction"] = {"reasons": {"effects": why} if why else {}}
        monkeypatch.setattr(passage, "of_passage", lambda _: None if why else predicted)
        monkeypatch.setattr(PredictedFindings, "both", Both(*first, 0.5, 0.5, 0.25))
        for name, values in (("direct", adds), ("lost", lost)):
            of_heads = np.zeros((3, 4))
            for place, value in (values or {}).items():
                of_heads[place] = value
            monkeypatch.setattr(PredictedFindings, name, of_heads)
        whole = rendered.text_of(read_study(TEMPLATE), data, tmp_path)
        text = rendered.captions_alone(rendered.without_passage(whole))
        text = html.unescape(re.sub(r"<[^>]*>", "", text)).replace("\u00a0", " ")
        section = text.split(HEADING)[1].split("\n## ")[0] if HEADING in text else ""
        return " ".join(section.split()), rendered.figures(whole)

    return write


def test_a_head_that_is_missed_and_adds_little(written):
    said, figures = written({(2, 1): 0.7, (0, 3): 0.1}, {(0, 3): 0.07, (2, 1): -0.01})
    assert figures[-2:] == ["effect_by_target", "direct_and_ablation"]
    assert "Without L0H3 it rises most, by 0.070." in said
    assert "Without one head the passage is predicted slightly better." in said
    assert "first token gets 50 % of the attention, and 10 % of all direct effects" in said
    assert "So a look at the first token mostly says nothing about the next one." in said
    assert "in 25 % of cases" in said


def test_a_head_that_is_missed_and_adds_most(written):
    said, _ = written({(2, 1): 0.7}, {(2, 1): 0.2}, first=(0.1, 0.3))
    assert "Without L2H1 it rises most, by 0.20; that head also adds most by itself." in said
    assert "says little about" not in said
    assert "heads that look at the first token are not at rest" in said
    assert "predicted slightly better" not in said


def test_no_head_is_missed(written):
    said, _ = written({(2, 1): 0.7}, dict.fromkeys(np.ndindex(3, 4), -0.1))
    assert "No head is missed: without any of them it is no higher." in said
    assert "Without 12 of the heads the passage" in said


def test_why_it_is_not_there(written):
    said, figures = written(why="it has 7 billion parameters.")
    assert said.endswith("was not measured: it has 7 billion parameters.")
    assert "effect_by_target" not in figures
