"""Weights that bitsandbytes packed: into 8 bits by row, or into 4 bits by block.

Of 4 bits there are two tables of 16 numbers, NF4 and FP4; the file brings the one it was made with.
Each block has its largest absolute value (absmax). With double quantisation these are packed too:
bytes that stand for numbers of a second table, times a scale for each of their own blocks, plus an
offset. https://github.com/bitsandbytes-foundation/bitsandbytes
"""

import json
import math
import re

import torch

from report.models.quantised.parts import Format, Parts, Shape, from_table, is_size
from report.text import quoted

LONGEST_STATE = 10_000
"""Bytes of JSON that say how a weight was packed; usual are 200."""

MAX = 1 / 127
"""Of an 8-bit number, by which bitsandbytes multiplies instead of dividing."""


class Bits8(Format):
    """A row has whole numbers of 8 bits and its largest absolute value, which stands for 127."""

    stem = re.compile(r"(.*)\.SCB")
    needed = (".weight", ".SCB")
    optional = (".weight_format",)

    def shape(self, parts: Parts) -> Shape:
        shape = parts.require_matrix(".weight", [torch.int8])
        parts.require(".SCB", [torch.float32], shape[:1])
        if ".weight_format" in parts:
            parts.require(".weight_format", [torch.uint8], ())
            if parts.read(".weight_format").item() != 0:
                raise parts.refused(
                    ".weight_format", "says that its numbers are in another order than by row"
                )
        return shape

    def kind(self, parts: Parts) -> str:
        return "INT8"

    def numbers(self, parts: Parts) -> torch.Tensor:
        """Number times largest, times 1 / 127, as bitsandbytes computes it."""
        out = parts.read(".weight").float()
        return out.mul_(parts.read(".SCB")[:, None]).mul_(MAX)


class Bits4(Format):
    """kind: "nf4" or "fp4"."""

    needed = ("", ".absmax", ".quant_map")
    optional = (".nested_absmax", ".nested_quant_map")
    suffix = ""

    def __init__(self, kind: str):
        self.state = f".quant_state.bitsandbytes__{kind}"
        self.stem = re.compile(rf"(.*){re.escape(self.state)}")
        self.needed = (*Bits4.needed, self.state)
        self.table = kind

    def shape(self, parts: Parts) -> Shape:
        state = self._state(parts)
        shape = tuple(state["shape"])
        count = math.prod(shape)
        blocks = -(-count // state["blocksize"])
        parts.require("", [torch.uint8], (-(-count // 2), 1))
        parts.require(".quant_map", [torch.float32], (16,))
        if not self._nested(parts):
            parts.require(".absmax", [torch.float32], (blocks,))
            return shape
        parts.require(".absmax", [torch.uint8], (blocks,))
        parts.require(".nested_quant_map", [torch.float32], (256,))
        outer = -(-blocks // state["nested_blocksize"])
        parts.require(".nested_absmax", [torch.float32], (outer,))
        return shape

    def kind(self, parts: Parts) -> str:
        return self.state.rpartition("_")[2].upper()

    def numbers(self, parts: Parts) -> torch.Tensor:
        """Number of the table times absmax of its block."""
        state = self._state(parts)
        shape = state["shape"]
        absmax = parts.read(".absmax")
        if self._nested(parts):
            table = parts.read(".nested_quant_map")
            absmax = _times(
                table[absmax.int()], parts.read(".nested_absmax"), state["nested_blocksize"]
            )
            absmax += torch.tensor(state["nested_offset"], dtype=torch.float32)
        raw = parts.read("").flatten()
        out = from_table(raw, parts.read(".quant_map"), low_first=False)[: math.prod(shape)]
        return _times(out, absmax, state["blocksize"]).reshape(shape)

    def _nested(self, parts):
        nested = [ending in parts for ending in self.optional]
        if any(nested) and not all(nested):
            raise parts.refused(
                ".absmax", "is packed too, and a part of what unpacks it is missing"
            )
        return all(nested)

    def _state(self, parts):
        """How the weight was packed, as the file says it: a dict in which all is as it should be.

        raises: ReportError naming the part
        """
        sizes = parts.shape(self.state)
        parts.require(self.state, [torch.uint8])
        if len(sizes) != 1 or sizes[0] > LONGEST_STATE:
            raise parts.refused(self.state, f"has the shape {list(sizes)}, and is a short text")
        try:
            state = json.loads(bytes(parts.read(self.state).tolist()).decode("utf-8"))
        except (ValueError, RecursionError):
            state = None
        if not isinstance(state, dict):
            raise parts.refused(self.state, "is no JSON object")
        rules = {"quant_type": lambda kind: kind == self.table, "blocksize": is_size}
        rules["shape"] = _is_shape
        if self._nested(parts):
            rules |= {"nested_blocksize": is_size, "nested_offset": _is_number}
        for key, allowed in rules.items():
            if not allowed(state.get(key)):
                raise parts.refused(self.state, f"says {key} {quoted(state.get(key))}")
        return state


def _times(numbers, scales, width):
    """Numbers in a row, blocks of them times a scale each; the last block may be smaller."""
    whole = len(numbers) // width * width
    numbers[:whole].view(-1, width).mul_(scales[: whole // width, None])
    numbers[whole:] *= scales[-1] if whole < len(numbers) else 1
    return numbers


def _is_number(value):
    return type(value) in (int, float) and math.isfinite(value)


def _is_shape(value):
    return isinstance(value, list) and len(value) == 2 and all(map(is_size, value))
