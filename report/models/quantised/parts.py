"""The stored tensors that make one weight, and the interface of formats, which unpack them.

A weight `q_proj.weight` may be stored as `q_proj.weight_packed`, `q_proj.weight_scale` and others.
What these names have in common is the stem (`q_proj`); what follows it is the part's ending.
No stored tensor is trusted: a format checks dtypes and shapes before it reads what is large.
A weight is packed if it has the parts of a format, so a list of weights that are not packed
(`ignore` in config.json) is not needed.

Formats share what is below: numbers of a few bits, and one scale for many numbers.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch

from report.errors import ReportError
from report.text import quoted

FLOATS = (torch.float32, torch.bfloat16, torch.float16)
"""Dtypes of scales."""

Shape = tuple[int, ...]


class Entry(Protocol):
    """What is known of a stored tensor before it is read."""

    dtype: torch.dtype
    shape: Shape
    bytes: int


@dataclass(frozen=True)
class Parts:
    """The stored tensors that make one weight.

    weight: its name in the model; names: ending -> name of the stored tensor
    entry: stored name -> `Entry`
    read_tensor: (stored name, numbers of rows or None for all) -> tensor as stored
    rows: numbers of the rows that `read` returns; None for all
    """

    weight: str
    names: dict[str, str]
    entry: Callable[[str], Entry]
    read_tensor: Callable[[str, Sequence[int] | None], torch.Tensor]
    rows: tuple[int, ...] | None = None

    def __contains__(self, ending: str) -> bool:
        return ending in self.names

    def dtype(self, ending: str) -> torch.dtype:
        """The dtype of a part."""
        return self.entry(self.names[ending]).dtype

    def shape(self, ending: str) -> Shape:
        """The shape of a part, with all rows whatever `rows` is."""
        return tuple(self.entry(self.names[ending]).shape)

    def read(self, ending: str) -> torch.Tensor:
        """A part as stored, the rows of `rows`."""
        return self.read_tensor(self.names[ending], self.rows)

    def of_rows(self, rows: Sequence[int]) -> "Parts":
        """The parts with other `rows`."""
        return replace(self, rows=tuple(rows))

    def require(self, ending: str, dtypes: Sequence[torch.dtype], shape: Shape | None = None):
        """Check the dtype and shape of a part.

        raises: ReportError naming the tensor, and what it should be
        """
        if self.dtype(ending) not in dtypes:
            allowed = " or ".join(map(_word, dtypes))
            raise self.refused(ending, f"is {_word(self.dtype(ending))}, and should be {allowed}")
        if shape is not None and self.shape(ending) != tuple(shape):
            stored, expected = list(self.shape(ending)), list(shape)
            raise self.refused(ending, f"has the shape {stored}, and should have {expected}")

    def require_matrix(self, ending: str, dtypes: Sequence[torch.dtype]) -> Shape:
        """The shape of a part; ReportError unless it is a matrix that is not empty."""
        self.require(ending, dtypes)
        shape = self.shape(ending)
        if len(shape) != 2 or min(shape) < 1:
            raise self.refused(ending, f"has the shape {list(shape)}, and should be a matrix")
        return shape

    def require_groups(self, ending: str, numbers: int, group: int) -> None:
        """ReportError if the numbers of a row or column of a part do not divide into groups."""
        if numbers % group:
            raise self.refused(ending, f"has {numbers} numbers, no whole groups of {group}")

    def refused(self, ending: str, why: str) -> ReportError:
        """The ReportError about a part."""
        return ReportError(
            f"{quoted(self.weight)} cannot be unpacked: its part {quoted(self.names[ending])} "
            f"{why}; download or copy the checkpoint again, or use the one it was made from"
        )


class Format(Protocol):
    """How one weight is packed.

    stem: pattern of the name of the part that tells the format; its first group is the stem
    needed, optional: endings of the parts
    suffix: what follows the stem in the weight's name
    by_rows: whether a row of the weight is made of the same row of every part
    """

    stem: re.Pattern[str]
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    suffix: str = ".weight"
    by_rows: bool = False

    def shape(self, parts: Parts) -> Shape:
        """The shape of the weight; ReportError for parts that do not fit together."""

    def kind(self, parts: Parts) -> str:
        """Name of the format of its numbers, such as "INT4"; called after `shape`."""

    def numbers(self, parts: Parts) -> torch.Tensor:
        """The numbers of the weight, float32 and computed so; called after `shape`."""


WITHOUT_EFFECT = re.compile(
    r".*[._](input|output|activation|q|k|v|prob)_(scale(_inv|_ub)?|zero_point|global_scale)"
)
"""Tensors of the scales of activations and caches, which change no weight."""

LEFT_OVER = re.compile(
    r".*(\.(qweight|qzeros|scales|g_idx|SCB|weight_(packed|scale\w*|shape|zero_point|g_idx)"
    r"|weight_global_scale|weight_format|(nested_)?(absmax|quant_map)"
    r"|quant_state\.bitsandbytes__\w+|biases)|_(blocks|scales))"
)
"""Names of parts of packed weights in any format."""

UNMISTAKABLE = re.compile(
    r".*\.(qweight|qzeros|SCB|weight_(packed|scale|scale_inv)|absmax"
    r"|quant_state\.bitsandbytes__\w+)"
)
"""Those of `LEFT_OVER` that no other tensor has."""


@dataclass(frozen=True)
class Packing:
    """How a checkpoint's weights are packed.

    label: what config.json calls it, such as "fp8" or "gptq"
    formats: of its weights; the first that fits a name counts
    """

    label: str
    formats: tuple[Format, ...]

    def weights(self, names: Iterable[str]) -> dict[str, tuple[Format | None, dict[str, str]]]:
        """The weights that stored tensors make.

        names: of all stored tensors
        returns: weight's name -> (its format, {ending: stored name}), or (None, {"": name}) of a
            tensor that is not packed
        raises: ReportError naming a part that is missing, that belongs to no weight, or that
            makes a weight twice
        """
        stored = {name for name in names if not WITHOUT_EFFECT.fullmatch(name)}
        packed, used = {}, set()
        for form in self.formats:
            for name in sorted(stored - used):
                match = form.stem.fullmatch(name)
                if match is None:
                    continue
                weight, parts = match[1] + form.suffix, self._parts(form, match[1], stored)
                if weight in packed or (weight in stored and weight not in parts.values()):
                    raise ReportError(
                        f"the weights hold {quoted(weight)} twice, the second time packed "
                        f"({quoted(name)}); download or copy the checkpoint again"
                    )
                packed[weight] = (form, parts)
                used.update(parts.values())
        plain = sorted(stored - used)
        leftover = next(filter(LEFT_OVER.fullmatch, plain), None)
        if leftover is not None:
            raise ReportError(
                f"the weights hold {quoted(leftover)}, which belongs to no weight that is packed "
                "as config.json says; use the checkpoint that this one was made from"
            )
        return packed | {name: (None, {"": name}) for name in plain}

    def _parts(self, form, stem, stored):
        """Ending -> stored name; ReportError if a needed part is missing."""
        lacking = [stem + ending for ending in form.needed if stem + ending not in stored]
        if lacking:
            raise ReportError(
                f"the weights lack the tensor {quoted(lacking[0])}, without which "
                f"{quoted(stem + form.suffix)} cannot be unpacked; download or copy the checkpoint "
                "again"
            )
        endings = (*form.needed, *form.optional)
        return {ending: stem + ending for ending in endings if stem + ending in stored}


def _word(dtype):
    return str(dtype).removeprefix("torch.")


FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""The numbers of four bits with two bits of exponent and one of mantissa (E2M1).
https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf"""


def is_size(value: object) -> bool:
    """Whether a value of config.json can be a number of rows or columns."""
    return type(value) is int and 0 < value < 2**31


def period(bits: int) -> int:
    """Number of 32-bit words that hold a whole number of integers of `bits` bits: 3 for 3 bits."""
    return math.lcm(bits, 32) // 32


def unpacked(words: torch.Tensor, bits: int) -> torch.Tensor:
    """Whole numbers of a few bits that follow each other in words, from the lowest bit on.

    words: int32 or uint32 [..., W], where W is a multiple of `period(bits)`
    bits: of each number, 1 to 8
    returns: uint8 [..., 32 W / bits]
    """
    count = period(bits) * 32 // bits
    wide = (words.contiguous().view(torch.int32).long() & 0xFFFFFFFF).unflatten(
        -1, (-1, period(bits))
    )
    out = torch.empty(*wide.shape[:-1], count, dtype=torch.uint8)
    for place in range(count):
        word, start = divmod(place * bits, 32)
        number = wide[..., word] >> start
        if start + bits > 32:
            number = number | (wide[..., word + 1] << (32 - start))
        out[..., place] = number & ((1 << bits) - 1)
    return out.flatten(-2)


def from_table(raw: torch.Tensor, table: torch.Tensor, low_first: bool) -> torch.Tensor:
    """The numbers of half bytes, which are indices of a table.

    raw: uint8 [..., n]; table: float32 [16]; low_first: whether a byte's lower half comes first
    returns: float32 [..., 2 n]
    """
    byte = torch.arange(256)
    halves = (byte & 15, byte >> 4) if low_first else (byte >> 4, byte & 15)
    pairs = torch.stack([table[half] for half in halves], -1)
    return pairs[raw.int()].flatten(-2)


def fits(sizes: tuple[int, ...], shape: tuple[int, ...], block: tuple[int, int]) -> bool:
    """Whether scales of the shape `sizes` fit a tensor: in each dimension one for all, one for each
    number, or, in the last two, one for each block.

    shape: of the tensor; block: rows and columns of a block
    """
    blocks = (*[1] * (len(shape) - 2), *block)
    return (
        len(sizes) == len(shape) >= 2
        and min(shape) > 0
        and all(
            size in (1, number, -(-number // width))
            for size, number, width in zip(sizes, shape, blocks, strict=True)
        )
    )


def change_by_blocks(
    numbers: torch.Tensor, values: torch.Tensor, block: tuple[int, int], subtract: bool = False
) -> None:
    """Multiply a tensor in place by a value for each block, or subtract one from each.

    numbers: float32 [..., rows, columns]; values: as `fits` allows, float32
    block: rows and columns of a block; the last one of a row or column may be smaller
    """
    change = torch.Tensor.sub_ if subtract else torch.Tensor.mul_
    rows, columns = numbers.shape[-2:]
    # rows and columns that really share a value: all, one, or those of a block
    high, wide = (
        number if size == 1 else 1 if size == number else width
        for size, number, width in zip(values.shape[-2:], (rows, columns), block, strict=True)
    )
    if rows % high == 0 and columns % wide == 0:
        blocks = numbers.unflatten(-2, (-1, high)).unflatten(-1, (-1, wide))
        change(blocks, values[..., :, None, :, None])
        return
    spread = values.repeat_interleave(wide, -1)[..., :columns]
    for place, first in enumerate(range(0, rows, high)):
        change(numbers[..., first : first + high, :], spread[..., place : place + 1, :])
