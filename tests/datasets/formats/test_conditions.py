"""Conditions come back from their files as they were measured, within half a step."""

from copy import deepcopy

import numpy as np
import pytest

from report.datasets import store
from report.datasets.formats import columnar, conditions
from report.datasets.formats.conditions import EFFECT_STEP, STEP
from report.measurements import conditions as measured
from report.measurements import received
from report.measurements.conditions import ConditionStatistics
from tests.datasets.measured import HEADS, LAYERS
from tests.datasets.measured import conditions as statistics


@pytest.fixture(scope="module")
def found():
    return statistics(3)


@pytest.mark.parametrize("layer", range(LAYERS))
@pytest.mark.parametrize("head", range(HEADS))
def test_what_positions_receive_comes_back(found, layer, head):
    dataset = store.check(conditions.encode_received(layer, head, found), "test")
    assert (dataset["layer"], dataset["head"]) == (layer, head)
    decoded = conditions.decode_received(dataset)
    assert list(decoded) == ["none", "filler"]
    for each in found:
        for place, name in enumerate(received.REDUCTIONS):
            mean, error = decoded[each.name][name]
            expected = each.received.mean[place, layer, head]
            assert np.abs(mean - expected).max() <= STEP / 2 + 1e-12
            spread = each.received.standard_error[place, layer, head]
            np.testing.assert_allclose(error, spread, atol=STEP / 2 + 1e-12, equal_nan=True)
            assert np.isnan(error[-1])
            assert np.isfinite(error[:-1]).all()


@pytest.mark.parametrize(
    ("table", "spread", "places"),
    [("effects", "compared", ("layer", "head")), ("layers", "of_layers", ("layer",))],
)
def test_effects_come_back_row_by_row(found, table, spread, places):
    columns = columnar.decode(store.check(conditions.encode_effects(found), "test"))[table]
    spread = getattr(found[1], spread)
    rows = {
        (
            measured.OVER_ROWS.index(columns["rows"][n]),
            *(int(columns[name][n]) for name in places),
        ): n
        for n in range(len(columns["rows"]))
    }
    assert rows.keys() == {*np.ndindex(spread.mean.shape[1:])}
    assert set(columns["condition"]) == {"filler"}
    for at, n in rows.items():
        for place, name in enumerate(measured.COMPARED):
            np.testing.assert_allclose(
                [columns[name][n], columns[f"{name}_error"][n]],
                [spread.mean[place, *at], spread.standard_error[place, *at]],
                atol=EFFECT_STEP / 2 + 1e-12,
                equal_nan=True,
            )


def test_a_layer_is_the_mean_of_its_heads_and_its_spread_that_of_their_means(found):
    one = statistics(1)[1]
    np.testing.assert_allclose(one.of_layers.mean, one.compared.mean.mean(-1), equal_nan=True)
    np.testing.assert_allclose(
        found[1].of_layers.mean, found[1].compared.mean.mean(-1), equal_nan=True
    )
    heads, layers = found[1].compared.standard_error, found[1].of_layers.standard_error
    assert (layers[:2] < heads[:2].max(-1)).all()


def test_names_and_order_are_those_of_the_measurements():
    assert conditions.REDUCTIONS == received.REDUCTIONS
    assert tuple(conditions.MEASURES) == measured.COMPARED
    assert conditions.ROWS == measured.OVER_ROWS


def test_tokens_segments_and_merges_are_those_of_the_first_prompt(found):
    dataset = store.check(conditions.encode_texts(found), "test")
    assert dataset["prompts"] == 3
    plain, filled = dataset["conditions"]
    assert plain["tokens"] == ["␣", "a", "↵", "<", "b", ">", "␣"]
    assert plain["segments"] == [
        {"name": "system", "first": 0, "last": 2},
        {"name": "question", "first": 3, "last": 6},
    ]
    assert [each["name"] for each in filled["segments"]] == ["system", "filler", "question"]
    assert (plain["added"], filled["added"]) == (None, "filler")
    assert plain["counts"] == [3] * 7 + [2, 1]
    assert filled["counts"] == [3] * 9 + [2, 1]
    assert plain["positions"] == list(range(9))
    assert filled["positions"] == [0, 1, -1, *range(5, 11)]
    assert plain["crossings"] == []
    assert [crossing["prompt"] for crossing in filled["crossings"]] == [0, 1, 2]
    assert filled["crossings"][0] == {
        "prompt": 0,
        "token": 1,
        "text": ".↵/",
        "before": "system",
        "after": "filler",
    }
    assert filled["label"] == "w/ <filler>"


def test_a_line_of_text_has_a_character_once_where_tokens_are_its_parts(found):
    """Its tokens are told apart by their labels."""
    assert "shown" not in conditions.encode_texts(found)["conditions"][0]
    text = deepcopy(found[0])
    parts = [{"of": "你", "number": number, "count": 2} for number in (1, 2)]
    text.first.tokens[1:3] = [{"id": 5, "text": "\ufffd", "bytes": "e4", "part": p} for p in parts]
    told = store.check(conditions.encode_texts([text]), "test")["conditions"][0]
    assert told["tokens"][:4] == ["␣", "1/2·你 ⟨bytes e4⟩", "2/2·你 ⟨bytes e4⟩", "<"]
    assert told["shown"][:4] == ["␣", "你", "", "<"]


def test_one_prompt_has_no_standard_errors():
    one = statistics(1)
    dataset = store.check(conditions.encode_received(1, 2, one), "test")
    for reductions in conditions.decode_received(dataset).values():
        for mean, error in reductions.values():
            assert np.isnan(error).all()
            assert np.isfinite(mean).all()
    effects = columnar.decode(store.check(conditions.encode_effects(one), "test"))["effects"]
    assert np.isnan(effects["lambda_error"]).all()


def test_a_study_in_which_nothing_is_added_has_empty_tables(found):
    decoded = columnar.decode(store.check(conditions.encode_effects(found[:1]), "test"))
    assert [len(column) for table in decoded.values() for column in table.values()] == [0] * 19


def test_positions_that_prompts_do_not_share_are_left_out():
    one, other = statistics(1)[1], statistics(1, seed=1)[1]
    moved = ConditionStatistics(**vars(other) | {"positions": [0, 1, -1, 5, 7, 7, 8]})
    assert one.merge(moved).positions == [0, 1, -1, 5, -1, 7, 8]
