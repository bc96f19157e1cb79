"""GGUF files rounded to other formats, beside llama.cpp's own package."""

import gguf
import numpy as np
import pytest

from report.errors import UsageError
from report.models.find.names import find
from report.models.load.load import load_model
from tests.models import tiny_tokenizers
from tests.models.gguf.written import Written, saved, tiny
from training.quantise import quantise, writable


@pytest.fixture
def source(tmp_path):
    folder = saved(tiny("llama"), tiny_tokenizers.byte_level(), tmp_path / "tiny")
    return find(Written(folder, "F32").to(tmp_path / "whole.gguf"))


@pytest.mark.parametrize("name", ["Q8_0", "Q4_0", "MXFP4"])
def test_matrices_are_rounded_and_all_else_stays(source, tmp_path, name):
    path = quantise(source, name, tmp_path / "made")
    before, now = gguf.GGUFReader(source.folder), gguf.GGUFReader(path)
    kind = gguf.GGMLQuantizationType[name]
    for one, other in zip(before.tensors, now.tensors, strict=True):
        assert (one.name, list(one.shape)) == (other.name, list(other.shape))
        if one.shape.size == 1:
            assert (one.data == other.data).all()
            continue
        assert other.tensor_type == kind
        rounded = gguf.dequantize(gguf.quantize(one.data, kind), kind)
        assert (gguf.dequantize(other.data, kind) == rounded).all()
        assert not np.array_equal(rounded, one.data)
    kept = {key: field.contents() for key, field in before.fields.items()}
    kept |= {"general.name": f"{source.name} {name}"}
    assert {key: field.contents() for key, field in now.fields.items()} | {
        "GGUF.kv_count": kept["GGUF.kv_count"],
        "general.file_type": kept["general.file_type"],
    } == kept
    found = find(path)
    assert found.name == f"{source.name} {name}"
    assert found.file == path.name
    loaded = load_model(found, announce=lambda _: None)
    assert loaded.identity["stored_as"].endswith(name)
    assert quantise(source, name, tmp_path / "again").read_bytes() == path.read_bytes()


def test_formats_that_cannot_be_written_are_refused(source, tmp_path):
    assert "Q2_K" not in writable()
    with pytest.raises(UsageError, match=r"does not write 'Q2_K'; it writes .*Q4_0"):
        quantise(source, "Q2_K", tmp_path)
    with pytest.raises(UsageError, match="whole blocks of 256 numbers, as TQ2_0 needs them"):
        quantise(source, "TQ2_0", tmp_path)
    assert [path.suffix for path in tmp_path.iterdir() if path.is_file()] == [".gguf"]
