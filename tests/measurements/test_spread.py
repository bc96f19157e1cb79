"""Means and standard errors against numpy's, however the values come in."""

from functools import reduce

import numpy as np
import pytest

from report.measurements.conditions import Spread


def prompts(lengths, seed=0):
    rng = np.random.default_rng(seed)
    return [1e3 + rng.normal(size=(2, 3, length)) for length in lengths]


def spread(values):
    return reduce(Spread.merge, map(Spread.of, values))


def test_each_position_is_the_mean_over_the_prompts_that_have_it():
    values = prompts([4, 2, 5, 3, 4])
    found = spread(values)
    assert found.count.tolist() == [5, 5, 4, 3, 1]
    for place in range(5):
        there = [each[..., place] for each in values if each.shape[-1] > place]
        np.testing.assert_allclose(found.mean[..., place], np.mean(there, 0), rtol=1e-14)
        if len(there) > 1:
            expected = np.std(there, 0, ddof=1) / np.sqrt(len(there))
            np.testing.assert_allclose(found.standard_error[..., place], expected, rtol=1e-9)
    assert np.isnan(found.standard_error[..., 4]).all()


@pytest.mark.parametrize("cut", [1, 3, 6])
def test_parts_merge_to_the_whole(cut):
    values = prompts([4, 2, 5, 3, 4, 6, 1])
    parts, whole = spread(values[:cut]).merge(spread(values[cut:])), spread(values)
    assert (parts.count == whole.count).all()
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-14)
    np.testing.assert_allclose(parts.squares, whole.squares, rtol=1e-9, atol=1e-20)


def test_one_value_has_no_standard_error_and_inputs_are_unchanged():
    value = np.array([[1.0, 2.0]])
    one = Spread.of(value)
    one.merge(Spread.of(value + 1))
    assert np.isnan(one.standard_error).all()
    assert one.mean.tolist() == value.tolist() == [[1.0, 2.0]]
