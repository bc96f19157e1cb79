"""Sums over rows, by hand, and that they add up."""

import numpy as np
import pytest
import torch

from report.errors import ReportError
from report.measurements.head_statistics import HeadStatistics, row_sums

TARGETS = torch.tensor([[[0, -1], [0, 1], [2, 0]], [[0, -1], [1, 0], [1, 2]]])
PROBABILITY = torch.tensor([[[1, 0], [0.9, 0.1], [0.6, 0.2]], [[1, 0], [0.75, 0.25], [0.7, 0.2]]])


def measured(targets, probability, layers=1):
    """Statistics of one text that is alike in every layer."""
    statistics = HeadStatistics.empty(layers, targets.shape[0])
    for layer in range(layers):
        statistics.add_layer(layer, row_sums(targets, probability))
    statistics.add_text(targets.shape[1])
    return statistics


def random_text(seed, length=30, heads=4):
    """Targets and probabilities of a text of random attention."""
    generator = torch.Generator().manual_seed(seed)
    score = 3 * torch.randn(heads, length, length, generator=generator)
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    found = score.masked_fill(later, -torch.inf).softmax(-1).topk(2)
    return found.indices, found.values


def test_fractions_and_concentration_by_hand():
    statistics = measured(TARGETS, PROBABILITY)
    assert (statistics.texts, statistics.rows) == (1, 2)
    np.testing.assert_allclose(statistics.itself, [[0.5, 0.5]])
    np.testing.assert_allclose(statistics.first_token, [[0.5, 0.0]])
    np.testing.assert_allclose(statistics.concentration, [[0.6, 0.5]], atol=1e-7)
    np.testing.assert_allclose(statistics.previous_token, [[0.5, 0.5]])


def test_the_first_row_is_left_out():
    itself, first, difference, previous = row_sums(TARGETS[:, :1], PROBABILITY[:, :1])
    assert itself.tolist() == first.tolist() == previous.tolist() == [0, 0]
    assert difference.tolist() == [0, 0]


def test_the_first_row_of_an_encoder_is_left_out_too():
    """It has a choice, but for token 0 "itself" and "the first token" are one target."""
    targets = torch.tensor([[[0, 1], [0, 1]]])
    probability = torch.tensor([[[0.8, 0.2], [0.75, 0.25]]])
    itself, first, difference, previous = row_sums(targets, probability)
    assert (itself.tolist(), first.tolist(), difference.tolist()) == ([0], [1], [0.5])
    assert previous.tolist() == [1]


def test_with_a_sink_the_difference_is_of_what_it_leaves():
    _, _, difference, _ = row_sums(TARGETS[:1], PROBABILITY[:1] / 4)
    torch.testing.assert_close(difference, torch.tensor([0.3], dtype=torch.float64))


def test_inputs_are_unchanged():
    before = TARGETS.clone(), PROBABILITY.clone()
    row_sums(TARGETS, PROBABILITY)
    assert torch.equal(before[0], TARGETS)
    assert torch.equal(before[1], PROBABILITY)


def test_layers_are_kept_apart():
    statistics = HeadStatistics.empty(2, 2)
    statistics.add_layer(1, row_sums(TARGETS, PROBABILITY))
    assert statistics.itself_rows.tolist() == [[0, 0], [1, 1]]


def test_merging_is_the_mean_over_all_rows_and_changes_neither():
    long, short = measured(*random_text(1, 30)), measured(*random_text(2, 5))
    before = long.difference_sum.copy(), short.difference_sum.copy()
    merged = long.merge(short)
    assert (merged.texts, merged.rows) == (2, 33)
    expected = (29 * long.concentration + 4 * short.concentration) / 33
    np.testing.assert_allclose(merged.concentration, expected, atol=1e-10)
    np.testing.assert_allclose(merged.itself, (29 * long.itself + 4 * short.itself) / 33)
    assert (long.difference_sum == before[0]).all()
    assert (short.difference_sum == before[1]).all()


@pytest.mark.parametrize("splits", [(1,), (3, 7), (2, 4, 6, 8)])
def test_however_texts_are_split_the_sums_are_those_of_the_whole(splits):
    texts = [random_text(seed, 3 + 7 * seed) for seed in range(10)]
    whole = HeadStatistics.empty(1, 4)
    parts = [HeadStatistics.empty(1, 4) for _ in range(len(splits) + 1)]
    for place, text in enumerate(texts):
        for statistics in (whole, parts[sum(place >= split for split in splits)]):
            statistics.add_layer(0, row_sums(*text))
            statistics.add_text(text[0].shape[1])
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    assert (merged.rows, merged.texts) == (whole.rows, whole.texts)
    assert (merged.itself_rows == whole.itself_rows).all()
    assert (merged.first_token_rows == whole.first_token_rows).all()
    assert (merged.previous_token_rows == whole.previous_token_rows).all()
    np.testing.assert_allclose(merged.difference_sum, whole.difference_sum, rtol=0, atol=1e-10)


def test_merging_does_not_depend_on_the_order():
    parts = [measured(*random_text(seed, 10 + seed)) for seed in range(4)]
    forward = parts[0].merge(parts[1]).merge(parts[2].merge(parts[3]))
    backward = parts[3].merge(parts[2]).merge(parts[1]).merge(parts[0])
    assert (forward.first_token_rows == backward.first_token_rows).all()
    np.testing.assert_allclose(forward.difference_sum, backward.difference_sum, atol=1e-10)


def test_different_models_cannot_be_merged():
    with pytest.raises(ReportError, match=r"\(1, 4\) and \(2, 4\) \(layers, heads\) cannot be m"):
        HeadStatistics.empty(1, 4).merge(HeadStatistics.empty(2, 4))


@pytest.mark.parametrize("name", ["itself", "first_token", "previous_token", "concentration"])
def test_nothing_counted_has_no_mean(name):
    with pytest.raises(ReportError, match="head statistics are empty; measure at least one text"):
        getattr(HeadStatistics.empty(2, 2), name)
