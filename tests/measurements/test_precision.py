"""What rounding explains: as much as sums in any order need, and no mistake."""

import math

import numpy as np
import pytest
import torch

from report.measurements.precision import summed_by, tolerance
from tests.close import order_is_right, require_close

DTYPES = (torch.float32, torch.float64)


def orders(terms):
    """A sum in several orders: plain, backwards, sorted, in pairs; list of float."""
    arranged = (terms, terms[::-1], np.sort(terms))
    return [float(np.add.accumulate(values)[-1]) for values in arranged] + [float(terms.sum())]


@pytest.mark.parametrize(
    ("number", "mixed", "dtype"),
    [(2, True, DTYPES[0]), (1000, False, DTYPES[1]), (100_000, True, DTYPES[0])],
)
def test_a_sum_in_any_order_is_within_rounding(number, mixed, dtype):
    terms = np.random.default_rng(number).random(number) - (0.5 if mixed else 0)
    terms = terms.astype(str(dtype).removeprefix("torch."))
    exact, found = math.fsum(terms.tolist()), orders(terms)
    most = tolerance(number, np.abs(terms).sum(), dtype)
    assert max(abs(one - exact) for one in found) <= most
    assert max(found) - min(found) <= most


def test_a_term_that_is_left_out_is_no_rounding():
    terms = np.random.default_rng(1).random(1000).astype(np.float32)
    assert abs(terms[1:].sum() - terms.sum()) > tolerance(len(terms), terms.sum())


def test_it_grows_with_the_root_of_the_terms_their_size_and_epsilon():
    assert tolerance(400) == pytest.approx(20 * tolerance(1))
    assert tolerance(9, 5) == pytest.approx(5 * tolerance(9))
    assert tolerance(1) == 8 * torch.finfo(torch.float32).eps
    assert tolerance(1, dtype=torch.float64) == 8 * torch.finfo(torch.float64).eps


def test_what_a_model_sums_counts_each_parameter_once():
    layer = torch.nn.Sequential(torch.nn.Linear(5, 3, bias=False), torch.nn.LayerNorm(3))
    assert summed_by([layer], 2) == (5 + 2) + 2 * (3 + 2)
    assert summed_by([layer, layer[0]], 2) == summed_by([layer], 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_close_only_within_rounding(dtype):
    expected = torch.tensor([1.0, 3.0, torch.nan], dtype=dtype)
    most = tolerance(4, 3, dtype)
    require_close(expected + most / 2, expected, summed=4)
    with pytest.raises(AssertionError):
        require_close(expected + 2 * most, expected, summed=4)
    with pytest.raises(AssertionError):
        require_close(expected.nan_to_num(), expected, summed=4)


def test_an_order_is_right_if_only_equal_values_changed_places():
    values = np.array([0.1, 0.4, 0.4 + 1e-9, 0.1])
    for order, right in (([1, 2, 0], True), ([2, 1], True), ([1, 1], False), ([0, 1], False)):
        assert order_is_right(order, values, summed=10) == right
    assert not order_is_right([1, 2], values, summed=10, dtype=torch.float64)
