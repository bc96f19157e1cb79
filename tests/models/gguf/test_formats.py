"""The numbers of every block format: those that were quantised, and those that gguf makes."""

from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind

from report.models.gguf.file import GgufFile, open_gguf
from report.models.gguf.formats import FORMATS, WHOLE, Format
from report.models.gguf.header import Tensor
from report.models.gguf.views import View
from report.models.partial.reader import GgufCheckpoint
from tests.fuzz.refusals import tried
from tests.models.gguf import raw

UNREADABLE = ("Q8_1", "Q8_K", "Q1_0")
"""Formats that gguf 0.19 cannot read; the first two are only of what llama.cpp computes with."""

BLOCKS = [one for one in FORMATS.values() if one.name not in ("F64", *WHOLE, *UNREADABLE)]


def test_the_table_is_that_of_gguf():
    assert {
        int(kind): Format(kind.name, *sizes) for kind, sizes in gguf.GGML_QUANT_SIZES.items()
    } == FORMATS


def written(folder, content, block, shape):
    """A file with one tensor, and its view."""
    path = folder / f"{block.name}.gguf"
    number = next(number for number, known in FORMATS.items() if known == block)
    path.write_bytes(raw.file([], [raw.tensor("a.weight", shape[::-1], number)], content))
    tensor = open_gguf(path).tensors["a.weight"]
    assert tensor.bytes == len(content)
    return View(tensor, tensor.shape)


def read_from(path):
    content = Path(path).read_bytes()
    return lambda place, count: content[place : place + count]


def random_blocks(block, count, seed=1):
    """Blocks of random bytes whose scales are numbers: no 16 bits have all bits of an exponent."""
    generator = np.random.default_rng(seed)
    content = generator.integers(0, 256, (count, block.bytes), np.uint8)
    return content & np.uint8(0xBB) if block.name in ("F16", "BF16", "F32") else content


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_blocks_of_random_bytes_are_what_gguf_makes_of_them(block, tmp_path):
    rows, width = 7, 2
    content = random_blocks(block, rows * width)
    view = written(tmp_path, content.tobytes(), block, (rows, width * block.numbers))
    read = read_from(view.tensor.path)
    with np.errstate(all="ignore"):
        expected = gguf.dequantize(content.reshape(rows, -1), Kind[block.name])
    np.testing.assert_array_equal(view.numbers(read), expected)
    np.testing.assert_array_equal(view.rows(read, [6, 0, 6]), expected[[6, 0, 6]])
    part = View(view.tensor, (width * block.numbers,), part=3)
    np.testing.assert_array_equal(part.numbers(read), expected[3])


def test_plain_numbers_are_themselves(tmp_path):
    block = next(block for block in FORMATS.values() if block.name == "F64")
    content = np.arange(-8, 8).astype("<f8")
    view = written(tmp_path, content.tobytes(), block, (2, 8))
    np.testing.assert_array_equal(
        view.numbers(read_from(view.tensor.path)), np.arange(-8, 8).reshape(2, 8)
    )


@pytest.mark.parametrize("name", (*WHOLE, *UNREADABLE))
def test_formats_that_are_no_weights_and_that_gguf_cannot_read_are_refused_by_name(name, tmp_path):
    block = next(block for block in FORMATS.values() if block.name == name)
    view = written(tmp_path, bytes(block.bytes), block, (1, block.numbers))
    assert f"the format {name}" in tried(view.numbers, read_from(view.tensor.path))[1]


def test_a_file_that_becomes_shorter_is_noticed(tmp_path):
    path = tmp_path / "it.gguf"
    path.write_bytes(raw.file([], [raw.tensor("token_embd.weight", [32, 4])], bytes(512)))
    checkpoint = GgufCheckpoint(path)
    tensor = open_gguf(path).tensors["token_embd.weight"]
    checkpoint.__dict__["_views"] = {"a": View(tensor, tensor.shape)}
    path.write_bytes(path.read_bytes()[:-8])
    assert "became shorter" in tried(checkpoint.read, "a")[1]
    assert "became shorter" in tried(checkpoint.read_rows, "a", [3])[1]


Q4_K_M = {"Q8_0": 30, "Q5_0": 20, "Q4_K": 10, "Q6_K": 5}
STORED = {
    "Q4_K_M: Q8_0, Q5_0, Q4_K, Q6_K": (15, Q4_K_M),
    "Q8_0, Q5_0, Q4_K, Q6_K": (None, Q4_K_M),  # nothing is stated
    "Q4_K, Q6_K": (1, {"Q4_K": 2, "Q6_K": 1}),  # F16 is stated, and none is
    "Q4_K, F16": (1024 | 15, {"Q4_K": 2, "F16": 1}),  # a guess
    "Q5_K, F16": (15, {"Q5_K": 2, "F16": 1}),
    "Q4_0, F32": (999, {"Q4_0": 2, "F32": 1}),
    "Q4_1": (3, {"Q4_1": 2}),
    "IQ3_M: IQ3_S, IQ2_S": (27, {"IQ3_S": 2, "IQ2_S": 1}),
    "MXFP4_MOE: MXFP4, Q8_0": (38, {"MXFP4": 2, "Q8_0": 1}),
    "F16: F16, F32": (1, {"F16": 2, "F32": 1}),
}
"""What is said -> general.file_type, and how many blocks of matrices there are in each format."""


@pytest.mark.parametrize("said", STORED)
def test_a_file_says_how_its_matrices_are_stored(said):
    stated, blocks = STORED[said]
    known = {block.name: block for block in FORMATS.values()}
    tensors = {
        name: Tensor(Path("it"), 0, known[name], (count, 256)) for name, count in blocks.items()
    }
    tensors["blk.0.attn_norm.weight"] = Tensor(Path("it"), 0, known["F32"], (10**6,))
    tensors["v.blk.0.attn_q.weight"] = Tensor(Path("it"), 0, known["BF16"], (10**3, 10**3))
    values = {} if stated is None else {"general.file_type": stated}
    assert GgufFile((Path("it"),), values, tensors, {}).stored_as == said
