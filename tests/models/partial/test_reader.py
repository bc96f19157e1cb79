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
        "eight": torch.zeros(3).to(torch.float8_e4m3fn),
    }


@pytest.fixture
def folder(tensors, tmp_path):
    save_file(tensors, tmp_path / "model.safetensors")
    return tmp_path


@pytest.mark.parametrize("chunk", [8, 1 << 20])
def test_tensors_come_out_as_they_are(folder, tensors, chunk, monkeypatch):
    monkeypatch.setattr(reader, "CHUNK", chunk)
    del tensors["eight"]
    for name, tensor in tensors.items():
        there = Checkpoint(folder).read(name)
        assert there.dtype == tensor.dtype
        assert torch.equal(there, tensor)


def test_a_tensor_is_converted_into_the_memory_that_is_given(folder, tensors):
    memory = torch.full((11, 6), torch.nan)
    assert Checkpoint(folder).read("table.weight", out=memory) is memory
    assert torch.equal(memory, tensors["table.weight"].float())
    assert Checkpoint(folder).read("table.weight", dtype=torch.float64).dtype == torch.float64


def test_rows_come_in_the_order_asked_for_and_nothing_else_is_read(folder, tensors):
    checkpoint = Checkpoint(folder)
    rows = checkpoint.read_rows("table.weight", [7, 0, 7, 10], dtype=torch.float32)
    assert torch.equal(rows, tensors["table.weight"][[7, 0, 7, 10]].float())
    assert checkpoint.bytes_read == 4 * 6 * 2
    assert checkpoint.read_rows("table.weight", []).shape == (0, 6)


def test_files_that_nobody_wants_may_be_missing(tensors, tmp_path):
    places = {name: f"{name}.safetensors" for name in tensors}
    for name, file in places.items():
        save_file({name: tensors[name]}, tmp_path / file)
    index = {"metadata": {"total_size": 1234}, "weight_map": places}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert Checkpoint(tmp_path).total_bytes() == sum(tensor.nbytes for tensor in tensors.values())
    (tmp_path / places["table.weight"]).unlink()
    checkpoint = Checkpoint(tmp_path)
    assert torch.equal(checkpoint.read("layer.weight"), tensors["layer.weight"])
    assert checkpoint.bytes_read == 5 * 7 * 4
    assert checkpoint.total_bytes() == 1234
    with pytest.raises(ReportError, match=r"lacks the weight file table\.weight\.safetensors"):
        checkpoint.read("table.weight")
    (tmp_path / places["table.weight"]).write_bytes((tmp_path / places["count"]).read_bytes())
    with pytest.raises(ReportError, match=r"lacks the tensor 'table\.weight', which the index"):
        Checkpoint(tmp_path).read("table.weight")


@pytest.mark.parametrize(
    ("read", "sentence"),
    [
        (
            lambda checkpoint: checkpoint.read("head.weight"),
            "lack the tensor 'head.weight'; nothing is filled in with random numbers",
        ),
        (
            lambda checkpoint: checkpoint.read("layer.weight", out=torch.empty(7, 5)),
            r"hold 'layer.weight' as \[5, 7\], the config asks for \[7, 5\]",
        ),
        (
            lambda checkpoint: checkpoint.read_rows("table.weight", [3, 11]),
            "token ids go from 3 to 11, .* knows 0 to 10",
        ),
        (
            lambda checkpoint: checkpoint.read("eight"),
            "stores 'eight' as F8_E4M3, which cannot be read alone; known: F64, F32",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(folder, read, sentence):
    with pytest.raises(ReportError, match=sentence):
        read(Checkpoint(folder))


def test_a_file_that_is_cut_while_it_is_read_is_noticed(folder, tensors):
    checkpoint = Checkpoint(folder)
    checkpoint.entry("layer.weight")
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-150])
    with pytest.raises(ReportError, match="became shorter while it was read"):
        for name in tensors:
            checkpoint.read(name)
