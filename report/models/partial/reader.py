"""Read single tensors, or single rows of them, out of a checkpoint of any size.

The wanted bytes are read straight into the tensor, converted on the way; no file is mapped into
memory, so a process holds what it asked for and nothing else.

A checkpoint of packed or quantised weights is read as if it were not: its tensors have the names
and shapes that the model has for them. Names come from the index, shapes from the headers of the
files, and the parts of a packed weight are unpacked when it is read.
"""

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

from report.errors import ReportError
from report.models.find.weights import (
    INDEX,
    NOT_TEXT,
    lacks_tensor,
    read_header,
    shapes,
    weight_map,
)
from report.models.gguf.file import is_gguf, mixture, open_gguf
from report.models.gguf.views import View, views
from report.models.quantised.methods import packing_in
from report.models.quantised.parts import Format, Packing, Parts

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
"""Dtype in a file -> dtype. 8-bit floats are left out: without their scales they mean nothing."""

CHUNK = 1 << 24
"""Bytes read and converted at a time, so that a large tensor is never in memory twice."""


@dataclass(frozen=True)
class Entry:
    """Where a tensor lies: its file, the place of its first byte, dtype and shape."""

    path: Path
    start: int
    dtype: torch.dtype
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Size in the file."""
        return math.prod(self.shape) * self.dtype.itemsize


class Checkpoint:
    """The weights of a folder, in one file or several; only files of tensors that are read must be
    there.

    bytes_read: bytes of tensors read so far
    dtypes: dtype in a file -> dtype, of those that may be read
    """

    dtypes = DTYPES

    def __init__(self, folder):
        self.folder = Path(folder)
        self.bytes_read = 0
        self._headers = {}

    @cached_property
    def files(self) -> dict[str, str]:
        """dict of each tensor's name to the name of its file."""
        return weight_map(self.folder)

    def entry(self, name: str) -> Entry:
        """The `Entry` of a tensor; ReportError if there is no such tensor, or not its file."""
        self._require_listed(name)
        path = self.folder / self.files[name]
        header = self._header(path).get(name)
        if header is None:
            raise lacks_tensor(path, name)
        return self._entry(path, name, header)

    def _require_listed(self, name):
        if name not in self.files:
            raise ReportError(
                f"the weights of '{self.folder.name}' lack the tensor '{name}'; nothing is filled "
                "in with random numbers"
            )

    def shapes(self, whole: bool = True) -> dict[str, list[int]]:
        """dict of each tensor's name to its shape.

        whole: whether all weight files are to be there; else tensors of missing ones are left out
        raises: ReportError as `weights.weight_files`
        """
        return shapes(self.folder, whole)

    def require_shape(self, name: str, shape: Sequence[int]) -> None:
        """Check the shape of a tensor against the model's.

        raises: ReportError as `entry`, or naming both shapes if they differ
        """
        stored = self.entry(name).shape
        if stored != tuple(shape):
            raise ReportError(
                f"the weights of '{self.folder.name}' hold '{name}' as {list(stored)}, the config "
                f"asks for {list(shape)}; config.json belongs to other weights"
            )

    def total_bytes(self) -> int | None:
        """Bytes of all tensors; if weight files are missing, what the index says, or None.

        raises: ReportError for a damaged weight file
        """
        paths = {self.folder / file for file in self.files.values()}
        if all(path.is_file() for path in paths):
            spans = [tensor["span"] for path in paths for tensor in self._header(path).values()]
            return sum(end - start for start, end in spans)
        index = json.loads((self.folder / INDEX).read_text(encoding="utf-8"))
        return (index.get("metadata") or {}).get("total_size")

    def read(
        self, name: str, out: torch.Tensor | None = None, dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """A whole tensor.

        out: tensor to fill, contiguous and of the same shape, on any device; None for a new one of
            `dtype` (default: as stored) on the CPU
        raises: ReportError as `entry`, or if `out` has another shape
        """
        entry = self.entry(name)
        if out is not None:
            self.require_shape(name, out.shape)
        numbers = self._unpacked(name, None)
        if numbers is not None:
            return numbers.to(dtype or torch.float32) if out is None else out.copy_(numbers)
        if out is None:
            out = torch.empty(entry.shape, dtype=dtype or entry.dtype)
        self._fill(entry, [(0, out.view(-1))])
        return out

    def read_rows(
        self, name: str, rows: list[int], dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """Rows of a tensor by their numbers, [row, ...] in the order of `rows`; of the dtype of the
        file, or float32 if unpacked, without `dtype`.

        raises: ReportError as `entry`, or for a row that is not there
        """
        entry = self.entry(name)
        if rows and not 0 <= min(rows) <= max(rows) < entry.shape[0]:
            raise ReportError(
                f"token ids go from {min(rows)} to {max(rows)}, '{self.folder.name}' knows 0 to "
                f"{entry.shape[0] - 1}; use the tokenizer that belongs to the model"
            )
        numbers = self._unpacked(name, rows)
        if numbers is not None:
            return numbers.to(dtype or torch.float32)
        rest = entry.shape[1:]
        out = torch.empty(len(rows), *rest, dtype=dtype or entry.dtype)
        width = math.prod(rest) * entry.dtype.itemsize
        self._fill(entry, [(row * width, out[place].view(-1)) for place, row in enumerate(rows)])
        return out

    def _unpacked(self, name, rows):
        """All rows (None) or some of a packed or quantised tensor, float32; None for any other."""

    def _fill(self, entry, targets):
        """Fill the tensors of [(offset in the entry in bytes, flat tensor), ...]."""
        raw = torch.empty(min(entry.bytes, CHUNK), dtype=torch.uint8)
        with entry.path.open("rb", buffering=0) as stream:
            for offset, flat in targets:
                stream.seek(entry.start + offset)
                for chunk in flat.split(CHUNK // entry.dtype.itemsize):
                    buffer = raw[: len(chunk) * entry.dtype.itemsize]
                    _read_exactly(stream, memoryview(buffer.numpy()), entry.path)
                    chunk.copy_(buffer.view(entry.dtype))
                    self.bytes_read += len(buffer)

    def _entry(self, path, name, header):
        if header["dtype"] not in self.dtypes:
            raise ReportError(
                f"'{path.parent.name}/{path.name}' stores '{name}' as {header['dtype']}, which "
                f"cannot be read alone; known: {', '.join(self.dtypes)}; use the model in bf16 or "
                "float32"
            )
        dtype, shape = self.dtypes[header["dtype"]], tuple(header["shape"])
        return Entry(path, header["span"][0], dtype, shape)

    def _header(self, path):
        if path not in self._headers:
            if not path.is_file():
                raise ReportError(
                    f"model folder '{self.folder.name}' lacks the weight file {path.name}; copy "
                    "the whole folder"
                )
            self._headers[path] = read_header(path)
        return self._headers[path]


class GgufCheckpoint(Checkpoint):
    """The weights of a GGUF file: blocks become numbers, float32, as they are read.

    Its tensors have the names and shapes that transformers has for them.
    """

    @cached_property
    def _views(self) -> dict[str, View]:
        return views(open_gguf(self.folder))

    @cached_property
    def files(self) -> dict[str, str]:
        return {name: view.tensor.path.name for name, view in self._views.items()}

    def entry(self, name: str) -> View:
        self._require_listed(name)
        return self._views[name]

    def total_bytes(self) -> int:
        return sum(tensor.bytes for tensor in open_gguf(self.folder).tensors.values())

    def _unpacked(self, name, rows):
        view = self.entry(name)
        with view.tensor.path.open("rb", buffering=0) as stream:
            read = self._reader(stream, view.tensor.path)
            return torch.from_numpy(view.numbers(read) if rows is None else view.rows(read, rows))

    def _reader(self, stream, path):
        """A function of (offset in the file, number of bytes) that reads them."""

        def read(offset, count):
            content = bytearray(count)
            stream.seek(offset)
            _read_exactly(stream, memoryview(content), path)
            self.bytes_read += count
            return content

        return read


def _read_exactly(stream, view, path):
    """Fill `view` from an unbuffered stream, which may return less than asked for at a time."""
    while view:
        count = stream.readinto(view)
        if not count:
            raise ReportError(
                f"'{path.parent.name}/{path.name}' became shorter while it was read; run the same "
                "command once it is whole"
            )
        view = view[count:]


PACKED = {
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "U32": torch.uint32,
}
"""Dtypes that only the parts of packed weights have."""


def open_checkpoint(folder: Path | str) -> Checkpoint:
    """The checkpoint in a folder or a GGUF file, whose tensors are as the model has them.

    raises: ReportError for weights packed in a way that is not read
    """
    if is_gguf(folder):
        return GgufCheckpoint(folder)
    packing = packing_in(folder)
    return Checkpoint(folder) if packing is None else PackedCheckpoint(folder, packing)


def stored_as(folder: Path | str) -> str | None:
    """How a model's weights are packed or quantised, and the formats of its matrices, that of most
    numbers first, such as "gptq: INT4, BF16"; None if they are neither."""
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
    """The dtypes of the matrices of a model that is not packed, that of most numbers first, such as
    "bfloat16, float32"; None if it is packed or quantised, or without a matrix."""
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
        """Of the unpacked numbers."""
        return torch.float32


def stored_plainly(checkpoint: Checkpoint, name: str) -> bool:
    """Whether a tensor is neither packed nor quantised, so that its stored dtype is its own."""
    return isinstance(checkpoint.entry(name), Entry)


class _Stored(Checkpoint):
    """The tensors of a packed checkpoint as the files have them."""

    dtypes = DTYPES | PACKED


class PackedCheckpoint(Checkpoint):
    """The weights of a folder, of which those that `packing` tells are packed become float32 when
    read, the others as in any checkpoint."""

    def __init__(self, folder: Path | str, packing: Packing):
        super().__init__(folder)
        self.packing = packing
        self._stored = _Stored(folder)
        self._entries = {}

    @cached_property
    def _weights(self) -> dict[str, tuple[Format | None, dict[str, str]]]:
        """As of `Packing.weights`."""
        return self.packing.weights(self._stored.files)

    @cached_property
    def files(self) -> dict[str, str]:
        stored = self._stored.files
        return {
            name: stored[next(iter(parts.values()))] for name, (_, parts) in self._weights.items()
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
        """Name of the format of a tensor's numbers, such as "INT4" or "BF16"."""
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
