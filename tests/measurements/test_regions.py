"""Attention between regions, and what they receive, beside plain loops in float64."""

import numpy as np
import pytest
import torch

from report.measurements.block import Block
from report.measurements.regions import (
    APART,
    LEAST,
    QUERIES,
    RegionSums,
    correlation,
    even,
    kurtosis,
    received,
)
from report.measurements.visible import Visible

REGION = [0, 0, 1, 1, 1, 2, 3, 3, 4, 5, 5, 6]
T = len(REGION)
SEEN = {
    "causal": Visible.causal(T),
    "window": Visible.causal(T, 4),
    "encoder": Visible.full(T),
}


def attention(visible, heads=3, seed=0, dtype=torch.float32):
    """Rows of attention, [heads, T, T], and the blocks that a layer would be seen in."""
    score = torch.randn(heads, T, T, generator=torch.Generator().manual_seed(seed)).to(dtype)
    score[:, ~visible.mask()] = -torch.inf
    whole = score.softmax(-1)
    blocks = []
    for heads_of, rows in ((slice(0, 1), slice(0, 5)), (slice(1, 3), slice(0, 5))):
        blocks.append((heads_of, rows))
    blocks += [(slice(0, 2), slice(5, T)), (slice(2, 3), slice(5, T))]
    made = []
    for heads_of, rows in blocks:
        first, last = visible.first[rows], visible.last[rows]
        keys = slice(int(first.min()), int(last.max()) + 1)
        part = whole[heads_of, rows, keys]
        made.append(Block(heads_of.start, rows.start, keys.start, part, part, first, last))
    return whole.double().numpy(), made


def summed(region, visible, **options):
    whole, blocks = attention(visible, **options)
    sums = RegionSums(region, len(whole))
    for block in blocks:
        sums.add(block)
    return whole, sums


@pytest.mark.parametrize("seen", SEEN)
def test_sums_over_regions_are_those_of_a_plain_loop(seen):
    whole, sums = summed(REGION, SEEN[seen])
    number, between, to = REGION[-1] + 1, sums.between().numpy(), sums.to().numpy()
    firsts = [t for t in range(1, T) if REGION[t] != REGION[t - 1]]
    lasts = [t for t in range(T) if t == T - 1 or REGION[t] != REGION[t + 1]]
    for head in range(3):
        for i in range(number):
            rows = [t for t in range(T) if REGION[t] == i]
            for j in range(number):
                keys = [t for t in range(T) if REGION[t] == j]
                loop = sum(sum(whole[head, q, k] for k in keys) for q in rows) / len(rows)
                assert between[head, i, j] == pytest.approx(loop, abs=1e-15)
        loops = [
            [sum(whole[head, q, k] for k in range(T) if REGION[k] == REGION[q]) for q in range(T)],
            [sum(whole[head, q, k] for k in firsts) for q in range(T)],
            [sum(whole[head, q, k] for k in lasts) for q in range(T)],
        ]
        assert to[head] == pytest.approx([np.mean(loop[1:]) for loop in loops], abs=1e-15)
    if seen != "encoder":
        assert not np.triu(between, 1).any()
    assert between.sum(-1) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("seen", SEEN)
def test_regions_of_single_tokens_give_the_numbers_of_tokens_in_every_bit(seen):
    whole, sums = summed(range(T), SEEN[seen])
    assert np.array_equal(sums.between().numpy(), whole)
    same = np.einsum("htt->ht", whole)[:, 1:].mean(1)
    assert sums.to()[:, 0].numpy() == pytest.approx(same, abs=1e-15)


@pytest.mark.parametrize("seen", SEEN)
def test_even_attention_is_that_of_equal_probabilities(seen):
    mask = SEEN[seen].mask().double().numpy()
    whole = mask / mask.sum(1, keepdims=True)
    between, to = even(REGION, SEEN[seen])
    for i, j in np.ndindex(between.shape):
        rows, keys = (np.array(REGION) == at for at in (i, j))
        assert between[i, j] == pytest.approx(whole[rows][:, keys].sum(1).mean(), abs=1e-15)
    assert to[0] == pytest.approx(
        np.mean([whole[t, np.array(REGION) == REGION[t]].sum() for t in range(1, T)])
    )


def rows_of(number, seed=1):
    """What regions give to earlier ones, [1, 2, n, n], and even attention, [1, n, n]."""
    rng = np.random.default_rng(seed)
    between = np.tril(rng.random((1, 2, number, number)))
    alike = np.tril(rng.random((1, number, number)) + 0.1)
    return between / between.sum(-1, keepdims=True), alike / alike.sum(-1, keepdims=True)


def test_what_regions_receive_is_that_of_a_plain_loop():
    between, alike = rows_of(15)
    result = received(between, alike)
    assert np.isnan(result.score[..., 0]).all()
    known = ~np.isnan(result.score[0, 0])
    assert known.tolist() == [1 <= j <= 15 - APART - QUERIES for j in range(15)]
    for head, half in np.ndindex(2, 3):
        rows = [i for i in range(15) if half == 2 or i % 2 == half]
        factor = {}
        for lag in range(APART, 15):
            pairs = [(i, i - lag) for i in rows if i - lag >= 1]
            below = sum(alike[0, i, j] for i, j in pairs)
            factor[lag] = sum(between[0, head, i, j] for i, j in pairs) / below if pairs else 0
        for j in np.flatnonzero(known):
            later = [i for i in rows if i >= j + APART]
            given = sum(between[0, head, i, j] for i in later)
            expected = sum(alike[0, i, j] * factor[i - j] for i in later)
            values = result.score if half == 2 else result.halves[half]
            assert values[0, head, j] == pytest.approx(given / expected, rel=1e-12)
    scores = result.score[0, 1][known]
    away = scores - scores.mean()
    assert result.unevenness[0, 1] == pytest.approx(np.mean(away**4) / np.mean(away**2) ** 2 - 3)
    halves = result.halves[:, 0, 1][:, known]
    assert result.reliability[0, 1] == pytest.approx(np.corrcoef(halves)[0, 1])


def test_a_head_that_only_looks_so_far_back_receives_as_expected_everywhere():
    _, alike = rows_of(20)
    lag = np.subtract.outer(np.arange(20), np.arange(20))
    between = (alike * np.where(lag >= 0, 0.9 ** np.abs(lag), 0))[:, None]
    scores = received(between, alike).score
    assert scores[~np.isnan(scores)] == pytest.approx(1)


def test_one_region_that_all_come_back_to_stands_out_in_both_halves():
    between, alike = rows_of(30)
    between[:, 1] = alike + 0
    between[0, 1, 9:, 5] += 0.5
    result = received(between, alike)
    assert int(np.nanargmax(result.score[0, 1])) == 5
    assert result.unevenness[0, 1] > 2 + abs(result.unevenness[0, 0])
    assert result.reliability[0, 1] > 0.95


def test_numbers_of_too_few_regions_or_of_none_are_unknown():
    few = received(*rows_of(APART + QUERIES + LEAST - 1))
    enough = received(*rows_of(APART + QUERIES + LEAST))
    assert not np.isnan(enough.unevenness).any()
    assert np.isnan(few.unevenness).all()
    assert np.isnan(few.reliability).all()
    between, alike = rows_of(15)
    between[:, 0], alike[:] = 0, np.eye(15)  # nothing is seen so far back
    assert np.isnan(received(between, alike).unevenness).all()
    flat = np.ones((1, 9))
    assert np.isnan(kurtosis(flat)).all()
    assert np.isnan(correlation(flat, flat)).all()
    assert kurtosis(np.array([[1.0, 2, 3, 4, 5, 6]])) == pytest.approx(-1.2686, abs=1e-4)
