"""What terms do by target or by distance, against levels that one has put in."""

from types import SimpleNamespace

import numpy as np
import pytest

from report.datasets.formats.attention import DecodedTerm
from report.datasets.formats.visible import Visible
from report.figures.parts import profiles

LENGTH = 20
RANGES = {
    "causal": Visible.causal(LENGTH),
    "window": Visible.causal(LENGTH, 6),
    "encoder": Visible.full(LENGTH),
}
each_range = pytest.mark.parametrize("visible", RANGES.values(), ids=RANGES)


def attention(visible, values, per="cell"):
    if per == "cell":
        values = np.where(visible.mask(), values, 0)
    term = DecodedTerm("term", per, values, visible)
    return SimpleNamespace(terms={"term": term}, visible=visible, probability=visible.mask() / 1)


@pytest.fixture
def rng():
    return np.random.default_rng(2)


@each_range
def test_levels_of_targets_come_out_whatever_constants_the_rows_have(visible, rng):
    level, constant = rng.normal(size=LENGTH), 9 * rng.normal(size=LENGTH)
    shown = attention(visible, constant[:, None] + level)
    found = profiles.by_target(shown, ["term"])["term"]
    assert found == pytest.approx(level - level.mean())


@each_range
def test_levels_of_distances_come_out_whatever_constants_the_rows_have(visible, rng):
    places = np.arange(LENGTH)
    distance = places[:, None] - places
    level, constant = rng.normal(size=2 * LENGTH), 9 * rng.normal(size=LENGTH)
    shown = attention(visible, constant[:, None] + level[distance + LENGTH])
    found = profiles.by_distance(shown, ["term"])
    expected = level[found["distance"] + LENGTH]
    assert found["term"] == pytest.approx(expected - expected.mean())


@each_range
def test_distances_and_pairs_are_those_of_visible_cells_but_for_the_first_token(visible):
    found = profiles.by_distance(attention(visible, np.ones((LENGTH, LENGTH))), ["term"])
    counted = {}
    for i in range(LENGTH):
        for j in range(max(visible.first[i], 1), visible.last[i] + 1):
            counted[i - j] = counted.get(i - j, 0) + 1
    assert dict(zip(found["distance"], found["pairs"], strict=True)) == counted
    assert (np.diff(found["distance"]) > 0).all()


def test_every_row_that_sees_both_places_counts_the_same():
    # place 1 above place 0: by 1 in one row and by 3 in the other; place 2, seen by the second
    # row alone, is 5 above the mean of the places before it, which are at 0 and 2
    values = np.array([[7.0, 8.0, 0.0], [1.0, 4.0, 7.5]])
    seen = np.array([[True, True, False], [True, True, True]])
    assert profiles.common_part(values, seen) == pytest.approx([0, 2, 6])


def test_what_depends_on_the_target_alone_is_taken_as_it_is(rng):
    values = rng.normal(size=LENGTH)
    for per in ("target", "target_difference"):
        shown = attention(RANGES["causal"], values, per)
        found = profiles.by_target(shown, ["term"])["term"]
        assert found == pytest.approx(values - values.mean())


def test_a_term_that_a_layer_does_not_have_is_zero():
    shown = attention(RANGES["causal"], np.ones((LENGTH, LENGTH)))
    assert not profiles.by_target(shown, ["position"])["position"].any()
    assert not profiles.by_distance(shown, ["position"])["position"].any()


def test_two_tokens_are_enough():
    shown = attention(Visible.causal(2), np.array([[1.0, 0], [2.0, 5.0]]))
    assert profiles.by_target(shown, ["term"])["term"].tolist() == [-1.5, 1.5]
    found = profiles.by_distance(shown, ["term"])
    assert (found["distance"].tolist(), found["term"].tolist()) == ([0], [0.0])
