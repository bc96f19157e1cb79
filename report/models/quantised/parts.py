"""The stored tensors that make one weight, and what each format has to say about them.

A weight `q_proj.weight` may be stored as `q_proj.weight_packed`, `q_proj.weight_scale` and others.
What these names have in common is the stem (`q_proj`); what follows it is the part's ending.
Nothing that is stored is believed: a format states what it needs before it reads what is large.
Whether a single weight is packed, its parts tell: so what is left out of the packing (`ignore` in
config.json) needs no list.

And what formats have in common: numbers of a few bits, and one scale for many numbers.
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
"""What scales are stored as."""

Shape = tuple[int, ...]


class Entry(Protocol):
    """What is known of a stored tensor before it is read."""

    dtype: torch.dtype
    shape: Shape
    bytes: int


@dataclass(frozen=True)
class Parts:
    """The stored tensors that make one weight.

    weight: what the model calls it; names: dict of ending -> name of the stored tensor
    entry: function of a name -> `Entry`; read_tensor: function of a name and of the rows wanted
        (None for all) -> tensor as stored
    rows: of the weight, where only these are wanted
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
        """The whole shape of a part, also where only some rows are wanted."""
        return tuple(self.entry(self.names[ending]).shape)

    def read(self, ending: str) -> torch.Tensor:
        """A part as stored, its wanted rows only."""
        return self.read_tensor(self.names[ending], self.rows)

    def of_rows(self, rows: Sequence[int]) -> "Parts":
        """The same parts, of which only these rows are read."""
        return replace(self, rows=tuple(rows))

    def require(self, ending: str, dtypes: Sequence[torch.dtype], shape: Shape | None = None):
        """Stop for a part of another dtype, or of another shape.

        raises: ReportError naming the tensor, and what it should be
        """
        if self.dtype(ending) not in dtypes:
            allowed = " or ".join(map(_word, dtypes))
            raise self.refused(ending, f"is {_word(self.dtype(ending))}, and should be {allowed}")
        if shape is not None and self.shape(ending) != tuple(shape):
            is_now, wanted = list(self.shape(ending)), list(shape)
            raise self.refused(ending, f"has the shape {is_now}, and should have {wanted}")

    def require_matrix(self, ending: str, dtypes: Sequence[torch.dtype]) -> Shape:
        """The shape of a part that has to be a matrix with something in it."""
        self.require(ending, dtypes)
        shape = self.shape(ending)
        if len(shape) != 2 or min(shape) < 1:
            raise self.refused(ending, f"has the shape {list(shape)}, and should be a matrix")
        return shape

    def require_groups(self, ending: str, numbers: int, group: int) -> None:
        """Stop where the numbers of a row, or of a column, of a part make no whole groups."""
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

    stem: pattern of the name of the part by which the format is told, its first group the stem
    needed, optional: endings of the parts; made: what follows the stem in the weight's name
    by_rows: whether a row of the weight is made of the same row of every part
    """

    stem: re.Pattern[str]
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()
    made: str = ".weight"
    by_rows: bool = False

    def shape(self, parts: Parts) -> Shape:
        """The shape of the weight; ReportError for parts that do not fit together."""

    def kind(self, parts: Parts) -> str:
        """What its numbers are, such as "INT4"; asked for after the shape."""

    def numbers(self, parts: Parts) -> torch.Tensor:
        """The numbers of the weight, float32, computed in float32; parts were asked for their
        shape before."""


WITHOUT_EFFECT = re.compile(
    r".*[._](input|output|activation|q|k|v|prob)_(scale(_inv|_ub)?|zero_point|global_scale)"
)
"""Tensors of the scales of activations and caches, which change no weight."""

LEFT_OVER = re.compile(
    r".*(\.(qweight|qzeros|scales|g_idx|SCB|weight_(packed|scale\w*|shape|zero_point|g_idx)"
    r"|weight_global_scale|weight_format|(nested_)?(absmax|quant_map)"
    r"|quant_state\.bitsandbytes__\w+|biases)|_(blocks|scales))"
)
"""What names parts of packed weights in any format."""

UNMISTAKABLE = re.compile(
    r".*\.(qweight|qzeros|SCB|weight_(packed|scale|scale_inv)|absmax"
    r"|quant_state\.bitsandbytes__\w+)"
)
"""The same, of names that nothing else has."""


@dataclass(frozen=True)
class Packing:
    """How a checkpoint's weights are packed.

    label: what config.json calls it, such as "fp8" or "gptq"
    formats: of its weights, the first that fits a name first
    """

    label: str
    formats: tuple[Format, ...]

    def weights(self, names: Iterable[str]) -> dict[str, tuple[Format | None, dict[str, str]]]:
        """The weights that stored tensors make.

        names: of all stored tensors
        returns: dict of the weight's name -> (its format, dict of ending -> stored name); of a
            tensor that is stored as it is, (None, {"": name})
        raises: ReportError naming a part that is missing, or that belongs to no weight
        """
        there = {name for name in names if not WITHOUT_EFFECT.fullmatch(name)}
        made, used = {}, set()
        for form in self.formats:
            for name in sorted(there - used):
                match = form.stem.fullmatch(name)
                if match is None:
                    continue
                weight, parts = match[1] + form.made, self._parts(form, match[1], there)
                if weight in made or (weight in there and weight not in parts.values()):
                    raise ReportError(
                        f"the weights hold {quoted(weight)} twice, the second time packed "
                        f"({quoted(name)}); download or copy the checkpoint again"
                    )
                made[weight] = (form, parts)
                used.update(parts.values())
        plain = sorted(there - used)
        left = next(filter(LEFT_OVER.fullmatch, plain), None)
        if left is not None:
            raise ReportError(
                f"the weights hold {quoted(left)}, which belongs to no weight that is packed as "
                "config.json says; use the checkpoint that this one was made from"
            )
        return made | {name: (None, {"": name}) for name in plain}

    def _parts(self, form, stem, there):
        lacking = [stem + ending for ending in form.needed if stem + ending not in there]
        if lacking:
            raise ReportError(
                f"the weights lack the tensor {quoted(lacking[0])}, without which "
                f"{quoted(stem + form.made)} cannot be unpacked; download or copy the checkpoint "
                "again"
            )
        endings = (*form.needed, *form.optional)
        return {ending: stem + ending for ending in endings if stem + ending in there}


def _word(dtype):
    return str(dtype).removeprefix("torch.")


FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
"""The numbers of four bits with two bits of exponent and one of mantissa (E2M1).
https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf"""


def is_size(value: object) -> bool:
    """Whether a value of config.json can be a number of rows or columns."""
    return type(value) is int and 0 < value < 2**31


def period(bits: int) -> int:
    """32-bit words after which a number begins at the first bit of a word again: 3 for 3 bits."""
    return math.lcm(bits, 32) // 32


def unpacked(words: torch.Tensor, bits: int) -> torch.Tensor:
    """Whole numbers of a few bits that follow each other in words, from the lowest bit on.

    words: int32 or uint32 [..., W], where W is a multiple of `period(bits)`
    bits: of a number, 1 to 8
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
    """The numbers that half bytes stand for.

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
        apart = numbers.unflatten(-2, (-1, high)).unflatten(-1, (-1, wide))
        change(apart, values[..., :, None, :, None])
        return
    spread = values.repeat_interleave(wide, -1)[..., :columns]
    for place, first in enumerate(range(0, rows, high)):
        change(numbers[..., first : first + high, :], spread[..., place : place + 1, :])
