"""Maps computed on demand from the factors."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from report.measurements import decomposition
from report.measurements.decomposition import Scores
from report.measurements.head_statistics import HeadStatistics
from report.measurements.passage import PassageMeasurement
from report.measurements.visible import Visible
from tests.close import require_close
from tests.measurements import plain


def of_one_layer(factors):
    """A passage through a model of one layer."""
    blank = np.zeros((1, factors.heads, factors.length))
    statistics = HeadStatistics.empty(1, factors.heads)
    return PassageMeasurement([0] * factors.length, blank, blank, statistics, [factors])


@pytest.mark.parametrize("name", plain.CASES)
def test_any_layer_gives_maps_of_one_head_as_arrays(name):
    """In float64, though the model computes in float32."""
    factors = plain.CASES[name]
    tensors = {name: value for name, value in vars(factors).items() if torch.is_tensor(value)}
    passage = of_one_layer(replace(factors, **{n: value.float() for n, value in tensors.items()}))
    probability, expected = decomposition.probability(factors), decomposition.terms(factors)
    rounded = {"summed": 2 * plain.SIZE, "dtype": torch.float32}  # what goes into the products
    for head in range(factors.heads):
        found = passage.probability(0, head)
        size = max(1.0, decomposition.score(factors)[head].abs().max())
        require_close(found, probability[head], size=size, **rounded)
        for term, whole in zip(passage.terms(0, head), expected, strict=True):
            assert (term.name, term.per) == (whole.name, whole.per)
            assert found.dtype == term.values.dtype == np.float64
            require_close(term.values, whole.values[head], **rounded)
    assert passage.visible(0).first.tolist() == factors.range().first.tolist()


def test_the_four_way_split_of_one_head():
    passage = of_one_layer(plain.CASES["rotation, shared keys"])
    expected = decomposition.rotary_terms(plain.CASES["rotation, shared keys"])
    for head in range(plain.HEADS):
        found = passage.rotary_terms(0, head)
        assert found.keys() == expected.keys()
        for name, values in found.items():
            np.testing.assert_allclose(values, expected[name][head], atol=1e-12)
    assert of_one_layer(plain.CASES["ALiBi"]).rotary_terms(0, 0) is None


def test_a_model_that_shows_its_scores_alone_has_one_term():
    score = torch.tensor([[[0.0, 5.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    passage = of_one_layer(Scores(score, Visible.full(2)))
    (term,) = passage.terms(0, 1)
    assert (term.name, term.values.tolist()) == ("score", [[1, 0], [0, 1]])
    assert passage.rotary_terms(0, 1) is None
    assert passage.magnitude is None
    e = np.e / (1 + np.e)
    np.testing.assert_allclose(passage.probability(0, 1), [[e, 1 - e], [1 - e, e]])
