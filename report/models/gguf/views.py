"""The tensors of a GGUF file under transformers' names, with transformers' shapes and numbers.

llama.cpp changes some tensors when it writes them: it turns the rows of queries and keys over,
stores a norm as 1 + w, puts the experts of a layer into one tensor. A view undoes that when its
numbers are read; until then it is a name and a shape.
"""

import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from report.errors import ReportError
from report.models.gguf import formats
from report.models.gguf.architectures import Architecture, architecture_of
from report.models.gguf.changes import Change
from report.models.gguf.file import NO_TEXT, GgufFile
from report.models.gguf.header import Tensor
from report.text import quoted

CHUNK = 1 << 23
"""Bytes that are read and turned into numbers at a time."""

OF_LAYER = re.compile(r"blk\.(\d{1,5})\.(.+)")


@dataclass(frozen=True)
class View:
    """A tensor as transformers has it.

    tensor: where it lies in the file
    shape: as transformers has it
    part: which one it is, of those that the file has in one tensor; None where it is all of it
    change: what makes the model's numbers of those in the file, or None
    """

    tensor: Tensor
    shape: tuple[int, ...]
    part: int | None = None
    change: Change | None = None

    @property
    def bytes(self) -> int:
        """Size in the file."""
        return self.tensor.bytes // (1 if self.part is None else self.tensor.shape[0])

    @property
    def start(self) -> int:
        """Place of its first byte in the file."""
        return self.tensor.start + (self.part or 0) * self.bytes

    def numbers(self, read: Callable[[int, int], bytes]) -> np.ndarray:
        """All its numbers, float32 of its shape.

        read: function of (place in the file, number of bytes) -> these bytes
        """
        width = self.row_bytes
        stored = self.tensor.shape[(0 if self.part is None else 1) :]
        out = np.empty((math.prod(stored[:-1]), stored[-1]), np.float32)
        step = max(1, CHUNK // width)
        for row in range(0, len(out), step):
            count = min(step, len(out) - row)
            out[row : row + count] = self._rows(read, row, count)
        whole = out.reshape(stored)
        return np.ascontiguousarray(self.change.undo(whole)) if self.change else whole

    def rows(self, read: Callable[[int, int], bytes], rows: list[int]) -> np.ndarray:
        """Some rows, float32 [len(rows), numbers of a row]; only of a view without a change."""
        if self.change is not None:
            return self.numbers(read)[rows]
        parts = [self._rows(read, row, 1) for row in rows]
        return np.concatenate(parts) if parts else np.empty((0, self.shape[-1]), np.float32)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row in the file."""
        block = self.tensor.format
        return self.tensor.shape[-1] // block.numbers * block.bytes

    def _rows(self, read, first, count):
        width = self.row_bytes
        raw = np.frombuffer(read(self.start + first * width, count * width), np.uint8)
        return formats.numbers(raw.reshape(count, width), self.tensor.format)


@functools.lru_cache(maxsize=4)
def views(file: GgufFile) -> dict[str, View]:
    """dict of the name in a checkpoint of transformers -> `View`.

    raises: ReportError naming an architecture, a key or a tensor that is not understood
    """
    architecture = architecture_of(file)
    view_of = {}
    for name, tensor in file.tensors.items():
        for target, view in _views(file, architecture, name, tensor):
            if target in view_of:
                raise ReportError(
                    f"'{file.name}' has the weights of {target} twice, the second time as "
                    f"{quoted(name)}; use another file of this model"
                )
            view_of[target] = view
    return view_of


def _views(file: GgufFile, architecture: Architecture, name: str, tensor: Tensor):
    """Pairs of a name of transformers and its `View`, of one tensor of the file."""
    if name in architecture.used or NO_TEXT.fullmatch(name):
        return
    stem, _, leaf = name.rpartition(".")
    layer = OF_LAYER.fullmatch(stem)
    place = f"blk.{layer[2]}" if layer else stem
    if leaf not in ("weight", "bias") or place not in architecture.tensors:
        raise ReportError(
            f"'{file.name}' has a tensor {quoted(name)}, which is not known in the architecture "
            f"{architecture.name}, so what it does to the numbers is not either; use another "
            "file of this model, or its checkpoint in safetensors"
        )
    target = f"{architecture.tensors[place]}.{leaf}".replace("{layer}", layer[1] if layer else "")
    changes = architecture.changes
    change = changes.get(place) or changes.get(f"{place}.{leaf}")
    if "{part}" not in target:
        yield target, _view(file, name, tensor, None, change)
        return
    if tensor.shape[0] > (architecture.parts or 0):
        raise ReportError(
            f"'{file.name}' holds {quoted(name)} as {list(tensor.shape)}, and says that there are "
            f"{architecture.parts} parts; the file is damaged, download or copy it again"
        )
    for part in range(tensor.shape[0]):
        yield target.replace("{part}", str(part)), _view(file, name, tensor, part, change)


def _view(file, name, tensor, part, change):
    shape = tensor.shape[(0 if part is None else 1) :]
    if not shape:
        raise ReportError(
            f"'{file.name}' holds {quoted(name)} as {list(tensor.shape)}, where there should be a "
            "tensor for each of several parts; the file is damaged, download or copy it again"
        )
    if change is None:
        return View(tensor, shape, part)
    if not change.fits(shape):
        raise ReportError(
            f"'{file.name}' holds {quoted(name)} as {list(tensor.shape)}, which does not fit the "
            "heads that it says it has; the file is damaged, download or copy it again"
        )
    return View(tensor, change.shape(shape), part, change)
