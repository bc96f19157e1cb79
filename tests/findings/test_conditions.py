"""Every number that an article about conditions may quote, against plain loops over the files."""

import json
import math
import statistics

import numpy as np
import pytest

from report.datasets.read.study import open_study
from report.errors import ReportError
from report.kinds.conditions.findings import Findings, Value
from report.pages.filters import percent_spread, spread
from tests import made_conditions as made
from tests.commands import ROOT

MODELS = (
    {"name": "one", "seed": 1, "taken": [0.2, 0.4, 0.5]},
    {"name": "owner/two", "seed": 2, "layers": 2, "heads": 6, "moved": [0.1, 0.5]},
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return made.study(tmp_path_factory.mktemp("study"), MODELS)


@pytest.fixture(scope="module")
def find(data):
    return Findings(data)


def rows(data, model, table):
    """The rows of a table of effects.json as the file has them: list of dicts."""
    content = json.loads((data.models[model].path / "effects.json").read_text())["tables"][table]
    columns = content["columns"]
    return [
        {
            name: column["values"][n] * column["step"] if "step" in column else column["values"][n]
            for name, column in columns.items()
        }
        for n in range(content["rows"])
    ]


def line(data, model, layer, head, condition, reduction="mean"):
    path = data.models[model].path / "received" / f"{layer}" / f"{head}.json"
    content = json.loads(path.read_text())
    return [n * content["step"] for n in content["conditions"][condition][reduction]["mean"]]


@pytest.mark.parametrize("measure", ["lambda", "total_variation", "affine_error"])
@pytest.mark.parametrize("over", ["mean", "last"])
def test_effects_of_heads_and_layers_are_those_of_the_file(data, find, measure, over):
    for model in (0, 1):
        for row in rows(data, model, "effects"):
            if row["rows"] == over:
                place = model, row["layer"], row["head"]
                found = find.head(*place, measure, row["condition"], over)
                assert (found.value, found.error) == pytest.approx(
                    (row[measure], row[f"{measure}_error"])
                )
        for row in rows(data, model, "layers"):
            if row["rows"] == over:
                found = find.layer(model, row["layer"], measure, row["condition"], over)
                assert found.value == pytest.approx(row[measure])
                assert found.error == pytest.approx(row[f"{measure}_error"])


def test_what_is_taken_is_what_lambda_leaves(find):
    for layer in range(3):
        left, taken = (find.layer(0, layer, name) for name in ("lambda", "taken"))
        assert left.value + taken.value == pytest.approx(1)
        assert left.error == taken.error > 0
    assert [each.value for each in find.layers(0, "taken")] == [
        find.layer(0, layer, "taken").value for layer in range(3)
    ]
    assert find.layer(0, 2, "taken").value == pytest.approx(0.5, abs=0.05)
    assert len(find.layers(1, "taken")) == 2


def test_heads_of_a_layer_are_sorted_by_value(data, find):
    found = find.heads(1, 1, "total_variation", "sentence")
    here = [
        (row["total_variation"], row["head"])
        for row in rows(data, 1, "effects")
        if (row["layer"], row["condition"], row["rows"]) == (1, "sentence", "mean")
    ]
    assert [(value.value, head) for value, head in found] == [
        (pytest.approx(value), head) for value, head in sorted(here)
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((0, 3, "taken"), "no taken of condition 'filler' in layer 3; layers and heads count from"),
        ((0, -1, "lambda"), "no lambda of condition 'filler' in layer -1"),
        ((0, 0, "taken", "none"), "that add a segment are: filler, sentence, newline, front"),
        ((0, 0, "mu"), "unknown measure 'mu'; known: taken, lambda, total_variation"),
    ],
)
def test_what_was_not_measured_is_refused(find, arguments, said):
    with pytest.raises(ReportError, match=said):
        find.layer(*arguments)


def test_the_head_that_has_most_of_all_models_and_layers(data, find):
    every = [
        (1 - row["lambda"], model, row["layer"], row["head"])
        for model in (0, 1)
        for row in rows(data, model, "effects")
        if (row["condition"], row["rows"]) == ("filler", "mean")
    ]
    head, model = find.most("taken")
    assert (head.value, model, head.layer, head.head) == pytest.approx(max(every))
    assert head.label == f"L{head.layer}H{head.head}"


def test_panels_that_are_there(find):
    places = [(0, 0, 3), (0, 0, 4), (1, 2, 5), (1, 1, 5), (2, 0, 0), (0, 1, 4)]
    assert find.there(places) == [(0, 0, 3), (1, 1, 5)]
    panels = find.panels(places, {"none": "w/o", "filler": "w/"}, rules=True)
    assert [place.title for place in panels.places] == ["one L0H3", "two L1H5"]
    assert [(place.layer, place.head) for place in panels.places] == [(0, 3), (1, 5)]
    assert (panels.rules, panels.lines) == (True, {"none": "w/o", "filler": "w/"})


def test_a_model_without_the_heads_named_shows_those_that_give_most(find):
    assert find.shown([(0, 0, 3), (0, 0, 1), (0, 8, 1)]) == [(0, 0, 3), (0, 0, 1)]
    most = sorted(head for _, head in find.heads(0, 0, "taken")[-2:])
    assert find.shown([(0, 0, 4), (0, 0, 1)]) == [(0, 0, head) for head in most]
    (best,) = [head for _, head in find.heads(0, 0, "taken")[-1:]]
    assert find.shown([(0, 0, 4), (0, 1, 4)]) == [(0, 0, best), (0, 1, best)]
    assert find.shown([(7, 0, 0), (0, 0, 0)]) == [(0, 0, 0)]


def test_kinds_are_the_conditions_that_add_at_one_place(find, tmp_path):
    assert find.added == ["filler", "sentence", "newline", "front"]
    assert find.kinds == ["filler", "sentence", "newline"]
    assert find.sample("filler", 4) == "////…"
    assert find.sample("filler") == "/" * made.FILLER
    assert find.same_length
    other = Findings(made.study(tmp_path, [{"lengths": {"sentence": 7}}]))
    assert not other.same_length
    assert other.alike == []


def test_even_attention_over_what_is_added(data, find):
    """Plain loops over the prompts, each as long as it is."""
    for condition, start in (("filler", made.BEGIN + made.SYSTEM), ("front", made.BEGIN)):
        shares = []
        for number in range(3):
            length = made.BEGIN + made.SYSTEM + made.FILLER + made.QUESTION + number
            after = range(start + made.FILLER, length)
            shares.append(statistics.mean(made.FILLER / (row + 1) for row in after))
        assert find.even(1, condition) == pytest.approx(statistics.mean(shares))


@pytest.mark.parametrize("sees", made.SEES)
def test_even_attention_is_that_over_what_tokens_see(tmp_path, sees):
    find = Findings(made.study(tmp_path, [{"sees": sees}]))
    lengths = [made.BEGIN + made.SYSTEM + made.FILLER + made.QUESTION + n for n in range(3)]
    everything = statistics.mean(made.FILLER / length for length in lengths)
    if sees == "a window":
        assert np.isnan(find.even(0))
    else:
        assert (find.even(0) == pytest.approx(everything)) == (sees == "everything")


def test_models_in_whose_first_layer_the_pattern_moves_alike(find, tmp_path, monkeypatch):
    assert find.alike == ["one", "two"]
    monkeypatch.setattr(made, "FILLER", 8)
    kinds = ("none", "filler")
    assert Findings(made.study(tmp_path / "a", conditions=kinds)).alike == []
    differing = Findings(made.study(tmp_path / "b"))
    effects = differing.data.models[0].effects
    at = (effects["condition"] == "sentence") & (effects["layer"] == 0) & (effects["head"] == 2)
    effects["total_variation"][at] += 0.001
    assert differing.alike == []
    effects["total_variation"][at] -= 0.0008
    assert Findings(differing.data).alike == ["tiny"]


@pytest.mark.parametrize("condition", ["none", "filler", "front"])
@pytest.mark.parametrize("reduction", ["mean", "last"])
@pytest.mark.parametrize("cut", [False, True])
def test_peaks_are_over_positions_that_all_prompts_have(data, find, condition, reduction, cut):
    place = 1, 1, 4
    values = line(data, 1, 1, 4, condition, reduction)
    text = data.models[1].condition(condition)
    kept = {n: values[n] for n in range(len(text.tokens))}  # the first prompt is the shortest
    if cut:
        kept = {n: values[p] for n, p in enumerate(text.positions) if p < len(text.tokens)}
    found = find.peak(*place, condition, cut, reduction)
    assert found.value == pytest.approx(max(kept.values()))
    assert kept[found.position] == pytest.approx(found.value)
    where = int(text.positions[found.position]) if cut else found.position
    assert found.token == text.tokens[where]
    assert found.inside == (where in text.new)
    if (cut, reduction) == (False, "mean"):
        assert find.peaks([place, (0, 0, 0)], condition)[0] == found


def test_weights_with_a_filler_are_compared_with_those_without(data, find):
    places = [(0, 0, 1), (1, 1, 4)]
    kept, weights, gaining = [], [], 0
    for place in places:
        text = data.models[place[0]].condition("filler")
        without, there = (line(data, *place, name) for name in ("none", "filler"))
        pairs = [(without[n], there[p]) for n, p in enumerate(text.positions) if p >= 0]
        kept.append(sum(after for _, after in pairs) / sum(before for before, _ in pairs))
        weights.append(statistics.mean(there[p] for p in text.new))
        shared = data.models[place[0]].condition("none").counts == data.models[place[0]].prompts
        gaining += sum(
            there[p] > without[n] for n, p in enumerate(text.positions) if p >= 0 and shared[n]
        )
    assert find.kept(places, "filler") == pytest.approx(kept)
    assert find.weights(places, "filler") == pytest.approx(weights)
    assert find.gaining(places, "filler") == gaining > 0


def test_fillers_are_sorted_by_what_they_take(find):
    for model, names in enumerate(find.by_share(1)):
        taken = [find.layer(model, 1, "taken", name).value for name in names]
        assert sorted(names) == sorted(find.kinds)
        assert taken == sorted(taken)


def test_merges_over_a_boundary_are_counted(find, tmp_path):
    assert find.over_edges == ""
    merged = Findings(made.study(tmp_path, [{}, {"name": "merging", "merged": True}]))
    said = merged.over_edges
    assert said.startswith("Of merging, “Meaningless tokens”: in 3 of 3 prompts, one token (“*./”)")
    assert (
        "of the instruction and the beginning of “Meaningless tokens”, so it counts for n" in said
    )
    for model in merged.data.models:  # as datasets of before have them
        text = model.condition("filler")
        text.segments["system"] = range(made.BEGIN, made.BEGIN + made.SYSTEM)
    assert merged.over_edges.endswith("so it counts for the first of them, as it was measured.")


def test_a_single_prompt_has_no_spread(tmp_path):
    data = made.study(tmp_path, [{"error": np.nan}], prompts=1)
    find = Findings(open_study([data.models[0].path]))
    taken, error = find.layer(0, 0, "taken"), find.layer(0, 0, "affine_error")
    assert (taken.known, error.known) == (True, False)
    assert math.isnan(taken.error)
    assert "±" not in percent_spread(taken)
    assert percent_spread(error) == "not known"


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        (0.53512, 0.0042, "0.535 ± 0.004"),
        (0.53512, 0.096, "0.5 ± 0.1"),
        (0.53512, 0.00004, "0.54"),
        (0.5, 0.0, "0.50"),
        (0.5, math.nan, "0.50"),
        (12.3456, 0.7, "12.3 ± 0.7"),
        (46.5, 14, "47 ± 14"),
        (-0.25, 0.01, "−0.25 ± 0.01"),
        (math.nan, 0.1, "not known"),
    ],
)
def test_values_are_as_exact_as_their_errors(value, error, said):
    assert spread(Value(value, error)) == said.replace(" ±", "\u00a0±").replace("± ", "±\u00a0")


def test_shares_are_said_in_percent():
    assert percent_spread(Value(0.465, 0.0042)) == "46.5\u00a0±\u00a00.4\u00a0%"
    assert percent_spread(Value(0.16, math.nan)) == "16\u00a0%"


TEMPLATE = ROOT / "templates" / "articles" / "filler-tokens.md.j2"
