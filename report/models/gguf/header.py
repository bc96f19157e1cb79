"""What a GGUF file says of itself: its values by key, and where each of its tensors lies.

A file is a magic word, a version, the number of tensors and of values, the values (each a key, a
type, and what it holds), the table of tensors (name, size of every dimension, block format, place),
and the tensors. https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

Nothing that a file says is believed: every length is compared with the bytes that are left before
anything is read, and no tensor may lie outside the file or on another one. numpy is all it needs.
"""

import hashlib
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from report.errors import ReportError
from report.models.gguf.formats import Format, format_numbered
from report.text import quoted

MAGIC = b"GGUF"
VERSIONS = (2, 3)

MOST_VALUES = 10_000
MOST_TENSORS = 100_000
MOST_ITEMS = 4_000_000
"""In one list. The largest vocabularies have some 260,000 tokens, and twice as many merges."""
LONGEST_TEXT = 1 << 20
"""Bytes of a text. Chat templates have some thousands."""
MOST_BYTES = 100_000_000
"""Of everything before the tensors, as for safetensors."""

NUMBERS = ("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<f4", "?", None, None, "<u8", "<i8", "<f8")
"""Types of values by their numbers, as numpy writes them."""
TEXT, LIST = 8, 9

SMALLEST_VALUE, SMALLEST_TENSOR = 8 + 4 + 1, 8 + 4 + 8 + 4 + 8
"""Bytes that a value, and an entry in the table of tensors, take at least."""

DIMENSIONS = 4


@dataclass(frozen=True)
class Tensor:
    """Where a tensor lies: its file, the place of its first byte, its format and shape.

    shape: as torch has it, the last dimension the one whose numbers lie side by side
    """

    path: Path
    start: int
    format: Format
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Size in the file."""
        return math.prod(self.shape) // self.format.numbers * self.format.bytes


@dataclass(frozen=True)
class Header:
    """What stands before the tensors.

    values: dict of key -> bool, int, float, str, list of str, or array of numbers
    tensors: dict of name -> `Tensor`, in the order of the file
    sums: dict of key -> SHA-256 of the bytes of its value
    """

    values: dict[str, Any]
    tensors: dict[str, Tensor]
    sums: dict[str, str]


def read_header(path: Path) -> Header:
    """The header of a GGUF file.

    raises: ReportError in one sentence if it is none, is damaged, or ends too early
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            return _Reader(stream, path, size).header()
    except OSError as error:
        raise ReportError(
            f"'{path.name}' cannot be read: {error.strerror or error}; give a file that may be read"
        ) from error


class _Reader:
    """Reads a header from its first byte to its last."""

    def __init__(self, stream: BinaryIO, path: Path, size: int):
        self.stream, self.path, self.size = stream, path, size
        self.place = 0
        self.digest = hashlib.sha256()

    def header(self) -> Header:
        if self.size < 24 or self.take(4) != MAGIC:
            raise ReportError(
                f"'{self.path.name}' is no GGUF file; download or copy it again (in a clone, `git "
                "lfs pull` brings the files themselves)"
            )
        version = self.number("<I")
        if version not in VERSIONS:
            raise ReportError(
                f"'{self.path.name}' is a GGUF file of version {version}, read are versions 2 and "
                "3, little-endian; convert the model again with a newer llama.cpp"
            )
        tensors, values = self.number("<Q"), self.number("<Q")
        self.require(values <= MOST_VALUES, f"it says it has {values:,} values")
        self.require(tensors <= MOST_TENSORS, f"it says it has {tensors:,} tensors")
        self.require(
            values * SMALLEST_VALUE + tensors * SMALLEST_TENSOR <= self.size - self.place,
            f"it says it has {values:,} values and {tensors:,} tensors, more than fit into it",
        )
        fields, sums = {}, {}
        for _ in range(values):
            key = self.text("a key")
            self.require(key not in fields, f"the key {quoted(key)} is there twice")
            self.digest = hashlib.sha256()
            fields[key] = self.value(key, self.number("<I"))
            sums[key] = self.digest.hexdigest()
        stated = [self.stated_tensor() for _ in range(tensors)]
        return Header(fields, self.placed(stated, fields.get("general.alignment", 32)), sums)

    def take(self, count: int) -> bytes:
        """The next bytes; `count` is compared with what is left before they are read."""
        if count > self.size - self.place:
            raise self.ends_early()
        self.require(self.place + count <= MOST_BYTES, "more than 100 MB stand before its tensors")
        content = self.stream.read(count)
        if len(content) < count:
            raise self.ends_early()
        self.place += count
        self.digest.update(content)
        return content

    def number(self, kind: str) -> int:
        (number,) = struct.unpack(kind, self.take(struct.calcsize(kind)))
        return number

    def text(self, what: str) -> str:
        length = self.number("<Q")
        if length > self.size - self.place:
            raise self.ends_early()
        self.require(length <= LONGEST_TEXT, f"{what} has {length:,} bytes")
        try:
            return self.take(length).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.damaged(f"{what} is no UTF-8") from error

    def value(self, key: str, kind: int) -> Any:
        if kind == TEXT:
            return self.text(f"the value of {quoted(key)}")
        if kind == LIST:
            return self.items(key, self.number("<I"), self.number("<Q"))
        numbers = self.numbers(key, kind, 1)
        # written as a decimal number once, and as such it was meant: 1e-05, not 9.9999997e-06
        return float(str(numbers[0])) if kind == 6 else numbers[0].item()

    def items(self, key: str, kind: int, count: int) -> list[str] | np.ndarray:
        if kind != TEXT:
            return self.numbers(key, kind, count)
        if count * 8 > self.size - self.place:
            raise self.ends_early()
        self.require(count <= MOST_ITEMS, f"{quoted(key)} has {count:,} items")
        return [self.text(f"an item of {quoted(key)}") for _ in range(count)]

    def numbers(self, key: str, kind: int, count: int) -> np.ndarray:
        known = NUMBERS[kind] if kind < len(NUMBERS) else None
        if known is None:
            raise self.damaged(f"{quoted(key)} is of a type that is not known ({kind})")
        dtype = np.dtype(known)
        if count * dtype.itemsize > self.size - self.place:
            raise self.ends_early()
        return np.frombuffer(self.take(count * dtype.itemsize), dtype)

    def stated_tensor(self) -> tuple[str, list[int], int, int]:
        """(name, sizes, number of the format, place) of the next tensor in the table."""
        name = self.text("the name of a tensor")
        dimensions = self.number("<I")
        self.require(1 <= dimensions <= DIMENSIONS, f"{quoted(name)} has {dimensions:,} dimensions")
        sizes = [self.number("<Q") for _ in range(dimensions)]
        return name, sizes, self.number("<I"), self.number("<Q")

    def placed(self, stated: list, alignment: object) -> dict[str, Tensor]:
        """The tensors, each in its own part of the file."""
        known = type(alignment) is int and 0 < alignment <= 1 << 16 and alignment % 8 == 0
        self.require(known, f"general.alignment is {quoted(alignment)}")
        start = -(-self.place // alignment) * alignment
        tensors = {}
        for name, sizes, number, offset in stated:
            self.require(name not in tensors, f"the tensor {quoted(name)} is there twice")
            block = format_numbered(number, f"'{self.path.name}': the tensor {quoted(name)}")
            self.require(
                min(sizes) > 0 and sizes[0] % block.numbers == 0,
                f"the tensor {quoted(name)} of {block.name} is said to be {sizes[::-1]}, no whole "
                f"blocks of {block.numbers}",
            )
            self.require(
                offset % alignment == 0, f"the tensor {quoted(name)} begins between two places"
            )
            tensors[name] = Tensor(self.path, start + offset, block, tuple(sizes[::-1]))
        end = self.place
        for name, tensor in sorted(tensors.items(), key=lambda item: item[1].start):
            self.require(
                tensor.start >= end, f"the tensor {quoted(name)} lies on the one before it"
            )
            end = tensor.start + tensor.bytes
            if end > self.size:
                raise self.ends_early()
        return tensors

    def require(self, condition: bool, why: str) -> None:
        if not condition:
            raise self.damaged(why)

    def damaged(self, why: str) -> ReportError:
        return ReportError(f"'{self.path.name}' is damaged: {why}; download or copy it again")

    def ends_early(self) -> ReportError:
        return self.damaged(f"it ends early, after {self.size:,} bytes")
