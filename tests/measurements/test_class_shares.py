"""Attention by classes of targets, block by block, against a plain loop."""

from dataclasses import replace

import pytest
import torch

from report.measurements.class_shares import ClassShares, even_shares
from report.measurements.visible import Visible
from report.models.attention.kernel import streaming_attention
from tests.close import require_close
from tests.measurements.plain import HEADS, LENGTH, biased, drawer

NUMBER = 3
ROWS = [2, 5, 8]


def classes():
    """A class for every target, another for each current token."""
    places = torch.arange(LENGTH)
    return ((places[None] + torch.tensor(ROWS)[:, None]) % NUMBER).numpy()


def probabilities(factors, visible):
    """[heads, T, T], written out."""
    found = torch.zeros(HEADS, LENGTH, LENGTH, dtype=torch.float64)
    group = HEADS // len(factors.key)
    for head in range(HEADS):
        for row in range(LENGTH):
            first, last = int(visible.first[row]), int(visible.last[row])
            keys = factors.key[head // group, first : last + 1]
            weight = torch.exp(factors.scale * keys @ factors.query[head, row])
            found[head, row, first : last + 1] = weight / weight.sum()
    return found


@pytest.mark.parametrize("window", [None, 4])
@pytest.mark.parametrize("rows", [1, 2, 64])
def test_means_equal_a_plain_loop_whatever_the_blocks(window, rows):
    visible = Visible.causal(LENGTH, window)
    factors = replace(biased(key_heads=2), visible=visible)
    value = drawer(9)(2, LENGTH, 5)
    shares = ClassShares(ROWS, classes(), NUMBER, HEADS)
    streaming_attention(factors, value, shares.add, rows=rows)
    expected = torch.zeros(HEADS, NUMBER, dtype=torch.float64)
    for place, row in enumerate(ROWS):
        for target in range(LENGTH):
            kind = classes()[place][target]
            expected[:, kind] += probabilities(factors, visible)[:, row, target] / len(ROWS)
    require_close(shares.mean(), expected, LENGTH)
    require_close(shares.mean().sum(1), torch.ones(HEADS), LENGTH)


@pytest.mark.parametrize("window", [None, 4])
def test_even_attention_is_the_part_of_what_is_seen(window):
    visible = Visible.causal(LENGTH, window)
    found = even_shares(ROWS, classes(), NUMBER, visible)
    expected = [0.0] * NUMBER
    for place, row in enumerate(ROWS):
        seen = range(int(visible.first[row]), row + 1)
        for target in seen:
            expected[classes()[place][target]] += 1 / len(seen) / len(ROWS)
    torch.testing.assert_close(found, torch.tensor(expected).double())


def test_a_row_that_is_not_asked_for_counts_nothing():
    shares = ClassShares([], classes()[:0], NUMBER, HEADS)
    factors = biased()
    streaming_attention(factors, drawer(9)(HEADS, LENGTH, 5), shares.add)
    assert shares.total.abs().sum() == 0
