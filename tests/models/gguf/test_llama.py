"""A tiny Llama as GGUF is the same model as its checkpoint: weights, logits, measurements."""

import pytest

from report.measuring.key import determined_by
from report.models.find import names, weights
from report.models.load.load import load_model
from tests.models import tiny_tokenizers
from tests.models.checkpoints import require_same_measurements
from tests.models.gguf.written import Written, saved, tiny

IDS = [1, 5, 90, 41, 5, 7, 90, 300, 5, 6, 17, 33]

WAYS = [{"layers": 2, "dtype": "bfloat16"}, {"layer_by_layer": True}]


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
    require_same_measurements(file, folder, IDS)
    assert file.checked == folder.checked


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
