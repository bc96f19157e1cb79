"""Products of queries and keys: what is told of them is near what they are, and no more."""

import numpy as np
import pytest

from report.datasets.formats.packing import unpack, unpack_wide
from report.datasets.formats.product import (
    Product,
    as_json,
    from_json,
    nearest_product,
    shortest,
)

ALL = np.ones((2, 2), bool)


def told_of_two_tokens():
    queries, keys = np.array([[[1, -2], [4, 0]], [[3, 5], [-8, 2]]])
    return Product(np.array([0.5, 0.25]), queries, keys, ALL)


def test_the_matrix_is_the_sum_over_components_in_plain_loops():
    told = told_of_two_tokens()
    expected = [[0.5 * 3 + 0.25 * 4 * -8, 0.5 * 5 + 0.25 * 4 * 2], [0.5 * -2 * 3, 0.5 * -2 * 5]]
    assert told.matrix.tolist() == expected


@pytest.mark.parametrize("length", [1, 64, 150])
@pytest.mark.parametrize("seen", [np.tri, lambda n: np.tri(n) - np.tri(n, k=-5), np.eye])
def test_what_is_seen_is_summed_in_the_order_of_the_components(length, seen):
    rng = np.random.default_rng(length)
    queries, keys = rng.integers(-900, 900, (2, 7, length))
    told = Product(rng.random(7), queries, keys, seen(length).astype(bool))
    expected = np.zeros((length, length))
    for weight, query, key in zip(told.weights, queries, keys, strict=True):
        expected += (weight * query)[:, None] * key
    assert (told.matrix == expected)[told.mask].all()


def test_a_file_has_the_integers_component_by_component():
    told = told_of_two_tokens()
    given = as_json(told, [0, 0, 7])
    assert given["weights"] == [0.5, 0.25]
    integers = unpack_wide(given["coarse"], given["fine"])
    assert integers.tolist() == [1, -2, 3, 5, 4, 0, -8, 2]
    assert [unpack(given[name]).tolist() for name in ("skipped", "missing")] == [[2], [7]]
    three = np.array([[True, False], [True, True]])
    back, missing = from_json(given, three)
    assert back.matrix[three].tolist() == told.matrix[three].tolist()
    assert missing.tolist() == [0, 0, 7]
    for mask in (np.tri(3, dtype=bool), ALL & (np.arange(2) == 0)):
        with pytest.raises(ValueError):
            from_json(given, mask)


@pytest.mark.parametrize("noise", [0.001, 0.02, 0.3])
@pytest.mark.parametrize(("length", "width"), [(200, 5), (40, 24), (20, 64)])
def test_the_error_is_the_one_that_is_asked_for(length, width, noise):
    rng = np.random.default_rng(width)
    query, key = rng.normal(0, 2, (2, length, width))
    everything = np.ones((length, length), bool)
    error = nearest_product(query, key, noise, everything).matrix - query @ key.T
    assert 0.9 * noise < error.std() < 1.1 * noise
    assert abs(error.mean()) < 0.3 * noise


def test_components_too_small_to_be_seen_are_left_out():
    rng = np.random.default_rng(0)
    query, key = rng.normal(0, 1, (2, 100, 8))
    query[:, 3:] *= 1e-4
    everything = np.ones((100, 100), bool)
    assert len(nearest_product(query, key, 0.02, everything).weights) == 3
    nothing = nearest_product(np.zeros((100, 8)), key, 0.02, everything)
    assert len(nothing.weights) == 0
    assert nothing.matrix.tolist() == np.zeros((100, 100)).tolist()


def test_cells_alone_are_told_where_that_takes_less():
    rng = np.random.default_rng(0)
    lower = np.tril(np.ones((60, 60), bool))
    multiple = np.full((60, 60), 10)
    thin, thick = (rng.normal(0, 1, (2, 60, width)) for width in (2, 40))
    for pair, told in ((thin, True), (thick, False)):
        found = shortest(pair[0] @ pair[1].T, pair, 0.002, multiple, lower)
        assert (found is not None) == told
    assert shortest(thin[0] @ thin[1].T, None, 0.002, multiple, lower) is None


@pytest.mark.parametrize("broken", [np.nan, np.inf, 1e9])
def test_what_nobody_sees_may_be_anything(broken):
    query, key = np.random.default_rng(0).normal(0, 1, (2, 60, 2))
    values, lower = query @ key.T, np.tril(np.ones((60, 60), bool), -1)
    multiple = np.full((60, 60), 10)
    assert shortest(values, (query, key), 0.002, multiple, lower)
    key[-1] = broken  # the last token is the target of none
    assert shortest(values, (query, key), 0.002, multiple, lower) is None
