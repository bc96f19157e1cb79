"""What each kind of filler changes: the rows against the effects of single heads, one by one."""

import pytest

from report.errors import ReportError
from report.figures.build.find import figure_named


def plain_mean(model, condition, layer, measure):
    """The mean over the heads of a layer, head by head."""
    effects, values = model.effects, []
    for n in range(len(effects["head"])):
        here = effects["condition"][n] == condition.name, effects["rows"][n] == "mean"
        if all(here) and effects["layer"][n] == layer:
            name = "lambda" if measure == "taken" else measure
            value = float(effects[name][n])
            values.append(1 - value if measure == "taken" else value)
    known = [value for value in values if value == value]
    return sum(known) / len(known)


def test_rows_are_means_over_the_heads_of_a_layer(conditions):
    for panel, model in enumerate(conditions.models):
        rows = figure_named("filler_kinds").rows(conditions, panel=panel)["rows"]
        fillers = {each.label: each for each in model.conditions if each.added}
        assert {row["condition"] for row in rows} == {*fillers}
        for row in rows:
            expected = plain_mean(model, fillers[row["condition"]], row["layer"], row["measure"])
            assert row["value"] == pytest.approx(expected, abs=2e-4)
            assert row["low"] <= row["value"] <= row["high"] <= row["ceiling"] + 1e-9


def test_what_there_is_to_see_names_the_least_and_the_most_of_each_model(conditions):
    rows = [
        r
        for r in figure_named("filler_kinds").rows(conditions, panel=0)["rows"]
        if (r["layer"], r["measure"]) == (1, "taken")
    ]
    low, high = (pick(rows, key=lambda row: row["value"])["condition"] for pick in (min, max))
    said = figure_named("filler_kinds").seen(conditions, layer=1, measure="taken")
    first = said.partition(f" in {conditions.models[0].name}")[0]
    assert said.startswith("Share of the addition: ")
    assert low in first
    assert high in first
    assert all(f" in {model.name}" in said for model in conditions.models)


def test_a_layer_that_a_model_has_not_is_refused(conditions):
    with pytest.raises(ReportError, match="layer=99"):
        figure_named("filler_kinds").rows(conditions, panel=0, layer=99)
