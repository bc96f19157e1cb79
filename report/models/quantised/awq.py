"""AWQ: whole numbers of 4 bits, packed along the outputs in an order of their own.

A word holds eight outputs of one input; its lowest four bits are the first one, the next the third,
and so on: 0, 2, 4, 6, 1, 3, 5, 7. https://github.com/casper-hansen/AutoAWQ (version "gemm")
"""

import re
from dataclasses import dataclass

import torch

from report.models.quantised.bits import change_by_blocks, unpacked
from report.models.quantised.parts import FLOATS, Parts, Shape

PLACES = (0, 4, 1, 5, 2, 6, 3, 7)
"""For each of eight outputs, which four bits of the word it is."""


@dataclass(frozen=True)
class Awq:
    """group: inputs that share a zero point and a scale for each output, -1 for all."""

    group: int

    stem = re.compile(r"(.*)\.qweight")
    needed = (".qweight", ".qzeros", ".scales")
    optional = ()
    made = ".weight"
    by_rows = False

    def shape(self, parts: Parts) -> Shape:
        """As `Format`."""
        inputs, words = parts.require_matrix(".qweight", [torch.int32])
        group = inputs if self.group == -1 else self.group
        if inputs % group:
            raise parts.refused(
                ".qweight", f"has {inputs} inputs, which groups of {group} do not divide"
            )
        parts.require(".qzeros", [torch.int32], (inputs // group, words))
        parts.require(".scales", FLOATS, (inputs // group, words * 8))
        return words * 8, inputs

    def kind(self, parts: Parts) -> str:
        """As `Format`."""
        return "INT4"

    def numbers(self, parts: Parts) -> torch.Tensor:
        """As `Format`: (number - zero point) times scale."""
        out = _in_order(parts.read(".qweight"))
        zeros, scales = _in_order(parts.read(".qzeros")), parts.read(".scales").float()
        block = (len(out) // len(scales), 1)
        change_by_blocks(out, zeros, block, subtract=True)
        change_by_blocks(out, scales, block)
        return out.T.contiguous()


def _in_order(words):
    """Float32 [rows, outputs] of int32 [rows, words]."""
    return unpacked(words, 4).unflatten(-1, (-1, 8))[..., PLACES].flatten(-2).float()
