"""Read single tensors, or single rows of them, out of a checkpoint of any size.

The wanted bytes are read straight into the tensor, converted on the way; no file is mapped into
memory, so a process holds what it asked for and nothing else.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

from report.errors import ReportError
from report.models.find.weights import INDEX, lacks_tensor, read_header, shapes, weight_map
from report.models.gguf.file import open_gguf
from report.models.gguf.views import View, views

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
"""By their names in a file. 8-bit floats are left out: without their scales they mean nothing."""

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
    """The weights of a folder, in one file or several; files with nothing wanted may be missing.

    bytes_read: bytes of tensors read so far
    dtypes: dict of what files call a dtype to the dtype, of those that may be read
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
        stated = self._header(path).get(name)
        if stated is None:
            raise lacks_tensor(path, name)
        return self._entry(path, name, stated)

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
        """Stop for a tensor that is missing or has another shape than a model wants.

        raises: ReportError naming both shapes
        """
        stored = self.entry(name).shape
        if stored != tuple(shape):
            raise ReportError(
                f"the weights of '{self.folder.name}' hold '{name}' as {list(stored)}, the config "
                f"asks for {list(shape)}; config.json belongs to other weights"
            )

    def total_bytes(self) -> int | None:
        """Bytes of all tensors; where weight files are missing what the index says, or None.

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
        """Some rows of a tensor [number, ...], in the order of `rows` (list of int).

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
        """The numbers, float32, of a tensor that is not stored as it is, all or some rows; None of
        any other tensor."""

    def _fill(self, entry, parts):
        """Fill flat tensors, each from its place (in bytes) in the entry."""
        raw = torch.empty(min(entry.bytes, CHUNK), dtype=torch.uint8)
        with entry.path.open("rb", buffering=0) as stream:
            for place, flat in parts:
                stream.seek(entry.start + place)
                for chunk in flat.split(CHUNK // entry.dtype.itemsize):
                    used = raw[: len(chunk) * entry.dtype.itemsize]
                    _read_exactly(stream, memoryview(used.numpy()), entry.path)
                    chunk.copy_(used.view(entry.dtype))
                    self.bytes_read += len(used)

    def _entry(self, path, name, stated):
        if stated["dtype"] not in self.dtypes:
            raise ReportError(
                f"'{path.parent.name}/{path.name}' stores '{name}' as {stated['dtype']}, which "
                f"cannot be read alone; known: {', '.join(self.dtypes)}; use the model in bf16 or "
                "float32"
            )
        dtype, shape = self.dtypes[stated["dtype"]], tuple(stated["shape"])
        return Entry(path, stated["span"][0], dtype, shape)

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
            read = self._from(stream, view.tensor.path)
            return torch.from_numpy(view.numbers(read) if rows is None else view.rows(read, rows))

    def _from(self, stream, path):
        """A function of (place, number of bytes) that reads them."""

        def read(place, count):
            content = bytearray(count)
            stream.seek(place)
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
