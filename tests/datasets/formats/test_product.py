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


def test_the_matrix_is_the_sum_over_components_in_plain_loops():
    told = Product(np.array([0.5, 0.25]), np.array([[1, -2], [4, 0]]), np.array([[3, 5], [-8, 2]]))
    expected = [[0.5 * 3 + 0.25 * 4 * -8, 0.5 * 5 + 0.25 * 4 * 2], [0.5 * -2 * 3, 0.5 * -2 * 5]]
    assert told.matrix().tolist() == expected


def test_a_file_has_the_integers_component_by_component():
    told = Product(np.array([0.5, 0.25]), np.array([[1, -2], [4, 0]]), np.array([[3, 5], [-8, 2]]))
    given = as_json(told, [0, 0, 7])
    assert given["weights"] == [0.5, 0.25]
    integers = unpack_wide(given["coarse"], given["fine"])
    assert integers.tolist() == [1, -2, 3, 5, 4, 0, -8, 2]
    assert [unpack(given[name]).tolist() for name in ("skipped", "missing")] == [[2], [7]]
    back, missing = from_json(given, 2, 3)
    assert back.matrix().tolist() == told.matrix().tolist()
    assert missing.tolist() == [0, 0, 7]
    for sizes in ((3, 3), (2, 2)):
        with pytest.raises(ValueError):
            from_json(given, *sizes)


@pytest.mark.parametrize("noise", [0.001, 0.02, 0.3])
@pytest.mark.parametrize(("length", "width"), [(200, 5), (40, 24), (20, 64)])
def test_the_error_is_the_one_that_is_asked_for(length, width, noise):
    rng = np.random.default_rng(width)
    query, key = rng.normal(0, 2, (2, length, width))
    error = nearest_product(query, key, noise).matrix() - query @ key.T
    assert 0.9 * noise < error.std() < 1.1 * noise
    assert abs(error.mean()) < 0.3 * noise


def test_components_too_small_to_be_seen_are_left_out():
    rng = np.random.default_rng(0)
    query, key = rng.normal(0, 1, (2, 100, 8))
    query[:, 3:] *= 1e-4
    assert len(nearest_product(query, key, 0.02).weights) == 3
    nothing = nearest_product(np.zeros((100, 8)), key, 0.02)
    assert len(nothing.weights) == 0
    assert nothing.matrix().tolist() == np.zeros((100, 100)).tolist()


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
