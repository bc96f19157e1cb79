"""Weights of 8-bit floats with scales, and all that compressed-tensors packs.

8-bit floats have a scale for the tensor, a row, or a block of rows and columns. Blocks are those of
DeepSeek and Qwen 3 (`weight_scale_inv`, which numbers are multiplied by), rows those of FBGEMM
(`weight_scale`). Scales of activations do not change weights and are left alone.
https://github.com/deepseek-ai/DeepSeek-V3/blob/main/README_WEIGHTS.md

compressed-tensors: whole numbers or floats with scales, as they are or packed.

The shape of the scales says which numbers share one: all, a row, a group of a row, or a block;
config.json has to state the same sizes. https://github.com/vllm-project/compressed-tensors
"""

import re
from dataclasses import dataclass

import torch

from report.models.quantised.parts import (
    FLOATS,
    FP4,
    Format,
    Parts,
    Shape,
    change_by_blocks,
    fits,
    from_table,
    unpacked,
)
from report.text import quoted

FLOATS8 = (torch.float8_e4m3fn, torch.float8_e5m2)


@dataclass(frozen=True)
class Fp8(Format):
    """ending: of the scales; block: rows and columns that share one, as config.json says."""

    ending: str
    block: tuple[int, int] = (1, 1)

    suffix = ""

    @property
    def stem(self) -> re.Pattern[str]:
        """Of the scales: after the name of a matrix, or of a layer's experts in one tensor."""
        return re.compile(rf"(.*(?:\.weight|_proj)){self.ending}")

    @property
    def needed(self) -> tuple[str, ...]:
        """The numbers and their scales."""
        return ("", self.ending)

    def shape(self, parts: Parts) -> Shape:
        shape = parts.shape("")
        parts.require("", FLOATS8)
        parts.require(self.ending, FLOATS)
        sizes = parts.shape(self.ending)
        if not fits(_sizes(sizes, shape), shape, self.block):
            raise parts.refused(
                self.ending,
                f"has the shape {list(sizes)}, which is none for numbers of the shape "
                f"{list(shape)} in blocks of {list(self.block)}",
            )
        return shape

    def kind(self, parts: Parts) -> str:
        return "FP8"

    def numbers(self, parts: Parts) -> torch.Tensor:
        """Number times scale."""
        out = parts.read("").float()
        scales = parts.read(self.ending).float()
        change_by_blocks(out, scales.reshape(_sizes(scales.shape, out.shape)), self.block)
        return out


def _sizes(sizes, shape):
    """The sizes of scales with a size for each dimension: one for the tensor may have none, one a
    row only one."""
    if len(sizes) == 0 or tuple(sizes) == (1,):
        return (1,) * len(shape)
    return (*sizes, 1) if len(sizes) == 1 and len(shape) == 2 else tuple(sizes)


GROUP_OF_NVFP4 = 16


@dataclass(frozen=True)
class Settings:
    """What config.json says of all its groups of layers.

    bits: possible bits of a whole number, 4 or 8
    groups: possible numbers of columns that share a scale in a row
    blocks: possible (rows, columns) that share a scale
    zeros: whether every weight has zero points
    ordered: whether every weight says to which group each column belongs (g_idx)
    """

    bits: frozenset[int]
    groups: frozenset[int]
    blocks: frozenset[tuple[int, int]]
    zeros: bool
    ordered: bool

    def require(self, parts: Parts) -> None:
        """Stop for a missing part that config.json states, without which numbers would be wrong.

        raises: ReportError for zero points or a g_idx that is missing
        """
        for ending, stated in ((".weight_zero_point", self.zeros), (".weight_g_idx", self.ordered)):
            if stated and ending not in parts:
                raise parts.refused(".weight_scale", f"comes without {ending[1:]}")


@dataclass(frozen=True)
class Scaled(Format):
    """Numbers stored as they are, 8-bit floats or whole numbers, with scales."""

    settings: Settings

    stem = re.compile(r"(.*)\.weight_scale")
    needed = (".weight", ".weight_scale")
    optional = (".weight_zero_point", ".weight_g_idx")

    def shape(self, parts: Parts) -> Shape:
        shape = parts.require_matrix(".weight", [torch.int8, *FLOATS8])
        self.settings.require(parts)
        block = _block(parts, shape, self.settings)
        if ".weight_zero_point" in parts:
            kinds = [parts.dtype(".weight")]
            parts.require(".weight_zero_point", kinds, parts.shape(".weight_scale"))
        _require_columns(parts, shape, block)
        return shape

    def kind(self, parts: Parts) -> str:
        return "INT8" if parts.dtype(".weight") is torch.int8 else "FP8"

    def numbers(self, parts: Parts) -> torch.Tensor:
        """(number - zero point) times scale."""
        out = parts.read(".weight").float()
        zeros = parts.read(".weight_zero_point").float() if ".weight_zero_point" in parts else None
        return _scaled(parts, out, zeros, self.settings)


@dataclass(frozen=True)
class Packed(Format):
    """Whole numbers of 4 or 8 bits in 32-bit words, each stored plus half its range: 8 or 128."""

    settings: Settings

    stem = re.compile(r"(.*)\.weight_packed")
    needed = (".weight_packed", ".weight_scale", ".weight_shape")
    optional = (".weight_zero_point", ".weight_g_idx")

    def shape(self, parts: Parts) -> Shape:
        rows, words = parts.require_matrix(".weight_packed", [torch.int32])
        self.settings.require(parts)
        parts.require(".weight_shape", [torch.int32, torch.int64], (2,))
        shape = tuple(parts.read(".weight_shape").tolist())
        per_word = 32 // self._bits(parts, shape)
        if shape[0] != rows or not 0 <= words * per_word - shape[1] < per_word:
            raise parts.refused(
                ".weight_shape", f"says {list(shape)}, which is not what was packed"
            )
        _require_columns(parts, shape, _block(parts, shape, self.settings))
        if ".weight_zero_point" in parts:
            scales = parts.shape(".weight_scale")
            stored = parts.dtype(".weight_zero_point")
            packed = (-(-rows // per_word), *scales[1:])
            wanted = packed if stored is torch.int32 else scales
            parts.require(".weight_zero_point", [torch.int32, torch.int8], wanted)
        return shape

    def kind(self, parts: Parts) -> str:
        return f"INT{self._bits(parts, self.shape(parts))}"

    def numbers(self, parts: Parts) -> torch.Tensor:
        """(number - zero point) times scale."""
        shape = self.shape(parts)
        bits = self._bits(parts, shape)
        half = 1 << (bits - 1)
        out = unpacked(parts.read(".weight_packed"), bits)[:, : shape[1]].float().sub_(half)
        zeros = parts.read(".weight_zero_point") if ".weight_zero_point" in parts else None
        if zeros is not None and zeros.dtype is torch.int32:
            zeros = unpacked(zeros.T, bits)[:, : shape[0]].T.float() - half
        return _scaled(parts, out, zeros, self.settings)

    def _bits(self, parts, shape):
        """The bits of a number of this weight: those in config.json that fit its words.

        shape: of the weight
        raises: ReportError if none fits, or more than one
        """
        words = parts.shape(".weight_packed")[1]
        fitting = [bits for bits in self.settings.bits if -(-shape[1] // (32 // bits)) == words]
        if len(fitting) != 1:
            stated = ", ".join(map(str, sorted(self.settings.bits)))
            raise parts.refused(
                ".weight_shape",
                f"says {quoted(list(shape))}, which {words} words a row do not hold in one of the "
                f"numbers of bits that are stated ({stated})",
            )
        return fitting[0]


@dataclass(frozen=True)
class Nvfp4(Format):
    """Numbers of 4 bits in bytes, lower half first. Sixteen share an 8-bit float, which is divided
    by one number for the whole weight."""

    stem = re.compile(r"(.*)\.weight_packed")
    needed = (".weight_packed", ".weight_scale", ".weight_global_scale")

    def shape(self, parts: Parts) -> Shape:
        rows, width = parts.require_matrix(".weight_packed", [torch.uint8])
        columns = width * 2
        parts.require_groups(".weight_packed", columns, GROUP_OF_NVFP4)
        groups = (rows, columns // GROUP_OF_NVFP4)
        parts.require(".weight_scale", [torch.float8_e4m3fn], groups)
        parts.require(".weight_global_scale", [torch.float32], (1,))
        return rows, columns

    def kind(self, parts: Parts) -> str:
        return "NVFP4"

    def numbers(self, parts: Parts) -> torch.Tensor:
        """Number times (scale divided by the one for all)."""
        scales = parts.read(".weight_scale").float() / parts.read(".weight_global_scale")
        out = from_table(parts.read(".weight_packed"), torch.tensor(FP4), low_first=True)
        change_by_blocks(out, scales, (1, GROUP_OF_NVFP4))
        return out


def _block(parts, shape, settings):
    """The (rows, columns) of the weight that share a scale.

    shape: of the weight, (rows, columns)
    raises: ReportError where the scales fit none of the sizes that are stated
    """
    parts.require(".weight_scale", FLOATS)
    sizes = _two_sizes(parts.shape(".weight_scale"))
    blocks = [*settings.blocks, *((1, group) for group in settings.groups), (1, shape[1])]
    for block in blocks:
        divided = shape[0] % block[0] == 0 and shape[1] % block[1] == 0
        if divided and fits(sizes, shape, block) and sizes[1] != shape[1]:
            return block
    raise parts.refused(
        ".weight_scale",
        f"has the shape {list(sizes)}, which is none for numbers of the shape {list(shape)} with "
        "the groups or blocks that config.json states",
    )


def _two_sizes(sizes):
    """The shape of the scales with two dimensions; that of one scale for all may have fewer."""
    return (1, 1) if len(sizes) == 0 or tuple(sizes) == (1,) else tuple(sizes)


def _require_columns(parts, shape, block):
    """Stop for a g_idx of another length, or of scales of blocks: ReportError."""
    if ".weight_g_idx" in parts:
        parts.require(".weight_g_idx", [torch.int32, torch.int64], shape[1:])
        if block[0] != 1:
            raise parts.refused(".weight_g_idx", "orders groups, and there are none")


def _scaled(parts, out, zeros, settings):
    """(Number - zero point) times scale, float32 [rows, columns]; changes `out`.

    out: the numbers as stored, float32 [rows, columns]; zeros: in the shape of the scales, or None
    """
    scales = parts.read(".weight_scale").float()
    scales = scales.reshape(_two_sizes(scales.shape))
    zeros = None if zeros is None else zeros.float().reshape(scales.shape)
    block = _block(parts, out.shape, settings)
    order = _order(parts, scales.shape[1], block[1])
    if order is not None:
        out = out.index_select(1, order.argsort(stable=True))  # columns of a group side by side
    if zeros is not None:
        change_by_blocks(out, zeros, block, subtract=True)
    change_by_blocks(out, scales, block)
    return out if order is None else out.index_select(1, _back(order))


def _order(parts, number, width):
    """The group of each column, int64 [columns]; None where groups follow each other.

    number: of groups; width: columns of a group
    raises: ReportError for a group that is not there, or has another number of columns
    """
    if ".weight_g_idx" not in parts or number == 1:
        return None
    groups = parts.read(".weight_g_idx").long()
    if (groups == -1).all():  # it was never set
        return None
    in_range = groups.min() >= 0 and groups.max() < number
    if not in_range or not (groups.bincount(minlength=number) == width).all():
        raise parts.refused(
            ".weight_g_idx", f"does not give each of {number} groups {width} columns"
        )
    return groups


def _back(order):
    """The place of each column when columns are sorted by group, int64 [columns]."""
    return order.argsort(stable=True).argsort()
