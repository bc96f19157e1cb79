"""Weights of 8-bit floats with scales: one for the tensor, a row, or a block of rows and columns.

Blocks are those of DeepSeek and Qwen 3 (`weight_scale_inv`, which numbers are multiplied by), rows
those of FBGEMM (`weight_scale`). Scales of activations do not change weights and are left alone.
https://github.com/deepseek-ai/DeepSeek-V3/blob/main/README_WEIGHTS.md
"""

import re
from dataclasses import dataclass

import torch

from report.models.quantised.bits import change_by_blocks, fits
from report.models.quantised.parts import FLOATS, Parts, Shape

FLOATS8 = (torch.float8_e4m3fn, torch.float8_e5m2)


@dataclass(frozen=True)
class Fp8:
    """ending: of the scales; block: rows and columns that share one, as config.json says."""

    ending: str
    block: tuple[int, int] = (1, 1)

    optional = ()
    made = ""
    by_rows = False

    @property
    def stem(self) -> re.Pattern[str]:
        """Of the scales: after the name of a matrix, or of a layer's experts in one tensor."""
        return re.compile(rf"(.*(?:\.weight|_proj)){self.ending}")

    @property
    def needed(self) -> tuple[str, ...]:
        """The numbers and their scales."""
        return ("", self.ending)

    def shape(self, parts: Parts) -> Shape:
        """As `Format`."""
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
        """As `Format`."""
        return "FP8"

    def numbers(self, parts: Parts) -> torch.Tensor:
        """As `Format`: number times scale."""
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
