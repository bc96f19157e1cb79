"""Single tensors and rows come out of a checkpoint exactly, and only their bytes are read."""

import json

import pytest
import torch
from safetensors.torch import save_file

from report.errors import ReportError
from report.models.partial import reader
from report.models.partial.reader import Checkpoint


@pytest.fixture
def tensors():
    generator = torch.Generator().manual_seed(1)
    return {
        "table.weight": torch.randn(11, 6, generator=generator).bfloat16(),
        "layer.weight": torch.randn(5, 7, generator=generator),
        "count": torch.tensor(3),
        "none": torch.zeros(0, 4),
    }


@pytest.fixture
def folder(tensors, tmp_path):
    save_file(tensors, tmp_path / "model.safetensors")
    return tmp_path


@pytest.fixture
def split(tensors, tmp_path):
    """The same in two files."""
    places = {name: f"model-{n}.safetensors" for n, name in enumerate(tensors)}
    for name, file in places.items():
        save_file({name: tensors[name]}, tmp_path / file)
    index = {"metadata": {"total_size": 1234}, "weight_map": places}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    return tmp_path


def refused(message):
    return pytest.raises(ReportError, match=message)


@pytest.mark.parametrize("chunk", [8, 1 << 20])
def test_tensors_come_out_as_they_are(folder, tensors, chunk, monkeypatch):
    monkeypatch.setattr(reader, "CHUNK", chunk)
    for name, tensor in tensors.items():
        found = Checkpoint(folder).read(name)
        assert found.dtype == tensor.dtype
        assert torch.equal(found, tensor)


def test_a_tensor_is_converted_into_the_memory_that_is_given(folder, tensors):
    memory = torch.full((11, 6), torch.nan)
    found = Checkpoint(folder).read("table.weight", out=memory)
    assert found is memory
    assert torch.equal(memory, tensors["table.weight"].float())
    assert Checkpoint(folder).read("table.weight", dtype=torch.float64).dtype == torch.float64


def test_rows_come_in_the_order_asked_for_and_nothing_else_is_read(folder, tensors):
    checkpoint = Checkpoint(folder)
    rows = checkpoint.read_rows("table.weight", [7, 0, 7, 10], dtype=torch.float32)
    assert torch.equal(rows, tensors["table.weight"][[7, 0, 7, 10]].float())
    assert checkpoint.bytes_read == 4 * 6 * 2
    assert checkpoint.read_rows("table.weight", []).shape == (0, 6)


def test_files_that_nobody_wants_may_be_missing(split, tensors):
    checkpoint = Checkpoint(split)
    assert checkpoint.total_bytes() == sum(one.nbytes for one in tensors.values())
    (split / "model-0.safetensors").unlink()
    checkpoint = Checkpoint(split)
    assert torch.equal(checkpoint.read("layer.weight"), tensors["layer.weight"])
    assert checkpoint.bytes_read == 5 * 7 * 4
    assert checkpoint.total_bytes() == 1234
    with refused(r"lacks the weight file model-0\.safetensors"):
        checkpoint.read("table.weight")


def test_a_tensor_that_is_nowhere_is_named(folder):
    with refused("lack the tensor 'head.weight'; nothing is filled in with random numbers"):
        Checkpoint(folder).read("head.weight")


def test_a_tensor_that_is_not_where_the_index_says_is_named(split, tensors):
    (split / "model-0.safetensors").write_bytes((split / "model-1.safetensors").read_bytes())
    with refused(r"model-0\.safetensors' lacks the tensor 'table\.weight', which the index says"):
        Checkpoint(split).read("table.weight")


def test_a_shape_that_does_not_fit_is_said(folder):
    with refused(r"hold 'layer.weight' as \[5, 7\], the config asks for \[7, 5\]"):
        Checkpoint(folder).read("layer.weight", out=torch.empty(7, 5))


def test_a_row_that_is_not_there_is_said(folder):
    with refused("token ids go from 3 to 11, .* knows 0 to 10"):
        Checkpoint(folder).read_rows("table.weight", [3, 11])


def test_a_dtype_that_means_nothing_alone_is_refused(tmp_path):
    tensors = {"w": torch.zeros(3).to(torch.float8_e4m3fn), "v": torch.ones(2)}
    save_file(tensors, tmp_path / "model.safetensors")
    with refused("stores 'w' as F8_E4M3, which cannot be read alone; known: F64, F32"):
        Checkpoint(tmp_path).read("w")
    assert torch.equal(Checkpoint(tmp_path).read("v"), torch.ones(2))


def test_a_tensor_with_too_few_bytes_is_refused(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes().replace(b'"shape":[5,7]', b'"shape":[5,8]'))
    with refused("'layer.weight' has 140 bytes and should have 160"):
        Checkpoint(folder).read("layer.weight")


def test_a_file_that_is_cut_while_it_is_read_is_noticed(folder, tensors):
    checkpoint = Checkpoint(folder)
    checkpoint.entry("layer.weight")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-150])
    with refused("became shorter while it was read"):
        for name in tensors:
            checkpoint.read(name)
