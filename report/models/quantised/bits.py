"""What packed formats have in common: numbers of a few bits, and one scale for many numbers."""

import math

import torch

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
