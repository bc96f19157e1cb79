from types import SimpleNamespace

import numpy as np

from report.datasets.formats.visible import Visible


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
