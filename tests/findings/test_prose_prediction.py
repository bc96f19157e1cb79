"""What the article about a prediction says: true sentences, of models that can and that cannot.

The article's own template is rendered with a tiny model; no picture is drawn.
"""

import html
import re
from types import SimpleNamespace

import numpy as np
import pytest

from report.kinds.prediction.findings import PredictionFindings
from report.study.study import read_study
from tests import rendered
from tests.commands import ROOT

TEMPLATE = ROOT / "templates" / "articles" / "who-gets-the-drink.md.j2"


class Made:
    """Generated sentences made of numbers: head 1 of layer 2 writes the answer, head 0 against it,
    and head 3 of layer 0 does neither, but much is lost without it; head 1 there writes the same in
    every text."""

    number, ablations, texts = 240, ["zero", "mean", "resample"], ["one", "another"]
    forms = np.arange(240) % 4
    first = np.arange(240) < 180
    feed_forward = np.array([0.5, 0.5, -0.25])

    def __init__(self, right=1.0, ablated=12):
        self.logit = np.where(np.arange(240) < 240 * right, 4.0, -4.0)
        self._ablated = ablated

    def ablated(self, _):
        return self._ablated

    def mean(self, measure):
        values = np.full((3, 4), 0.01)
        values[2, 0], values[2, 1], values[1, 2] = -1.0, 2.5, 1.2
        if measure != "direct":
            values[0, 3], values[1, 2] = 2.0, 0.3
        if measure == "zero":
            values[0, 1] = 1.5
        if measure == "resample":
            values[0, 3] = 0.1
        return values

    def error(self, _):
        return np.full((3, 4), 0.05)


@pytest.fixture
def written(tmp_path, monkeypatch, prediction):
    """A function from generated sentences to the article's words, its figures and its findings."""
    rendered.words_only(monkeypatch)

    def write(made=None):
        if made:
            made.path, made.manifest = prediction.path, prediction.manifest
        monkeypatch.setattr(prediction, "generated", made)
        text = rendered.text_of(read_study(TEMPLATE), prediction, tmp_path)
        plain = html.unescape(re.sub(r"<[^>]*>", "", rendered.captions_alone(text)))
        plain = plain.replace("\u00a0", " ")
        return plain, rendered.figures(text), PredictionFindings(prediction)

    return write


def test_a_model_that_knows_the_answer(written):
    text, figures, find = written(Made())
    assert figures[0] == "effects_by_head"
    assert "lamp gets the drink: two heads write most of what heads add to that answer" in text
    assert "answer, while another writes against it." in text
    assert "L2H1 (2.50 ± 0.05) and L1H2 (1.20 ± 0.05) add most to that" in text
    assert "L2H1 and L1H2 together add +3.7, which is 98 % of all that heads write for" in text
    assert "All other heads add −0.91 in sum, all feed-forward layers +0.75." in text
    assert "One head writes against it, and is outvoted: L2H0 (−1.00 ± 0.05)." in text
    assert "L0H3 adds next to nothing itself, yet without it 2.0 logits" in text
    assert "L1H2 adds +1.2, but without it only 0.30 is lost" in text
    assert "L0H1 costs 1.5 then, with its mean in place only 0.010." in text
    assert "L0H3 costs little if it writes what it writes in a like sentence" in text
    assert "cannot do it" not in text
    assert [one.label for one in find.through] == ["L0H3"]
    assert find.share(find.writers) == pytest.approx(3.7 / 3.79)
    assert "L0H3 (2.00 ± 0.05), over 12 of these sentences" in text
    assert rendered.body(text)


def test_a_model_that_does_not_know_it_is_said_not_to(written):
    text, _, find = written(Made(right=0.45))
    assert not find.able
    assert "does not know who gets the drink: it prefers the right name in 45" in text
    assert "This model cannot do it" in text
    assert "lamp gets the drink" not in text


def test_without_generated_sentences_numbers_are_means_over_those_shown(written, prediction):
    text, figures, find = written()
    heads = [sentence.heads[-1] for sentence in prediction.sentences]
    np.testing.assert_allclose(find.mean("direct"), np.mean(heads, 0))
    assert find.right == np.mean([sentence.logit[-1] > 0 for sentence in prediction.sentences])
    assert "the sentences on this page" in text
    assert "generated sentences have" not in text
    assert figures[:2] == ["effects_by_head", "effect_by_target"]


def test_where_an_answer_leads_for_good():
    lens = SimpleNamespace(
        target_rank=np.array([[3], [0], [1], [0], [0]]),
        target_log_probability=np.array([[-3], [-1], [-1], [-1], [-1]]),
        other_log_probability=np.array([-1, -2, -2, -2, -2]),
        labels=("embedding", "a", "b", "c", "d"),
    )
    find = PredictionFindings(SimpleNamespace(sentences=[SimpleNamespace(lens=lens)]))
    assert (find.rise().first, find.rise().before) == ("c", "a")
    lens.target_rank[-1] = 2
    assert find.rise().first is None
