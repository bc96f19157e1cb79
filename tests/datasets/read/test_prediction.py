"""Datasets of predictions: what is read is what was measured, and it fits together."""

import numpy as np
import pytest

from report.effects.asked import Asked
from report.effects.origins import origins_of_heads
from report.effects.sentence import by_target, logit_lens
from report.effects.writes import writes_of_heads
from report.errors import ReportError
from report.kinds.prediction.data import verify as verify_prediction
from report.kinds.prediction.pieces import Part
from report.models.load.load import load_model
from report.models.text.tokens import tokenize


@pytest.fixture(scope="module")
def sentence(prediction):
    return prediction.sentences[0]


@pytest.fixture(scope="module")
def again(prediction, sentence, falcon_folder):
    """The model once more, and the tokens of the first text."""
    loaded = load_model(falcon_folder)
    return loaded, tokenize(loaded, sentence.text).token_ids


def test_all_of_it_fits_together(prediction):
    verify_prediction(prediction)
    assert prediction.kind == "prediction"
    assert [one.asks for one in prediction.sentences] == [True, True]
    assert len(prediction.shown_heads) == 12


def test_effects_are_those_of_the_model(sentence, again):
    loaded, ids = again
    assert [token.id for token in sentence.tokens] == ids
    target, other = sentence.target(), sentence.other()
    assert (target.label, other.label) == (" lamp", " window")
    assert sentence.other(0) is None
    asked = [Asked(0, ids[1], "mean"), Asked(-1, target.id, other.id)]
    found = by_target(loaded, ids, asked)
    for row, place in ((0, 0), (-1, 1)):
        np.testing.assert_allclose(sentence.heads[row], found.direct.heads[place], atol=1e-4)
        total = sentence.rest + sentence.embedding + sentence.heads.sum((1, 2))
        total += sentence.feed_forward.sum(1) + sentence.attention_bias.sum(1)
        assert total[row] == pytest.approx(found.direct.logit[place], abs=2e-3)
    one = sentence.head(2, 1)
    np.testing.assert_allclose(one.effect[-1], found.effects[1, 2, 1], atol=1e-4)
    np.testing.assert_allclose(one.probability[-1], found.probability[1, 2, 1], atol=1e-4)


def test_the_lens_is_that_of_the_model(sentence, again):
    loaded, ids = again
    target, other = sentence.target().id, sentence.other().id
    found = logit_lens(loaded, ids, [-1], [(target, other)])
    lens = sentence.lens
    assert lens.tokens[:, -1].tolist() == found.tokens[:, 0].tolist()
    np.testing.assert_allclose(lens.target_log_probability[:, -1], found.asked[:, 0, 0], atol=6e-3)
    np.testing.assert_allclose(lens.other_log_probability, found.asked[:, 0, 1], atol=6e-3)
    assert lens.target_rank[:, -1].tolist() == found.ranks[:, 0, 0].tolist()
    assert lens.labels[:3] == ("embedding", "layer 0, attention", "layer 0, feed-forward")
    assert all(token in lens.words for token in lens.tokens.ravel())


def test_heads_that_matter_say_what_they_write_and_what_their_scores_are_made_of(
    prediction, sentence, again
):
    loaded, ids = again
    layer, head = next(place for place in prediction.shown_heads if place[0] == 2)
    one = sentence.head(layer, head)
    found = writes_of_heads(loaded, ids, [(layer, head)])[0]
    assert one.writes.promoted.tolist() == found.promoted.tolist()
    np.testing.assert_allclose(one.writes.suppressed_by, found.suppressed_by, atol=6e-4)
    made_of = origins_of_heads(loaded, ids, layer, [head])[0]
    assert one.origins.parts == tuple(Part(p.kind, p.layer, p.head) for p in made_of.parts)
    np.testing.assert_allclose(one.origins.by_key, made_of.by_key, atol=6e-4)
    assert [part.label for part in one.origins.parts[:3]] == ["embedding", "L0H0", "L0H1"]


def test_an_ablation_that_was_not_measured_is_refused(sentence):
    assert sentence.ablations == ["zero", "mean"]
    with pytest.raises(ReportError, match="'resample' was not measured; measured are: zero, mean"):
        sentence.drop("resample")
