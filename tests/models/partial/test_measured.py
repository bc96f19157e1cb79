"""Measuring a model in part gives what measuring the whole one gives, self-check included."""

import pytest

from report import families
from report.models.attention import rotation
from report.models.load.load import load_model
from report.models.measure.passage import measure_corpus, measure_passage
from tests.models.checkpoints import require_same_measurements, save

PASSAGE = [3, 71, 8, 3, 44, 60, 2, 15, 71, 8, 33, 52]
CORPUS = [[9, 5, 9, 71, 30], [44, 60, 2, 15]]


@pytest.fixture(scope="module", params=["gemma3/multimodal", "bert/encoder"])
def folder(request, tmp_path_factory):
    return save(families.tiny(request.param), tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("options", [{"layers": 2}, {"layer_by_layer": True}])
def test_a_model_in_part_is_measured_as_the_whole(folder, options):
    whole, part = load_model(folder), load_model(folder, **options)
    assert whole.partial is None
    assert part.partial.layer_by_layer == options.get("layer_by_layer", False)
    count = part.measured_layers
    assert count == options.get("layers", 3)
    require_same_measurements(part, whole, PASSAGE)
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
