"""A model in several files, under the names that llama.cpp gives them."""

import shutil

import gguf
import pytest

from report.models.find import names, weights
from report.models.gguf.file import open_gguf
from report.models.load.load import load_model
from tests.fuzz.refusals import tried
from tests.models import tiny_tokenizers
from tests.models.gguf.written import Written, add, add_tokenizer, finish, saved, tiny

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
