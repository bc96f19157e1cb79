"""Conditions come back from a file as they were measured, within half a step."""

from functools import reduce
from types import SimpleNamespace

import numpy as np
import pytest

from report import store
from report.datasets import conditions
from report.datasets.conditions import STEP
from report.errors import ReportError
from report.measurements import conditions as measured
from report.measurements import received
from report.measurements.conditions import ConditionStatistics, statistics_of
from report.models.segments import Crossing, SegmentedText

LAYERS, HEADS = 2, 3


def text(**lengths):
    segment = [name for name, length in lengths.items() for _ in range(length)]
    pieces = [{"id": i, "text": " a\n<b>"[i % 6]} for i in range(len(segment))]
    crossings = [Crossing(1, ".\n/", "system", "filler")] if "filler" in lengths else []
    return SegmentedText("", [], pieces, lengths, segment, [], crossings)


def measure(prompts, seed=0):
    """The statistics of two conditions over some prompts of random numbers."""
    rng = np.random.default_rng(seed)
    plain, filled = [], []
    for number in range(prompts):
        one, two = (
            text(system=3, question=4 + number),
            text(system=3, filler=2, question=4 + number),
        )
        condition = SimpleNamespace(name="none", label="w/o")
        values = rng.random((3, LAYERS, HEADS, 7 + number))
        plain.append(statistics_of(condition, one, values, None, range(7 + number)))
        condition = SimpleNamespace(name="filler", label="w/ <filler>")
        values = rng.random((3, LAYERS, HEADS, 9 + number))
        effect = rng.random((3, 2, LAYERS, HEADS))
        effect[2, 0, 0, 1] = np.nan
        shifted = [0, 1, -1, *range(5, 9 + number)]
        filled.append(statistics_of(condition, two, values, effect, shifted))
    return [reduce(ConditionStatistics.merge, each) for each in (plain, filled)]


@pytest.fixture(scope="module")
def found():
    return measure(3)


@pytest.mark.parametrize("layer", range(LAYERS))
def test_what_was_measured_comes_back(found, layer):
    dataset = store.check(conditions.encode(layer, found), "test")
    assert (dataset["layer"], dataset["heads"], dataset["prompts"]) == (layer, HEADS, 3)
    for condition, statistics in zip(conditions.decode(dataset), found, strict=True):
        assert condition.counts.tolist() == [3] * (len(condition.counts) - 2) + [2, 1]
        for place, name in enumerate(received.REDUCTIONS):
            expected = statistics.received.mean[place, layer]
            assert np.abs(condition.received[name] - expected).max() <= STEP / 2 + 1e-12
            error = statistics.received.standard_error[place, layer]
            np.testing.assert_allclose(
                condition.received_error[name], error, atol=STEP / 2 + 1e-12, equal_nan=True
            )
            assert np.isnan(error[:, -1]).all()
            assert np.isfinite(error[:, :-1]).all()
    assert condition.name == "filler"
    for place, name in enumerate(measured.COMPARED):
        for row, rows in enumerate(measured.OVER_ROWS):
            np.testing.assert_allclose(
                condition.compared[name][rows],
                statistics.compared.mean[place, row, layer],
                atol=STEP / 2 + 1e-12,
                equal_nan=True,
            )
            np.testing.assert_allclose(
                condition.compared_error[name][rows],
                statistics.compared.standard_error[place, row, layer],
                atol=STEP / 2 + 1e-12,
                equal_nan=True,
            )
    assert np.isnan(condition.compared["affine_error"]["mean"][1]) == (layer == 0)


def test_names_and_order_are_those_of_the_measurements():
    assert tuple(conditions.REDUCTIONS) == received.REDUCTIONS
    assert tuple(conditions.COMPARED) == measured.COMPARED
    assert tuple(conditions.OVER_ROWS) == measured.OVER_ROWS


def test_tokens_segments_and_merges_are_those_of_the_first_prompt(found):
    plain, filled = conditions.decode(conditions.encode(0, found))
    assert plain.tokens == ["␣", "a", "↵", "<", "b", ">", "␣"]
    assert plain.segments == {"system": range(3), "question": range(3, 7)}
    assert filled.segments == {
        "system": range(3),
        "filler": range(3, 5),
        "question": range(5, 9),
    }
    assert plain.crossings == []
    assert [crossing["prompt"] for crossing in filled.crossings] == [0, 1, 2]
    assert filled.crossings[0] | {"prompt": 0} == {
        "prompt": 0,
        "token": 1,
        "text": ".↵/",
        "before": "system",
        "after": "filler",
    }
    assert (plain.compared, plain.compared_error) == ({}, {})


def test_a_line_with_the_filler_cut_out_lies_over_the_tokens_without_it(found):
    plain, filled = conditions.decode(conditions.encode(0, found))
    assert (plain.aligned(plain.received["mean"]) == plain.received["mean"]).all()
    cut = filled.aligned(filled.received["mean"])
    assert cut.shape == plain.received["mean"].shape
    assert np.isnan(cut[:, 2]).all()
    assert (cut[:, :2] == filled.received["mean"][:, :2]).all()
    assert (cut[:, 3:] == filled.received["mean"][:, 5:]).all()


def test_one_prompt_has_no_standard_errors():
    for condition in conditions.decode(store.check(conditions.encode(1, measure(1)), "test")):
        assert all(np.isnan(error).all() for error in condition.received_error.values())
        assert all(np.isfinite(values).all() for values in condition.received.values())


def test_what_does_not_fit_together_is_refused(found):
    dataset = conditions.encode(1, found)
    dataset["conditions"][1]["received"]["last"]["mean"].pop()
    with pytest.raises(ReportError, match=r"layer 1, condition 'filler': last \(mean\) has 32 val"):
        conditions.decode(dataset)
    dataset = conditions.encode(1, found)
    dataset["conditions"][1]["positions"][0] = 11
    with pytest.raises(ReportError, match="'filler': positions are not 9 between -1 and 10"):
        conditions.decode(dataset)


def test_positions_that_prompts_do_not_share_are_left_out(found):
    one, other = measure(1)[1], measure(1, seed=1)[1]
    moved = ConditionStatistics(**vars(other) | {"positions": [0, 1, -1, 5, 7, 7, 8]})
    assert one.merge(moved).positions == [0, 1, -1, 5, -1, 7, 8]
