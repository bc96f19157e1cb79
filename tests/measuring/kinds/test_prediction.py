"""The kind of article about a prediction: what it reads, what it refuses, a passage."""

import numpy as np
import pytest

from report.effects.ablation import ablation
from report.effects.replacing import zeros
from report.errors import ReportError
from report.inputs.predictions import Prompt
from report.kinds.prediction import measure as kind
from report.models.load.load import load_model
from report.models.text.tokens import encode
from report.study.study import read_study
from tests.made_prediction import CORPUS, PASSAGE, study

ARTICLE = """---
title: Who
date: 2026-01-02
author: Ann
summary: Who?
kind: prediction
prompts:
  - {text: "Nobody answered Ann by the", target: " lamp", other: " window"}
generated: {set: givers, number: 40}
---
"""


def test_an_article_says_what_is_asked(tmp_path):
    path = tmp_path / "templates" / "articles" / "who.md.j2"
    path.parent.mkdir(parents=True)
    path.write_text(ARTICLE)
    article = read_study(path, layers=2, models=["a", "b"])
    wanted = article.front_matter
    assert (wanted.kind, wanted.layers) == ("prediction", "all")
    inputs = kind.inputs(wanted)
    assert inputs.prompts == [Prompt("Nobody answered Ann by the", " lamp", " window")]
    assert len(inputs.corpus) == kind.MEANS_OF
    apart = article.apart.front_matter
    assert (apart.kind, apart.generated.number) == ("generated", 40)
    other = kind.Inputs([Prompt("Nobody answered Ann by the", " lamp")], inputs.corpus)
    assert kind.parts(inputs)["prompts"] != kind.parts(other)["prompts"]


def test_a_passage_predicts_each_of_its_next_tokens(tmp_path, falcon_folder):
    data = study(tmp_path / "ab9876543210", falcon_folder, PASSAGE)
    [text] = data.sentences
    assert not text.asks
    assert text.rows == text.length - 1
    assert [text.target(row).id for row in range(text.rows)] == [t.id for t in text.tokens[1:]]
    loaded = load_model(falcon_folder)
    ids = encode(loaded, text.text)
    found = ablation(loaded, ids, replacement=zeros(loaded), loss=True)
    np.testing.assert_allclose(text.drop("zero"), found.loss_rise, atol=1e-4)
    assert text.before == pytest.approx(found.log_probability.mean(), abs=1e-4)


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        (Prompt("The lamp is", " lit", " lit by"), "begin with the same token of tiny-falcon"),
        (Prompt("The wind", "ow is"), "the model's tokens do not part there from 'ow is'"),
        (Prompt("The lamp is", ""), "do not part there"),
        (Prompt("lamp " * 300, " lamp"), "effects on predictions are told of at most 256"),
    ],
)
def test_what_cannot_be_asked_is_refused(loaded, monkeypatch, prompt, said):
    monkeypatch.setattr(kind, "MOST", 256)  # the tiny model reads no more than 512
    with pytest.raises(ReportError, match=said):
        kind.measure(loaded, kind.Inputs([prompt], list(CORPUS)), lambda *_: None, lambda _: None)
