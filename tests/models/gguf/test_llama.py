"""A tiny Llama as GGUF is the same model as its checkpoint: weights, logits, measurements."""

import shutil

import gguf
import pytest

from report.measuring.key import determined_by
from report.models.find import names, weights
from report.models.gguf.file import open_gguf
from report.models.load.load import load_model
from tests.fuzz.refusals import tried
from tests.models import tiny_tokenizers
from tests.models.checkpoints import require_same_measurements
from tests.models.gguf.written import Written, add, add_tokenizer, finish, saved, tiny

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


pytestmark = pytest.mark.promise("gguf")

COUNT = 3


def part(folder, number, count=COUNT):
    """The path of a part."""
    return folder / f"it-{number:05}-of-{count:05}.gguf"


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """A folder with a model in three parts, and in one file."""
    folder = tmp_path_factory.mktemp("parts")
    whole = Written(saved(tiny("llama"), tiny_tokenizers.llama2(), folder / "tiny"), "Q8_0")
    whole.to(folder / "whole.gguf")
    tensors = list(whole.stored())
    for number in range(COUNT):
        writer = gguf.GGUFWriter(part(folder, number + 1), whole.name)
        if number == 0:
            whole.add_values(writer)
            add_tokenizer(writer, whole.folder)
        writer.add_uint16("split.no", number)
        writer.add_uint16("split.count", COUNT)
        writer.add_int32("split.tensors.count", len(tensors))
        for name, content, kind in tensors[number::COUNT]:
            writer.add_tensor(name, content, raw_dtype=kind)
        finish(writer)
    return folder


@pytest.mark.parametrize("number", [1, 3])
def test_any_part_stands_for_the_model(parts, number):
    source = names.find(part(parts, number))
    assert (source.name, source.folder) == ("Tiny Model", part(parts, 1))
    ours, theirs = (
        load_model(path, device="cpu").model.state_dict() for path in (source, parts / "whole.gguf")
    )
    assert ours.keys() == theirs.keys()
    assert all(ours[name].equal(theirs[name]) for name in theirs)
    assert weights.weights_sha256(source.folder, 2) == weights.weights_sha256(
        parts / "whole.gguf", 2
    )


@pytest.fixture
def copied(parts, tmp_path):
    for number in range(1, COUNT + 1):
        shutil.copy(part(parts, number), tmp_path)
    return tmp_path


def swapped(folder):
    part(folder, 2).rename(folder / "other")
    part(folder, 3).rename(part(folder, 2))
    (folder / "other").rename(part(folder, 3))


def far(folder):
    part(folder, 1).rename(part(folder, 7, 99999))


@pytest.mark.parametrize(
    ("damage", "path", "sentence"),
    [
        (lambda folder: part(folder, 2).unlink(), (1,), "it-00002-of-00003.gguf is missing"),
        (swapped, (1,), "says that it is part 2"),
        (far, (7, 99999), "is no part of a model"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(copied, damage, path, sentence):
    damage(copied)
    assert sentence in tried(names.find, part(copied, *path))[1]


def test_one_part_alone_is_refused(copied):
    part(copied, 1).rename(copied / "it.gguf")
    assert "is part 0 of 3" in tried(open_gguf, copied / "it.gguf")[1]


def test_parts_with_a_tensor_twice_are_refused(parts, copied):
    whole = Written(parts / "tiny", "Q8_0")
    writer = gguf.GGUFWriter(part(copied, 2), whole.name)
    for key, number in (("split.no", 1), ("split.count", COUNT)):
        add(writer, key, number)
    for name, content, kind in list(whole.stored())[0::COUNT]:
        writer.add_tensor(name, content, raw_dtype=kind)
    finish(writer)
    assert "of an earlier part" in tried(open_gguf, part(copied, 1))[1]
