"""Figures of models beside another: what they draw is what was measured, sorted and counted."""

import numpy as np
import pytest

from report.figures.build.find import figure_named
from report.kinds.difference.beside import DISTANCE
from tests.figures import hand_difference


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    folder = tmp_path_factory.mktemp("differences") / "datasets" / "hand"
    return hand_difference.study(folder, ("hand", "other"))


def test_each_model_has_a_line_of_all_its_heads_the_farthest_first(several):
    rows = figure_named("distance_sorted").rows(several)["rows"]
    for label, model in zip(several.labels, several.models, strict=True):
        line = [row for row in rows if row["model"] == label]
        assert [row["place"] for row in line] == list(range(1, model.layers * model.heads + 1))
        assert {(row["layer"], row["head"]) for row in line} == {*np.ndindex(3, 4)}
        values = model.of_heads(DISTANCE.name, DISTANCE.name, "corpus")
        assert [row["distance"] for row in line] == sorted(values.ravel().tolist())[::-1]
        assert all(row["low"] <= row["distance"] <= row["high"] for row in line)


def test_what_is_said_of_changes_is_counted_in_the_table(difference):
    rows = figure_named("change_by_head").rows(difference)["rows"]
    name = "to_first_token"
    change, error, halves = (
        np.array([row[f"{which}_{name}"] for row in rows])
        for which in ("change", "error", "halves")
    )
    clear = np.abs(change) > 2 * error
    beyond = clear & (np.abs(change) > np.abs(halves))
    said = figure_named("change_by_head").seen(difference, up=name)
    assert f"in {clear.sum()} heads of 12, and in {beyond.sum()} of these" in said
    assert rows[int(np.abs(change).argmax())]["named"] in said
