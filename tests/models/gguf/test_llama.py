"""A tiny Llama as GGUF is the same model as its checkpoint: weights, logits, measurements."""

import numpy as np
import pytest
import torch

from report.measuring.key import determined_by
from report.models.find import names, weights
from report.models.load.load import load_model
from report.models.measure.passage import measure_passage
from tests.close import require_close
from tests.models import tiny_tokenizers
from tests.models.gguf.written import Written, saved, tiny

IDS = [1, 5, 90, 41, 5, 7, 90, 300, 5, 6, 17, 33]

WAYS = [{}, {"layers": 2}, {"layer_by_layer": True}, {"dtype": "bfloat16"}]


TABLES = ("largest_targets", "marker_count", "magnitude", "alignment")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A Llama in Q4_1, and the same numbers as safetensors."""
    folder = tmp_path_factory.mktemp("llama")
    whole = Written(saved(tiny("llama"), tiny_tokenizers.llama2(), folder / "tiny"), "Q4_1")
    return whole.to(folder / "tiny.Q4_1.gguf"), whole.twin(folder / "twin")


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_measurements_are_those_of_the_checkpoint(written, way):
    file, folder = (load_model(path, device="cpu", **way) for path in written)
    assert file.partial is None or file.partial.checkpoint.bytes_read == 0
    found, expected = (measure_passage(loaded, IDS) for loaded in (file, folder))
    assert file.checked == folder.checked
    for name in TABLES:
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    for layer in range(way.get("layers", 3)):
        for ours, theirs in zip(found.terms(layer, 1), expected.terms(layer, 1), strict=True):
            assert ours.name == theirs.name
            assert np.array_equal(ours.values, theirs.values)


def test_weights_are_the_same_numbers(written):
    file, folder = (load_model(path, device="cpu").model.state_dict() for path in written)
    assert file.keys() == folder.keys()
    for name, tensor in folder.items():
        assert torch.equal(file[name], tensor), name


def test_logits_are_the_same(written):
    with torch.no_grad():
        file, folder = (
            load_model(path, device="cpu").model(torch.tensor([IDS])).logits for path in written
        )
    assert torch.equal(file, folder)


@pytest.mark.parametrize("variant", ["llama3-rope", "yarn-rope"])
def test_scaled_rotations_come_out_of_the_file(variant, tmp_path):
    model = tiny(f"llama/{variant}")
    whole = Written(saved(model, tiny_tokenizers.llama2(), tmp_path / "tiny"))
    found = load_model(whole.to(tmp_path / "tiny.gguf"), device="cpu").model
    ours, theirs = found.model.rotary_emb, model.model.rotary_emb
    unscaled = tiny("llama").model.rotary_emb
    assert not torch.allclose(theirs.inv_freq, unscaled.inv_freq, rtol=0.1)
    torch.testing.assert_close(ours.inv_freq, theirs.inv_freq)
    assert ours.attention_scaling == pytest.approx(theirs.attention_scaling)
    with torch.no_grad():
        require_close(found(torch.tensor([IDS])).logits, model(torch.tensor([IDS])).logits, 2**12)


def test_only_what_is_needed_is_read(written):
    loaded = load_model(written[0], device="cpu", layers=1)
    assert loaded.partial.checkpoint.bytes_read == 0
    measure_passage(loaded, IDS)
    planned = loaded.partial.planned(IDS)
    row = 64 // 32 * 20
    rows, rest = divmod(loaded.partial.checkpoint.bytes_read - planned["bytes"], row)
    assert rest == 0
    assert 0 <= rows <= 3 * loaded.checked["tokens"]  # the self-check runs the model three times
    assert planned["bytes"] < planned["of"] / 3


def test_a_model_has_the_name_that_its_file_says(written):
    source = names.find(written[0])
    assert (source.name, source.origin, source.file) == ("Tiny Model", "file", "tiny.Q4_1.gguf")
    assert source.command_name == "tiny.Q4_1.gguf"
    facts = load_model(source, device="cpu").identity
    assert facts["name"] == "Tiny Model"
    assert facts["stored_as"] == "Q4_1"
    assert "/" not in str(facts)


@pytest.mark.parametrize(
    ("stated", "called"),
    [
        ("A\nname  of\u202e lines\x00", "A name of lines"),
        ("../../etc@main", ".. .. etc main"),
        ("x" * 300, "x" * 79 + "…"),
        ("\u200b ", "it"),
        (None, "it"),
        (7, "it"),
    ],
)
def test_names_out_of_files_are_cleaned(written, stated, called, tmp_path):
    whole = Written(written[1], "F32")
    path = whole.to(tmp_path / "it.gguf", **{"general.name": stated})
    assert names.find(path).name == called


def test_the_key_holds_the_sum_of_the_file_and_of_its_settings(written, tmp_path):
    first = determined_by(names.find(written[0]), "passage", {}, {})["model"]
    assert first["file"] == "tiny.Q4_1.gguf"
    assert first["weights"] == weights.weights_sha256(written[0])
    part = weights.weights_sha256(written[0], 2)
    whole = Written(written[1], "Q4_1")
    for changed, values in (
        (False, {"general.license": "another"}),
        (True, {"llama.rope.freq_base": 1234.0}),
        (True, {"tokenizer.chat_template": "{{ messages }}"}),
    ):
        path = whole.to(tmp_path / "tiny.Q4_1.gguf", **values)
        again = determined_by(names.find(path), "passage", {}, {"layers": 2})["model"]
        assert (again["settings"] != first["settings"]) is changed, values
        assert again["weights"] == part
