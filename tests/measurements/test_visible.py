"""Ranges of visible targets, by hand."""

import pytest
import torch

from report.errors import ReportError
from report.measurements.visible import Visible


@pytest.mark.parametrize(
    ("visible", "words"),
    [
        (Visible.causal(3), "x.. xx. xxx"),
        (Visible.causal(4, window=2), "x... xx.. .xx. ..xx"),
        (Visible.full(2), "xx xx"),
    ],
)
def test_a_mask_by_hand(visible, words):
    """A word a row, x where a target is visible: the token itself counts in a window."""
    rows = visible.mask().int().tolist()
    assert " ".join("".join(".x"[cell] for cell in row) for row in rows) == words


@pytest.mark.parametrize(
    "visible",
    [
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
    causal = Visible.causal(4), Visible.causal(4, window=4), Visible.full(1)
    assert all(visible.is_causal for visible in causal)
    assert not Visible.causal(4, window=3).is_causal
    assert not Visible.full(4).is_causal


def test_a_copy_on_the_cpu_shares_no_memory():
    visible = Visible.full(3)
    copy = visible.cpu()
    copy.last[:] = 0
    assert visible.last.tolist() == [2, 2, 2]
