"""One head in two models: what a file says beside transformers' own attention of both."""

import numpy as np
import pytest

from report import families
from report.datasets.formats.attention_pair import ERROR, decode, encode
from report.datasets.write.attention import scores_dataset
from report.errors import ReportError
from report.families.verify import in_float64
from report.models.measure.passage import measure_passage
from tests.models.measure.test_difference import attention
from tests.models.recording import some_tokens

TEXT = some_tokens(40, 3)


def measured(family):
    """Two random models of one shape and what was measured of each."""
    models = families.loaded(family), families.loaded(family, seed=1)
    return models, [measure_passage(each, TEXT, measures=()) for each in models]


def of_pair(first, second, layer, head):
    return encode(*(scores_dataset(each, layer, head) for each in (first, second)))


@pytest.mark.parametrize("family", ["llama", "gemma2", "qwen2", "bert"])
def test_a_change_is_that_of_the_models_own_attention(family):
    """Causal or not, with a cap and a sliding window, with biases."""
    with in_float64():
        models, both = measured(family)
        before, now = (attention(each, TEXT) for each in models)
    for layer, head in np.ndindex(before.shape[:2]):
        one, other = decode(of_pair(*both, layer, head))
        change = other.probability - one.probability
        exact = now[layer, head] - before[layer, head]
        assert np.abs(change - exact).max() <= ERROR
        assert np.abs(exact).max() > 20 * ERROR  # random models differ


def test_a_model_beside_itself_changes_nothing_and_two_turned_round_the_opposite():
    _, (first, second) = measured("llama")
    for layer, head in np.ndindex(first.largest_targets.shape[:2]):
        one, other = decode(of_pair(first, first, layer, head))
        assert (one.probability == other.probability).all()
        there, back = (
            decode(of_pair(*each, layer, head)) for each in ((first, second), (second, first))
        )
        change = there[1].probability - there[0].probability
        assert (change == -(back[1].probability - back[0].probability)).all()


def test_two_heads_or_two_texts_are_no_pair():
    _, (first, second) = measured("llama")
    with pytest.raises(ReportError, match="of two heads, not of one head in two models"):
        decode(encode(scores_dataset(first, 0, 0), scores_dataset(second, 0, 1)))
    shorter = measure_passage(families.loaded("llama"), TEXT[:-1], measures=())
    with pytest.raises(ReportError, match="do not see the same targets"):
        decode(encode(scores_dataset(first, 0, 0), scores_dataset(shorter, 0, 0)))
