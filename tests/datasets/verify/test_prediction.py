"""Datasets of predictions that do not fit together are told, and what does not."""

from dataclasses import replace

import pytest

from report.datasets.formats import generated
from report.errors import ReportError
from report.kinds.prediction.data import PredictionData
from report.kinds.prediction.data import verify as verify_prediction
from tests.made_prediction import generated_study


def change_effect(sentence):
    sentence._arrays["heads"][1, 2, 3] += 0.1


def change_logit(sentence):
    sentence._arrays["logit"][0] += 0.1


def change_guess(sentence):
    sentence.lens.log_probability[4, 0, :2] = -9, -1


def change_certainty(sentence):
    sentence.lens.target_log_probability[0, 0] = 0.5


DAMAGES = {
    change_effect: "text 1: direct effects sum to",
    change_logit: "text 1: direct effects sum to",
    change_guess: "a guess of its lens is likelier than the one before",
    change_certainty: "its lens has a probability above 1",
}


@pytest.mark.parametrize("change", DAMAGES, ids=lambda change: change.__name__)
def test_what_does_not_fit_is_told(prediction, change):
    data = PredictionData(prediction.path)
    change(data.sentences[1])
    with pytest.raises(ReportError, match=DAMAGES[change]):
        verify_prediction(data)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda head: {"effect": head.effect + 0.1}, "effects by target of L2H3 sum to"),
        (lambda head: {"probability": head.probability * 3}, "L2H3 gives"),
    ],
)
def test_a_head_that_does_not_fit_is_told(prediction, monkeypatch, change, said):
    data = PredictionData(prediction.path)
    text = data.sentences[0]
    whole = text.head

    def head(*place):
        found = whole(*place)
        return replace(found, **change(found)) if place == (2, 3) else found

    monkeypatch.setattr(text, "head", head)
    with pytest.raises(ReportError, match=said):
        verify_prediction(data)


def test_a_table_of_sentences_that_lacks_a_column_is_told(tmp_path, falcon_folder):
    data = generated_study(tmp_path / "ab9876543210", falcon_folder, number=2)
    table = data._read(generated.FILE)
    about, sizes = data.about, (12, 3)
    assert set(generated.decode(table, about, *sizes)) == {"heads", "layers", "sentences"}
    with pytest.raises(ReportError, match="table 'sentences' has 2 rows, not 3"):
        generated.decode(table, about | {"sentences": 3}, *sizes)
    with pytest.raises(ReportError, match="table 'heads' has other columns than it should: 'mean'"):
        generated.decode(table, about | {"ablated": {"zero": 2, "resample": 2}}, *sizes)
