"""Files that say what is not so: one sentence each, and no memory for what is not there."""

import re
import struct
import tracemalloc

import numpy as np
import pytest

from report.models.gguf.file import open_gguf
from report.models.gguf.header import read_header
from tests.fuzz.refusals import tried
from tests.models.gguf import raw

pytestmark = pytest.mark.promise("gguf")

DATA = bytes(64)
ONE = raw.tensor("a.weight", [16])
FAR = 1 << 62
LONG = bytes(4_000_001 * 8)

HOSTILE = {
    "no GGUF file": b"PK\3\4" + bytes(64),
    "is no GGUF": raw.file([], [ONE], DATA)[:20],
    "of version 1": raw.file([], [ONE], DATA, version=1),
    "of version 50331648": raw.file([], [ONE], DATA, version=3 << 24),  # big-endian
    "1,000,000,000 tensors": raw.file([], [ONE], DATA, counts=(10**9, 0)),
    "1,000,000,000 values": raw.file([], [ONE], DATA, counts=(1, 10**9)),
    "more than fit into it": raw.file([], [ONE], DATA, counts=(1000, 9000)),
    "ends early": raw.file([raw.value("k", raw.TEXT, struct.pack("<Q", FAR))], [ONE], DATA),
    "ends early, after": raw.file([struct.pack("<Q", FAR) + b"key"], [ONE], DATA),
    r"ends early, after \d+ bytes": raw.file([raw.listed("k", raw.TEXT, FAR, b"")], [ONE], DATA),
    "it ends early": raw.file([raw.listed("k", raw.UINT32, FAR, b"")], [ONE], DATA),
    "a key is no UTF-8": raw.file([raw.whole(b"\xff\xfe", 1)], [ONE], DATA),
    "the value of 'k' is no UTF-8": raw.file(
        [raw.value("k", raw.TEXT, raw.text(b"\xc3("))], [ONE], DATA
    ),
    "an item of 'k' is no UTF-8": raw.file(
        [raw.listed("k", raw.TEXT, 1, raw.text(b"\xed\xa0\x80"))], [ONE], DATA
    ),
    "the name of a tensor is no UTF-8": raw.file([], [raw.tensor(b"\xff", [16])], DATA),
    r"not known \(13\)": raw.file([raw.value("k", 13, DATA)], [ONE], DATA),
    r"type that is not known \(9\)": raw.file([raw.listed("k", raw.LIST, 1, DATA)], [ONE], DATA),
    "'k' is there twice": raw.file([raw.whole("k", 1), raw.whole("k", 2)], [ONE], DATA),
    "tensor 'a.weight' is there twice": raw.file([], [ONE, ONE], DATA),
    "format that is not known": raw.file([], [raw.tensor("a.weight", [16], 4)], DATA),
    r"\(number 4000000000\)": raw.file([], [raw.tensor("a.weight", [16], 4 * 10**9)], DATA),
    "no whole blocks of 32": raw.file([], [raw.tensor("a.weight", [16], raw.Q4_0)], DATA),
    r"said to be \[0\]": raw.file([], [raw.tensor("a.weight", [0])], DATA),
    "has 0 dimensions": raw.file([], [raw.tensor("a.weight", [])], DATA),
    "4,000,000,000 dimensions": raw.file(
        [], [raw.tensor("a.weight", [16], dimensions=4 * 10**9)], DATA
    ),
    "between two places": raw.file([], [raw.tensor("a.weight", [4], place=4)], DATA),
    "lies on the one before": raw.file([], [ONE, raw.tensor("b.weight", [8], place=32)], DATA),
    "early, after 160": raw.file([], [raw.tensor("a.weight", [2**40, 2**20])], DATA),
    "early, after 128 bytes": raw.file([], [raw.tensor("a.weight", [16], place=2**40)], DATA),
    "early, after 160 bytes": raw.file([], [raw.tensor("a.weight", [FAR] * 4)], DATA),
    "ends early, after 128": raw.file([], [raw.tensor("a.weight", [16], place=1 << 63)], DATA),
    "value of 'tokenizer.chat_template' has 1,048,577 bytes": raw.file(
        [raw.value("tokenizer.chat_template", raw.TEXT, raw.text(b" " * ((1 << 20) + 1)))]
    ),
    "'k' has 4,000,001 items": raw.file([raw.listed("k", raw.TEXT, 4_000_001, b"")], [], LONG),
    "general.alignment is 4294967288": raw.file(
        [raw.whole("general.alignment", (1 << 32) - 8)], [ONE], DATA
    ),
    "general.alignment is 12": raw.file([raw.whole("general.alignment", 12)], [ONE], DATA),
    "general.alignment is 0": raw.file([raw.whole("general.alignment", 0)], [ONE], DATA),
    "general.alignment is '8'": raw.file(
        [raw.value("general.alignment", raw.TEXT, raw.text("8"))], [ONE], DATA
    ),
    "no weights, only settings": raw.file([raw.whole("k", 1)], []),
}


@pytest.mark.parametrize("said", HOSTILE)
def test_hostile_files_are_refused_in_a_sentence_without_much_memory(said, tmp_path):
    path = tmp_path / "it.gguf"
    path.write_bytes(HOSTILE[said])
    tracemalloc.start()
    found, refused = tried(open_gguf, path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found is None
    assert re.search(said, refused), refused
    assert refused.startswith("'it.gguf'")
    assert most < 1_000_000


def test_a_file_that_ends_early_is_refused_wherever_it_ends(tmp_path):
    values = [raw.whole("a", 1), raw.listed("b", raw.TEXT, 2, raw.text("x") + raw.text("yy"))]
    whole = raw.file(values, [ONE, raw.tensor("b.weight", [16], place=64)], bytes(128))
    path = tmp_path / "it.gguf"
    path.write_bytes(whole)
    assert list(read_header(path).tensors) == ["a.weight", "b.weight"]
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        found, refused = tried(read_header, path)
        assert found is None, size
        assert "early" in refused or "no GGUF file" in refused or "more than fit" in refused


def test_values_are_what_was_written(tmp_path):
    path = tmp_path / "it.gguf"
    values = [
        raw.value("small", 5, struct.pack("<i", -7)),
        raw.value("large", 10, struct.pack("<Q", 2**63)),
        raw.value("short", raw.FLOAT32, struct.pack("<f", 1e-5)),
        raw.value("yes", raw.BOOL, b"\1"),
        raw.value("text", raw.TEXT, raw.text("é\n")),
        raw.listed("numbers", raw.FLOAT32, 2, struct.pack("<ff", 0.5, 2)),
        raw.listed("none", raw.UINT32, 0, b""),
    ]
    path.write_bytes(raw.file(values, [ONE], DATA))
    found = read_header(path).values
    assert found["small"] == -7
    assert found["large"] == 2**63
    assert found["short"] == 1e-5  # as it was written, not as 32 bits have it
    assert found["yes"] is True
    assert found["text"] == "é\n"
    np.testing.assert_array_equal(found["numbers"], [0.5, 2])
    assert len(found["none"]) == 0


def test_a_file_that_changes_is_read_again(tmp_path):
    path = tmp_path / "it.gguf"
    path.write_bytes(raw.file([raw.whole("k", 1)], [ONE], DATA))
    first = open_gguf(path)
    assert open_gguf(path) is first
    path.write_bytes(raw.file([raw.whole("k", 2), raw.whole("l", 2)], [ONE], DATA))
    assert open_gguf(path).values["k"] == 2
