from types import SimpleNamespace

import numpy as np
import pytest

from report.datasets.formats.visible import Visible
from report.errors import ReportError


def test_a_window_cuts_off_what_is_long_past():
    visible = Visible.causal(4, window=2)
    assert visible.mask().tolist() == [
        [True, False, False, False],
        [True, True, False, False],
        [False, True, True, False],
        [False, False, True, True],
    ]
    assert (visible.count, visible.window) == (7, 2)
    assert visible.backward
    assert not visible.is_causal


def test_the_place_of_a_cell_follows_from_the_start_of_its_row():
    visible = Visible.causal(5, window=3)
    rows, targets = np.nonzero(visible.mask())
    assert (visible.starts[rows] + targets).tolist() == list(range(visible.count))


def test_causal_and_full_attention():
    causal, full = Visible.causal(3), Visible.full(3)
    assert causal.mask().tolist() == np.tril(np.ones((3, 3), bool)).tolist()
    assert causal.is_causal
    assert causal.window is None
    assert full.mask().all()
    assert not full.backward
    assert Visible.causal(3, window=3).is_causal  # a window that cuts nothing off


def test_ranges_come_from_any_object_or_are_causal():
    given = SimpleNamespace(first=[0, 0, 1], last=[0, 1, 2])
    assert Visible.of(given, 3).first.tolist() == [0, 0, 1]
    assert Visible.of(None, 3).is_causal
    assert Visible.of(given, 3).as_json() == {"first": [0, 0, 1], "last": [0, 1, 2]}


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        ([0, 0], [0, 2], "token 1 sees targets 0 to 2, not a range within 0 to 1"),
        ([0, 1], [0, 0], "token 1 sees targets 1 to 0"),
        ([-1, 0], [0, 1], "token 0 sees targets -1 to 0"),
        ([0], [0, 1], "visible targets of 1 and 2 tokens, not of 2"),
    ],
)
def test_ranges_outside_the_passage_are_refused(first, last, said):
    with pytest.raises(ReportError, match=said):
        Visible.of(SimpleNamespace(first=first, last=last), 2)
