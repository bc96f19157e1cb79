"""The terms of a score on numbers small enough to do by hand."""

import dataclasses

import torch

from report.measurements import decomposition
from report.measurements.decomposition import Factors

BY_HAND = Factors(
    query=torch.tensor([[[3.0, 1.0], [1.0, 5.0], [2.0, 2.0]]]),
    key=torch.tensor([[[0.0, 1.0], [4.0, 0.0], [1.0, 1.0]]]),
    query_bias=torch.tensor([[1.0, 2.0]]),
    key_bias=torch.tensor([[0.0, -1.0]]),
    position=torch.tensor([[0.0, 0.25, 0.5]]),
    scale=0.5,
)
"""Without biases the queries are (2, -1), (0, 3), (1, 0) and the keys (0, 2), (4, 1), (1, 2)."""


def test_score_is_the_scaled_product_plus_alibi_of_the_target():
    expected = [[0.5, 6.25, 2.5], [2.5, 2.25, 3.5], [1.0, 4.25, 2.5]]
    assert decomposition.score(BY_HAND).tolist() == [expected]


def test_content_is_the_product_without_biases():
    expected = [[-1.0, 3.5, 0.0], [3.0, 1.5, 3.0], [0.0, 2.0, 0.5]]
    assert decomposition.content(BY_HAND).tolist() == [expected]


def test_bias_depends_on_the_target():
    assert decomposition.bias(BY_HAND).tolist() == [[2.0, 3.0, 2.5]]


def test_row_constant_depends_on_the_current_token():
    assert decomposition.row_constant(BY_HAND).tolist() == [[-0.5, -2.5, -1.0]]


def test_position_is_the_tensor_of_the_model():
    assert decomposition.position(BY_HAND).tolist() == [[0.0, 0.25, 0.5]]


def test_all_four_terms_sum_to_the_score_of_random_factors():
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    factors = Factors(draw(3, 9, 4), draw(3, 9, 4), draw(3, 4), draw(3, 4), draw(3, 9), 0.5)
    before = dataclasses.astuple(factors)[:5]
    copies = [tensor.clone() for tensor in before]
    position = decomposition.position(factors)
    total = (
        decomposition.content(factors)
        + decomposition.bias(factors)[:, None, :]
        + (position[:, None, :] - position[:, :, None])
        + (decomposition.row_constant(factors) + position)[:, :, None]
    )
    torch.testing.assert_close(total, decomposition.score(factors))
    for name, copy in zip(("query", "key", "query_bias", "key_bias"), copies, strict=False):
        assert torch.equal(getattr(factors, name), copy)


def test_one_head_of_the_factors_is_in_float64():
    head = BY_HAND.head(0)
    assert head.query.dtype == torch.float64
    assert head.query.shape == (1, 3, 2)
    assert head.scale == 0.5
