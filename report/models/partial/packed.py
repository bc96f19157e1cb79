"""Read a checkpoint whose weights are packed into fewer bits as if it were not.

Its tensors have the names and shapes that the model has for them. Names come from the index, shapes
from the headers of the files, and parts are read and unpacked when a weight is asked for.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

from report.models.find.weights import NOT_TEXT, read_header, weight_map
from report.models.gguf.file import is_gguf, mixture, open_gguf
from report.models.partial.reader import DTYPES, Checkpoint, Entry, GgufCheckpoint
from report.models.quantised.methods import packing_in
from report.models.quantised.parts import Format, Packing, Parts

PACKED = {
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "U32": torch.uint32,
}
"""Dtypes that only the parts of packed weights have."""


def open_checkpoint(folder: Path | str) -> Checkpoint:
    """What reads the weights of a folder, or of a GGUF file, as the model has them.

    raises: ReportError for weights packed in a way that is not read
    """
    if is_gguf(folder):
        return GgufCheckpoint(folder)
    packing = packing_in(folder)
    return Checkpoint(folder) if packing is None else PackedCheckpoint(folder, packing)


def stored_as(folder: Path | str) -> str | None:
    """What a model calls the way in which its weights are packed, and the formats of its matrices,
    that of most numbers first, such as "gptq: INT4, BF16"; None where nothing is unpacked."""
    if is_gguf(folder):
        return open_gguf(folder).stored_as
    checkpoint = open_checkpoint(folder)
    if not isinstance(checkpoint, PackedCheckpoint):
        return None
    numbers = Counter()
    for name, shape in checkpoint.shapes(whole=False).items():
        if len(shape) > 1 and not NOT_TEXT.search(name):
            numbers[checkpoint.kind(name)] += math.prod(shape)
    return mixture(checkpoint.packing.label, numbers)


def stored_dtype(folder: Path | str) -> str | None:
    """The dtypes of the matrices of a model that is stored as it is, that of most numbers first,
    such as "bfloat16"; None where numbers are unpacked, or none is a matrix."""
    if is_gguf(folder) or packing_in(folder) is not None:
        return None
    numbers = Counter()
    for path in sorted({Path(folder) / file for file in weight_map(folder).values()}):
        for tensor in read_header(path).values() if path.is_file() else ():
            dtype = DTYPES.get(tensor["dtype"])
            if dtype and dtype.is_floating_point and len(tensor["shape"]) > 1:
                numbers[str(dtype).removeprefix("torch.")] += math.prod(tensor["shape"])
    return ", ".join(dtype for dtype, _ in numbers.most_common()) or None


@dataclass(frozen=True)
class PackedEntry:
    """A weight that is packed: its shape, and the bytes of its parts."""

    form: Format
    parts: Parts
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Size in the files."""
        return sum(self.parts.entry(name).bytes for name in self.parts.names.values())

    @property
    def dtype(self) -> torch.dtype:
        """Of the numbers as they come out of the packing."""
        return torch.float32


def stored_plainly(checkpoint: Checkpoint, name: str) -> bool:
    """Whether a tensor is stored as numbers of its own dtype, which transformers knows to keep."""
    return isinstance(checkpoint.entry(name), Entry)


class _Stored(Checkpoint):
    """The tensors as the files have them."""

    dtypes = DTYPES | PACKED


class PackedCheckpoint(Checkpoint):
    """The weights of a folder that `packing` says are packed; they become float32 when read.

    Tensors that are not packed are read as they are.
    """

    def __init__(self, folder: Path | str, packing: Packing):
        super().__init__(folder)
        self.packing = packing
        self._stored = _Stored(folder)
        self._entries = {}

    @cached_property
    def _weights(self) -> dict[str, tuple[Format | None, dict[str, str]]]:
        return self.packing.weights(self._stored.files)

    @cached_property
    def files(self) -> dict[str, str]:
        held = self._stored.files
        return {
            name: held[next(iter(parts.values()))] for name, (_, parts) in self._weights.items()
        }

    def entry(self, name: str) -> Entry | PackedEntry:
        if name not in self._weights or self._weights[name][0] is None:
            return super().entry(name)
        if name not in self._entries:
            form, names = self._weights[name]
            parts = Parts(name, names, self._stored.entry, self._part)
            self._entries[name] = PackedEntry(form, parts, form.shape(parts))
        return self._entries[name]

    def kind(self, name: str) -> str:
        """What the numbers of a tensor are stored as, such as "INT4" or "BF16"."""
        entry = self.entry(name)
        if isinstance(entry, PackedEntry):
            return entry.form.kind(entry.parts)
        return next(kind for kind, dtype in DTYPES.items() if dtype is entry.dtype)

    def shapes(self, whole: bool = True) -> dict[str, list[int]]:
        stored = self._stored.shapes(whole)
        return {
            name: list(stored[name] if form is None else self.entry(name).shape)
            for name, (form, parts) in self._weights.items()
            if all(part in stored for part in parts.values())
        }

    def total_bytes(self) -> int | None:
        return self._stored.total_bytes()

    def _unpacked(self, name, rows):
        entry = self.entry(name)
        if isinstance(entry, Entry):
            return None
        if rows is not None and entry.form.by_rows:
            return entry.form.numbers(entry.parts.of_rows(rows))
        numbers = entry.form.numbers(entry.parts)
        return numbers if rows is None else numbers[rows]

    def _part(self, name: str, rows: Sequence[int] | None) -> torch.Tensor:
        stored, before = self._stored, self._stored.bytes_read
        part = stored.read(name) if rows is None else stored.read_rows(name, list(rows))
        self.bytes_read += stored.bytes_read - before
        return part
