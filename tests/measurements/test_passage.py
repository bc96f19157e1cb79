"""Maps computed on demand from the factors."""

import numpy as np
import pytest
import torch

from report.measurements import decomposition
from report.measurements.decomposition import Factors, Scores
from report.measurements.head_statistics import HeadStatistics
from report.measurements.passage import PassageMeasurement
from report.measurements.visible import Visible
from tests.measurements import plain


def two_layers():
    """Layer 0 has scores of 0 but for ALiBi; layer 1, head 1 has key biases that cancel out."""
    zeros = torch.zeros(2, 3, 2)
    position = torch.tensor([[0.0, 1.0, 2.0], [0.0, 0.5, 1.0]])
    unbiased = Factors(zeros, zeros.clone(), torch.zeros(2, 2), torch.zeros(2, 2), position, 1.0)
    key_bias = torch.tensor([[0.0, 0.0], [5.0, 5.0]])
    query = torch.arange(12.0).view(2, 3, 2)
    biased = Factors(query, zeros + key_bias[:, None], torch.ones(2, 2), key_bias, position, 1.0)
    blank = np.zeros((2, 2, 3))
    statistics = HeadStatistics.empty(2, 2)
    return PassageMeasurement([0, 4, 5], blank, blank, statistics, [unbiased, biased])


def test_probability_of_alibi_alone_by_hand():
    e = np.exp(1.0)
    expected = [[1, 0, 0], [1 / (1 + e), e / (1 + e), 0], np.exp([0, 1, 2]) / (1 + e + e**2)]
    np.testing.assert_allclose(two_layers().probability(0, 0), np.array(expected), atol=1e-12)


def test_terms_are_named_and_shaped():
    terms = two_layers().terms(0, 1)
    assert [(term.name, term.per, term.values.shape) for term in terms] == [
        ("content", "cell", (3, 3)),
        ("bias", "target", (3,)),
        ("position", "target_difference", (3,)),
    ]
    assert terms[2].values.tolist() == [0.0, 0.5, 1.0]
    assert not any(isinstance(term.values, torch.Tensor) for term in terms)


def test_content_is_zero_above_the_diagonal():
    passage = two_layers()
    passage.factors[0].query.fill_(1)
    passage.factors[0].key.fill_(2)
    content = passage.terms(0, 0)[0].values
    assert content.tolist() == [[4, 0, 0], [4, 4, 0], [4, 4, 4]]


def test_a_key_bias_changes_no_term_and_no_probability():
    """It adds the same to every target of a row, which softmax removes."""
    passage = two_layers()
    content, bias, _ = passage.terms(1, 1)
    assert not content.values.any()
    assert not bias.values.any()
    np.testing.assert_allclose(passage.probability(1, 1), passage.probability(0, 1), atol=1e-12)


def of_one_layer(factors):
    """A passage through a model of one layer."""
    blank = np.zeros((1, factors.heads, factors.length))
    statistics = HeadStatistics.empty(1, factors.heads)
    return PassageMeasurement([0] * factors.length, blank, blank, statistics, [factors])


@pytest.mark.parametrize("name", plain.CASES)
def test_any_layer_gives_maps_of_one_head_as_arrays(name):
    factors = plain.CASES[name]
    passage = of_one_layer(factors)
    _, probability = plain.attention(factors)
    expected = decomposition.terms(factors)
    for head in range(factors.heads):
        np.testing.assert_allclose(passage.probability(0, head), probability[head], atol=1e-12)
        for term, whole in zip(passage.terms(0, head), expected, strict=True):
            assert (term.name, term.per) == (whole.name, whole.per)
            assert isinstance(term.values, np.ndarray)
            np.testing.assert_allclose(term.values, whole.values[head], atol=1e-12)


def test_the_four_way_split_of_one_head():
    passage = of_one_layer(plain.CASES["rotation, shared keys"])
    expected = decomposition.rotary_terms(plain.CASES["rotation, shared keys"])
    for head in range(plain.HEADS):
        found = passage.rotary_terms(0, head)
        assert found.keys() == expected.keys()
        for name, values in found.items():
            np.testing.assert_allclose(values, expected[name][head], atol=1e-12)
    assert of_one_layer(plain.CASES["ALiBi"]).rotary_terms(0, 0) is None


def test_visible_targets_of_each_layer():
    passage = of_one_layer(plain.CASES["window"])
    assert passage.visible(0).first.tolist() == [0, 0, 0, 1, 2, 3, 4, 5, 6]
    assert two_layers().visible(1).is_causal


def test_a_model_that_shows_its_scores_alone_has_one_term():
    score = torch.tensor([[[0.0, 5.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    passage = of_one_layer(Scores(score, Visible.full(2)))
    (term,) = passage.terms(0, 1)
    assert (term.name, term.values.tolist()) == ("score", [[1, 0], [0, 1]])
    assert passage.rotary_terms(0, 1) is None
    assert passage.magnitude is None
    e = np.e / (1 + np.e)
    np.testing.assert_allclose(passage.probability(0, 1), [[e, 1 - e], [1 - e, e]])
