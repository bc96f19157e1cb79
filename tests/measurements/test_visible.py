"""Ranges of visible targets, by hand."""

import pytest
import torch

from report.errors import ReportError
from report.measurements.visible import Visible


def rows(visible):
    """The mask as text, one word a row: x where a target is visible."""
    return ["".join(".x"[cell] for cell in row) for row in visible.mask().int().tolist()]


def test_causal_attention_sees_the_token_and_all_before():
    assert rows(Visible.causal(3)) == ["x..", "xx.", "xxx"]


def test_a_window_counts_the_token_itself():
    assert rows(Visible.causal(4, window=2)) == ["x...", "xx..", ".xx.", "..xx"]


def test_an_encoder_sees_everything():
    assert rows(Visible.full(2)) == ["xx", "xx"]


@pytest.mark.parametrize(
    "visible",
    [
        Visible.causal(5),
        Visible.causal(5, window=3),
        Visible.full(5),
        Visible(torch.tensor([0, 0, 2, 2, 4]), torch.tensor([0, 1, 2, 3, 4])),
        Visible(torch.tensor([0, 0, 0, 1, 2]), torch.tensor([2, 3, 4, 4, 4])),
    ],
)
def test_a_mask_gives_back_its_ranges(visible):
    for mask in (visible.mask(), visible.mask().int()):
        found = Visible.of_mask(mask)
        assert torch.equal(found.first, visible.first)
        assert torch.equal(found.last, visible.last)


@pytest.mark.parametrize("row", [[1, 0, 1], [0, 0, 0]])
def test_a_row_with_a_hole_or_without_a_target_is_refused(row):
    mask = torch.tensor([[1, 0, 0], row, [1, 1, 1]])
    with pytest.raises(ReportError, match="the attention mask of token 1 is not one unbroken"):
        Visible.of_mask(mask)


def test_only_plain_causal_attention_is_called_causal():
    assert Visible.causal(4).is_causal
    assert Visible.causal(4, window=4).is_causal
    assert not Visible.causal(4, window=3).is_causal
    assert not Visible.full(4).is_causal
    assert Visible.full(1).is_causal


def test_a_copy_on_the_cpu_shares_no_memory():
    visible = Visible.full(3)
    copy = visible.cpu()
    copy.last[:] = 0
    assert visible.last.tolist() == [2, 2, 2]
