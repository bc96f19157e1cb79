import numpy as np
import pytest

from report.figures.parts import ternary

SHARES = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]


def shares_at(x, y):
    """Barycentric coordinates, solved from the corners."""
    corners = np.array([[*ternary.point(*corner), 1] for corner in SHARES]).T
    return np.linalg.solve(corners, [x, y, 1])


def test_corners_are_one_side_apart():
    corners = [np.array(ternary.point(*corner)) for corner in SHARES]
    for one, other in ((0, 1), (1, 2), (0, 2)):
        assert np.linalg.norm(corners[one] - corners[other]) == pytest.approx(1)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("value", ternary.TICKS)
def test_a_grid_line_is_where_the_share_has_the_value_of_its_tick(axis, value):
    start, end = ternary._AXES[axis]["line"](value)
    for x, y in (start, end):
        shares = shares_at(x, y)
        assert shares[axis] == pytest.approx(value)
        assert shares.min() == pytest.approx(0, abs=1e-12)  # both ends are on sides


@pytest.mark.parametrize("axis", range(3))
def test_ticks_point_out_of_the_triangle_along_their_grid_line(axis):
    (x, y), (x2, y2) = ternary._AXES[axis]["line"](0.4)
    across, up = ternary._AXES[axis]["tick"]
    assert across * (y2 - y) == pytest.approx(up * (x2 - x), abs=1e-12)
    assert shares_at(x + 0.01 * across, y + 0.01 * up).min() < 0
