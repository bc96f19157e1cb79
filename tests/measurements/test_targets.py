"""Largest targets and markers on rows whose answer one knows."""

import pytest
import torch

from report.measurements.targets import largest_targets, two_largest


def of_rows(rows, start=0, count=11):
    """Targets and markers of rows of probabilities, with masked entries written as 0."""
    probability = torch.tensor([rows])
    score = probability.log().clamp(min=torch.finfo(torch.float32).min)
    targets, markers = largest_targets(score, probability, start, count)
    return targets[0].tolist(), markers[0].tolist()


def test_targets_are_sorted_and_padded():
    targets, markers = of_rows([[1.0, 0, 0], [0.3, 0.7, 0], [0.4, 0.35, 0.25]], count=3)
    assert targets == [[0, -1, -1], [1, 0, -1], [0, 1, 2]]
    assert markers == [1, 1, 2]


def test_there_are_always_eleven_columns():
    targets, _ = of_rows([[1.0, 0], [0.3, 0.7]])
    assert targets == [[0] + [-1] * 10, [1, 0] + [-1] * 9]


def test_exactly_half_is_enough():
    assert of_rows([[0.5, 0.25, 0.25]], start=2)[1] == [1]


def test_markers_stop_at_eleven_where_the_row_is_flat():
    row = torch.full((40,), 1 / 40).add(torch.arange(40) * 1e-5).tolist()
    targets, markers = of_rows([row], start=39)
    assert targets == [list(range(39, 28, -1))]
    assert markers == [11]


def test_rounding_never_marks_a_target_that_is_not_there():
    targets, markers = of_rows([[0.49, 0.0, 0.0]], count=3)
    assert targets == [[0, -1, -1]]
    assert markers == [1]


def test_targets_whose_probability_underflows_are_still_ordered():
    score = torch.tensor([[[0.0, -300.0, -200.0, -400.0]]])
    targets, markers = largest_targets(score, score.softmax(-1), 3, 4)
    assert targets.tolist() == [[[0, 2, 1, 3]]]
    assert markers.tolist() == [[1]]


def test_inputs_are_unchanged():
    probability = torch.rand(2, 5, 20)
    score, copy = probability.log(), probability.clone()
    largest_targets(score, probability, 15)
    two_largest(probability)
    assert torch.equal(probability, copy)
    assert torch.equal(score, copy.log())


def test_two_largest_by_hand():
    rows = torch.tensor([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])
    largest, index, second = two_largest(rows)
    torch.testing.assert_close(largest, torch.tensor([0.5, 1.0]))
    assert index.tolist() == [1, 0]
    torch.testing.assert_close(second, torch.tensor([0.3, 0.0]))


@pytest.mark.parametrize("keys", [1, 2, 63, 64, 65, 128, 200])
def test_two_largest_equal_a_full_sort(keys):
    rows = torch.rand(3, 50, keys, generator=torch.Generator().manual_seed(keys))
    ordered = rows.sort(-1, descending=True)
    largest, index, second = two_largest(rows)
    assert torch.equal(largest, ordered.values[..., 0])
    assert torch.equal(index, ordered.indices[..., 0])
    if keys == 1:
        assert not second.any()
    else:
        assert torch.equal(second, ordered.values[..., 1])
