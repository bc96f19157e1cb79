"""What an article about a sweep may say, on numbers written by hand."""

import math

import numpy as np
import pytest

from report.kinds.folders import findings as of
from tests.figures import hand_sweep


@pytest.fixture(scope="module")
def find(tmp_path_factory):
    return of(hand_sweep.study(tmp_path_factory.mktemp("sweep")))["find"]


def test_the_rise_is_where_the_best_head_gains_most(find):
    rise = find.rise("induction")
    assert (rise.before.step, rise.after.step) == (100, 200)
    assert (rise.low, rise.high) == (pytest.approx(0.05), pytest.approx(0.7))
    assert (find.first.step, find.last.step) == (0, 400)


def test_a_head_reaches_a_value_at_a_checkpoint(find):
    head = find.strongest("previous_token")
    assert (head.label, find.reached("previous_token", head, 0.5).step) == ("L1H0", 400)
    assert find.reached("previous_token", head, 0.0) is find.first
    assert find.reached("first_token", find.strongest("first_token"), 0.9) is None


def test_heads_are_counted_and_named(find):
    assert find.strongest("induction").label == "L2H1"
    assert find.runner_up("induction").value == pytest.approx(0.01)
    assert find.runner_up("induction").label != "L2H1"
    assert find.runner_up("previous_token").label != "L1H0"
    assert find.heads("induction", 0.5) == 1
    assert find.layers("induction", 0.5) == [2]
    assert find.heads("induction", 0.5, find.first) == 0
    assert find.mean("first_token") == pytest.approx(0.15 / 3)
    assert find.highest("unrepeated", find.checkpoints) == pytest.approx(0.011)


def test_checkpoints_are_found_by_step(find):
    assert find.at(-1).step == find.first.step
    assert find.at(199).step == 100
    assert find.at(200).step == 200
    assert find.after(200).step == 400
    assert find.after(400) is None


def test_the_gain_is_what_having_been_said_before_is_worth(find):
    assert find.gain() == pytest.approx(8.2 - 2.0)
    rise = find.rise_of_gain()
    assert (rise.before.step, rise.after.step) == (100, 200)
    assert (rise.low, rise.high) == (pytest.approx(1.2), pytest.approx(6.5))
    assert find.guess == pytest.approx(math.log(3000))


def test_the_credulous_checkpoint_loses_most_where_nothing_is_repeated(find):
    assert find.credulous().step == 200
    assert find.surprise(find.credulous()) == pytest.approx(1.4)


def test_a_feeder_stands_below_the_heads_that_it_feeds(find):
    jump = find.rise("induction")
    feeder = find.feeder(jump.after)
    assert (feeder.label, feeder.value) == ("L1H0", pytest.approx(0.3))
    assert find.value("previous_random", feeder, find.first) == pytest.approx(0.05)
    assert find.feeder(find.first) is None  # nobody to be fed


def test_the_peak_is_looked_for_up_to_a_step(find):
    model, head = find.peak("first_token", 100)
    assert (model.step, head.layer, head.value) == (50, 0, pytest.approx(0.4))


def test_drills_follow_the_recipe(find):
    found = [find.drills(step) for step in (0, 400, 1000)]
    assert found == [pytest.approx(0.9), pytest.approx(0.5), 0.2]


def test_the_finished_model_has_the_shape_and_the_recipe_of_the_checkpoints(find):
    assert find.finished().label == "finished"


def test_values_are_of_one_head(find):
    course = [find.value("induction", find.strongest("induction"), m) for m in find.checkpoints]
    np.testing.assert_allclose(course, hand_sweep.INDUCTION, atol=1e-4)


def test_the_least_of_a_habit_is_that_of_the_model_whose_best_head_is_weakest(find):
    assert find.least("induction") == pytest.approx(0.8)
