"""Maps computed on demand from the factors."""

import numpy as np
import torch

from report.measurements.decomposition import Factors
from report.measurements.head_statistics import HeadStatistics
from report.measurements.passage import PassageMeasurement


def two_layers():
    """Layer 0 has scores of 0 but for ALiBi; layer 1, head 1 has key biases that cancel out."""
    zeros = torch.zeros(2, 3, 2)
    position = torch.tensor([[0.0, 1.0, 2.0], [0.0, 0.5, 1.0]])
    plain = Factors(zeros, zeros.clone(), torch.zeros(2, 2), torch.zeros(2, 2), position, 1.0)
    key_bias = torch.tensor([[0.0, 0.0], [5.0, 5.0]])
    query = torch.arange(12.0).view(2, 3, 2)
    biased = Factors(query, zeros + key_bias[:, None], torch.ones(2, 2), key_bias, position, 1.0)
    blank = np.zeros((2, 2, 3))
    statistics = HeadStatistics.empty(2, 2)
    return PassageMeasurement([0, 4, 5], blank, blank, blank, blank, statistics, [plain, biased])


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
