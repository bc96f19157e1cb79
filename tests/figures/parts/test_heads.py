"""The largest of the heads, and whether it is larger than the others."""

import numpy as np
import pytest

from report.figures.parts.heads import largest


def test_the_largest_head():
    found = largest(np.array([[0.1, 0.2], [0.9, 0.3]]))
    assert (found.layer, found.head, found.value, found.label) == (1, 0, 0.9, "L1H0")


@pytest.mark.parametrize(
    ("values", "leads"),
    [
        ([0.5, 0.4], True),
        ([0.5, 0.499], False),
        ([1.0, 1.0], False),
        ([0.0, 0.0], False),
        ([0.0, -0.1], False),
        ([0.006, 0.005], True),
        ([-0.2, -0.3], True),
        ([0.3], True),
    ],
)
def test_it_leads_only_if_the_second_is_clearly_behind(values, leads):
    assert largest(np.array([values])).leads is leads
