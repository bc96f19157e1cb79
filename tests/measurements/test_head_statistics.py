"""Sums over rows, by hand, and that they add up."""

import numpy as np
import pytest
import torch

from report.errors import ReportError
from report.measurements.head_statistics import HeadStatistics, block_sums

BY_HAND = torch.tensor(
    [
        [[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.2, 0.2, 0.6]],
        [[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.1, 0.7, 0.2]],
    ]
)


def measured(probability, splits=(), layers=1):
    """Statistics of one text in every layer, its rows in blocks that end at `splits`."""
    heads, length, _ = probability.shape
    statistics = HeadStatistics.empty(layers, heads)
    for layer in range(layers):
        for start, end in zip((0, *splits), (*splits, length), strict=True):
            statistics.add_block(layer, block_sums(probability[:, start:end, :end], start))
    statistics.add_text(length)
    return statistics


def random_text(seed, length=30, heads=4):
    generator = torch.Generator().manual_seed(seed)
    score = 3 * torch.randn(heads, length, length, generator=generator)
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    return score.masked_fill(later, -torch.inf).softmax(-1)


def test_fractions_and_concentration_by_hand():
    statistics = measured(BY_HAND)
    assert (statistics.texts, statistics.rows) == (1, 2)
    np.testing.assert_allclose(statistics.itself, [[0.5, 0.5]])
    np.testing.assert_allclose(statistics.first_token, [[0.5, 0.0]])
    np.testing.assert_allclose(statistics.concentration, [[0.6, 0.5]], atol=1e-7)


def test_the_first_row_is_left_out_alone():
    itself, first, difference = block_sums(BY_HAND[:, :1, :1], 0)
    assert itself.tolist() == first.tolist() == [0, 0]
    assert difference.tolist() == [0, 0]


def test_a_row_after_the_first_block_is_not_left_out():
    itself, first, _ = block_sums(BY_HAND[:, 1:2, :2], 1)
    assert itself.tolist() == [0, 1]
    assert first.tolist() == [1, 0]


def test_inputs_are_unchanged():
    before = BY_HAND.clone()
    block_sums(BY_HAND, 0)
    assert torch.equal(before, BY_HAND)


@pytest.mark.parametrize("splits", [(1,), (7, 9, 29), tuple(range(1, 30))])
def test_blocks_of_any_size_give_the_same_sums(splits):
    probability = random_text(0)
    whole, split = measured(probability, layers=2), measured(probability, splits, layers=2)
    assert (whole.itself_rows == split.itself_rows).all()
    assert (whole.first_token_rows == split.first_token_rows).all()
    np.testing.assert_allclose(whole.difference_sum, split.difference_sum, atol=1e-10)


def test_merging_is_the_mean_over_all_rows_and_changes_neither():
    long, short = measured(random_text(1, 30)), measured(random_text(2, 5))
    before = long.difference_sum.copy(), short.difference_sum.copy()
    merged = long.merge(short)
    assert (merged.texts, merged.rows) == (2, 33)
    expected = (29 * long.concentration + 4 * short.concentration) / 33
    np.testing.assert_allclose(merged.concentration, expected, atol=1e-10)
    np.testing.assert_allclose(merged.itself, (29 * long.itself + 4 * short.itself) / 33)
    assert (long.difference_sum == before[0]).all()
    assert (short.difference_sum == before[1]).all()


def test_merging_does_not_depend_on_the_order():
    parts = [measured(random_text(seed, 10 + seed)) for seed in range(4)]
    forward = parts[0].merge(parts[1]).merge(parts[2].merge(parts[3]))
    backward = parts[3].merge(parts[2]).merge(parts[1]).merge(parts[0])
    assert (forward.first_token_rows == backward.first_token_rows).all()
    np.testing.assert_allclose(forward.difference_sum, backward.difference_sum, atol=1e-10)


def test_different_models_cannot_be_merged():
    with pytest.raises(ReportError, match=r"\(1, 4\) and \(2, 4\) \(layers, heads\) cannot be m"):
        HeadStatistics.empty(1, 4).merge(HeadStatistics.empty(2, 4))


@pytest.mark.parametrize("name", ["itself", "first_token", "concentration"])
def test_nothing_counted_has_no_mean(name):
    with pytest.raises(ReportError, match="head statistics are empty; measure at least one text"):
        getattr(HeadStatistics.empty(2, 2), name)
