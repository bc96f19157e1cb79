"""Attention by classes of targets, block by block, against a plain loop."""

from dataclasses import replace

import pytest
import torch

from report.measurements.class_shares import ClassShares, even_shares
from report.measurements.visible import Visible
from report.models.attention.kernel import streaming_attention
from tests.close import require_close
from tests.measurements.plain import HEADS, LENGTH, attention, biased, drawer

NUMBER = 3
ROWS = [2, 5, 8]
CLASSES = (torch.arange(LENGTH)[None] + torch.tensor(ROWS)[:, None]).numpy() % NUMBER
"""A class for every target, another for each current token."""


@pytest.mark.parametrize(("window", "rows"), [(None, 1), (None, 64), (4, 2)])
def test_means_equal_a_plain_loop_whatever_the_blocks(window, rows):
    factors = replace(biased(key_heads=2), visible=Visible.causal(LENGTH, window))
    shares = ClassShares(ROWS, CLASSES, NUMBER, HEADS)
    streaming_attention(factors, drawer(9)(2, LENGTH, 5), shares.add, rows=rows)
    _, probability = attention(factors)
    expected, even = torch.zeros(HEADS, NUMBER).double(), torch.zeros(NUMBER).double()
    for place, row in enumerate(ROWS):
        first = int(factors.visible.first[row])
        for target in range(first, row + 1):
            kind = CLASSES[place][target]
            expected[:, kind] += probability[:, row, target] / len(ROWS)
            even[kind] += 1 / (row + 1 - first) / len(ROWS)
    require_close(shares.mean(), expected, LENGTH)
    require_close(even_shares(ROWS, CLASSES, NUMBER, factors.visible), even, LENGTH)
