"""Measuring a model in part gives what measuring the whole one gives, self-check included."""

import numpy as np
import pytest

from report import families
from report.models.attention import rotation
from report.models.load.load import load_model
from report.models.measure.passage import measure_corpus, measure_passage
from tests.models.checkpoints import save

PASSAGE = [3, 71, 8, 3, 44, 60, 2, 15, 71, 8, 33, 52]
CORPUS = [[9, 5, 9, 71, 30], [44, 60, 2, 15]]
TABLES = ("largest_targets", "marker_count", "magnitude", "alignment")


@pytest.fixture(scope="module", params=["llama/default", "gemma3/multimodal", "bert/encoder"])
def folder(request, tmp_path_factory):
    return save(families.tiny(request.param), tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("options", [{"layers": 2}, {"layer_by_layer": True}, {"layers": 1}])
def test_a_model_in_part_is_measured_as_the_whole(folder, options):
    whole, part = load_model(folder), load_model(folder, **options)
    assert whole.partial is None
    assert part.partial.layer_by_layer == options.get("layer_by_layer", False)
    count = part.measured_layers
    assert count == options.get("layers", 3)
    expected, found = measure_passage(whole, PASSAGE), measure_passage(part, PASSAGE)
    for name in TABLES:
        assert np.array_equal(getattr(found, name), getattr(expected, name)[:count])
    for layer in range(count):
        for head in range(4):
            for one, other in zip(
                found.terms(layer, head), expected.terms(layer, head), strict=True
            ):
                assert one.name == other.name
                assert np.array_equal(one.values, other.values)
    sums = measure_corpus(part, CORPUS), measure_corpus(whole, CORPUS)
    of_part, of_whole = (each.sums for each in sums)
    assert of_part
    for name, values in of_part.items():
        assert (values == of_whole[name][:, :count]).all(), name
    assert part.checked["layers_called"] == count
    names = set(whole.identity) - {"layers_measured"}
    assert {name: part.identity[name] for name in names} == {
        name: whole.identity[name] for name in names
    }


@pytest.mark.parametrize("options", [{"layers": 2}, {"layer_by_layer": True}])
def test_weights_that_are_read_again_are_not_asked_about_again(folder, options, monkeypatch):
    part, asked, learned = load_model(folder, **options), [], rotation.learned
    monkeypatch.setattr(rotation, "learned", lambda *args: asked.append(1) or learned(*args))
    measure_passage(part, PASSAGE)
    measure_passage(part, PASSAGE)
    assert len(asked) == part.measured_layers
