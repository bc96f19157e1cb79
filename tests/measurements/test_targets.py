"""Largest targets and markers on rows whose answer one knows."""

import pytest
import torch

from report.measurements.block import Block
from report.measurements.targets import LargestTargets, largest, marker_count
from report.measurements.visible import Visible


def of_rows(rows, visible=None, count=11, splits=()):
    """Targets, probabilities and markers of rows of probabilities [T][T], in blocks."""
    probability = torch.tensor([rows])
    visible = visible or Visible.causal(len(rows))
    score = probability.log().clamp(min=torch.finfo(torch.float32).min)
    found = LargestTargets(visible, 1, count)
    for start, end in zip((0, *splits), (*splits, len(rows)), strict=True):
        found.add(block_of(score, probability, visible, start, end))
    targets, largest_probability = found.found()
    markers = marker_count(targets, largest_probability)
    return targets[0].tolist(), largest_probability[0].tolist(), markers[0].tolist()


def block_of(score, probability, visible, start, end):
    """Rows of a layer as the kernel shows them: no target that none of the rows sees."""
    first, last = visible.first[start:end], visible.last[start:end]
    keys = slice(int(first.min()), int(last.max()) + 1)
    parts = score[:, start:end, keys], probability[:, start:end, keys]
    return Block(0, start, keys.start, *parts, first, last)


def test_exactly_half_is_enough():
    assert of_rows([[0.5, 0.25, 0.25]] * 3, Visible.full(3))[2] == [1, 1, 1]


def test_markers_stop_at_eleven_where_the_row_is_flat():
    row = torch.full((40,), 1 / 40).add(torch.arange(40) * 1e-5).tolist()
    targets, _, markers = of_rows([row] * 40, Visible.full(40))
    assert targets == [list(range(39, 28, -1))] * 40
    assert markers == [11] * 40


def test_all_targets_are_marked_where_a_sink_leaves_them_less_than_half():
    targets, _, markers = of_rows([[0.2, 0.0], [0.1, 0.3]], count=2)
    assert targets == [[0, -1], [1, 0]]
    assert markers == [1, 2]


def test_targets_whose_probability_underflows_are_still_ordered():
    score = torch.tensor([[[0.0, -300.0, -200.0, -400.0]]])
    visible = Visible(torch.tensor([0]), torch.tensor([3]))
    found = LargestTargets(visible, 1, 4)
    found.add(Block(0, 0, 0, score, score.softmax(-1), visible.first, visible.last))
    targets, probability = found.found()
    assert targets.tolist() == [[[0, 2, 1, 3]]]
    assert marker_count(targets, probability).tolist() == [[1]]


def test_heads_come_in_blocks_too():
    visible = Visible.causal(1)
    found = LargestTargets(visible, 3, 2)
    for head in (2, 0, 1):
        value = torch.full((1, 1, 1), (head + 1) / 4)
        found.add(Block(head, 0, 0, value.log(), value, visible.first, visible.last))
    targets, probability = found.found()
    assert targets.tolist() == [[[0, -1]]] * 3
    assert probability[:, 0, 0].tolist() == [0.25, 0.5, 0.75]


def test_inputs_are_unchanged():
    probability = torch.rand(2, 90, 90)
    score, visible = probability.log(), Visible.full(90)
    copy = score.clone(), probability.clone()
    LargestTargets(visible, 2).add(block_of(score, probability, visible, 0, 90))
    assert torch.equal(score, copy[0])
    assert torch.equal(probability, copy[1])


@pytest.mark.parametrize("count", [2, 11])
@pytest.mark.parametrize("keys", [1, 2, 11, 63, 64, 66, 76, 128, 129, 200, 1000, 4500])
def test_the_largest_equal_a_full_sort(keys, count):
    rows = torch.randn(3, 7, keys, generator=torch.Generator().manual_seed(keys))
    expected = rows.argsort(-1, descending=True)[..., :count]
    assert torch.equal(largest(rows, count), expected)


def test_the_largest_side_by_side_in_one_chunk_are_all_found():
    for places in (range(11), range(500, 511), range(0, 11 * 16, 16), range(989, 1000)):
        rows = torch.zeros(1, 1, 1000)
        rows[..., list(places)] = torch.arange(1.0, 12)
        assert largest(rows, 11).flatten().tolist() == list(places)[::-1]


def test_a_row_of_lowest_values_gives_its_visible_targets_first():
    """Rows far from the diagonal of a block hold the dtype's minimum where nothing is seen."""
    rows = torch.full((1, 1, 130), torch.finfo(torch.float32).min)
    rows[..., 3], rows[..., 120] = -5.0, -7.0
    assert largest(rows, 11).flatten().tolist()[:2] == [3, 120]
