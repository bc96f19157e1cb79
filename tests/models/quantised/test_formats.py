"""Packed checkpoints of every format: their numbers, logits and measurements, whole and in part."""

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from report import families
from report.models.load.load import load_model
from report.models.measure.passage import measure_passage
from report.models.partial.packed import open_checkpoint
from tests.models.checkpoints import save
from tests.models.quantised.written import FORMATS, written

IDS = [1, 5, 80, 41, 5, 7, 80, 77, 5, 6, 17, 33]
TABLES = ("largest_targets", "marker_count", "magnitude", "alignment")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """dict of family -> folder of a tiny model in float32."""
    made = tmp_path_factory.mktemp("plain")
    return {
        name: save(families.tiny(name), made / name)
        for name in ("llama", "qwen3", "qwen3_moe", "gpt_oss")
    }


def require_same_numbers(packed, twin):
    """In every bit, -0 too, as numbers of the files."""
    opened, stored = open_checkpoint(packed), load_file(twin / "model.safetensors")
    assert opened.files.keys() == stored.keys()
    for name, numbers in stored.items():
        there = opened.read(name)
        assert there.dtype == numbers.dtype
        assert torch.equal(there.view(torch.int32), numbers.view(torch.int32)), name
        rows = [len(numbers) - 1, 0]
        assert torch.equal(opened.read_rows(name, rows), numbers[rows]), name


def require_same_measurements(packed, twin, **way):
    ours, theirs = (load_model(folder, device="cpu", **way) for folder in (packed, twin))
    found, expected = (measure_passage(loaded, IDS) for loaded in (ours, theirs))
    assert ours.checked == theirs.checked
    for name in TABLES:
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    for layer in range(ours.measured_layers):
        for one, other in zip(found.terms(layer, 1), expected.terms(layer, 1), strict=True):
            assert one.name == other.name
            assert np.array_equal(one.values, other.values)
    return ours, theirs


@pytest.mark.parametrize("form", FORMATS)
def test_numbers_are_those_that_were_packed(plain, form, tmp_path):
    for family in ("llama", "qwen3"):
        require_same_numbers(*written(plain[family], form, tmp_path / family))


@pytest.mark.parametrize("form", FORMATS)
def test_a_packed_model_is_the_model_of_its_numbers(plain, form, tmp_path):
    """Logits of the one and all tensors of the other family."""
    for family in ("llama", "qwen3"):
        ours, theirs = (
            load_model(folder, device="cpu")
            for folder in written(plain[family], form, tmp_path / family)
        )
        assert ours.identity["stored_as"] == FORMATS[form][2]
        expected = theirs.model.state_dict()
        there = ours.model.state_dict()
        assert there.keys() == expected.keys()
        assert [name for name in expected if not torch.equal(there[name], expected[name])] == []
        with torch.no_grad():
            logits = [one.model(torch.tensor([IDS])).logits for one in (ours, theirs)]
        assert torch.equal(*logits)
