"""GPTQ: whole numbers of 2, 3, 4 or 8 bits, packed down the columns, with zero points and scales.

A group is some inputs that share a zero point and a scale for each output; g_idx says which group
an input is of. Zero points are stored as one less than they are (checkpoint_format "gptq"), or as
they are ("gptq_v2"). https://github.com/ModelCloud/GPTQModel
"""

import math
import re
from dataclasses import dataclass

import torch

from report.models.quantised.bits import period, unpacked
from report.models.quantised.parts import FLOATS, Parts, Shape

BITS = (2, 3, 4, 8)


@dataclass(frozen=True)
class Gptq:
    """bits: of a number; group: inputs that share a scale, -1 for all; less_one: whether zeros
    are stored as one less; mixed: whether config.json gives some layers other bits
    ordered: whether inputs are in groups of any order
    """

    bits: int
    group: int
    less_one: bool = True
    mixed: bool = False
    ordered: bool = False

    stem = re.compile(r"(.*)\.qweight")
    needed = (".qweight", ".qzeros", ".scales")
    optional = (".g_idx",)
    made = ".weight"
    by_rows = False

    def shape(self, parts: Parts) -> Shape:
        """As `Format`."""
        words, outputs = parts.require_matrix(".qweight", [torch.int32])
        groups, _ = parts.require_matrix(".scales", FLOATS)
        bits = self._bits(parts)
        inputs = words * 32 // bits
        parts.require(".scales", FLOATS, (groups, outputs))
        parts.require(".qzeros", [torch.int32], (groups, -(-outputs * bits // 32)))
        if words * 32 % bits or words % period(bits) or outputs * bits % (32 * period(bits)):
            raise parts.refused(
                ".qweight", f"has the shape {[words, outputs]}, no whole numbers of {bits} bits"
            )
        if ".g_idx" in parts:
            parts.require(".g_idx", [torch.int32], (inputs,))
        elif self.ordered:
            raise parts.refused(".qweight", "comes without g_idx, which says its order")
        elif inputs != groups * (inputs if self.group == -1 else self.group):
            raise parts.refused(
                ".scales", f"has {groups} groups, which do not divide {inputs} inputs as stated"
            )
        return outputs, inputs

    def kind(self, parts: Parts) -> str:
        """As `Format`."""
        return f"INT{self._bits(parts)}"

    def numbers(self, parts: Parts) -> torch.Tensor:
        """As `Format`: (number - zero point) times scale."""
        bits, scales = self._bits(parts), parts.read(".scales").float()
        groups = self._groups(parts, len(scales), self.shape(parts)[1])
        zeros = unpacked(parts.read(".qzeros"), bits)
        if self.less_one:
            zeros = (zeros + 1) & ((1 << bits) - 1)
        out = unpacked(parts.read(".qweight").T, bits).float()
        out.sub_(zeros.T.float()[:, groups])
        return out.mul_(scales.T[:, groups])

    def _bits(self, parts):
        """Of this weight: as many as the words have for each input."""
        if ".g_idx" not in parts or not self.mixed:
            return self.bits
        words, inputs = parts.shape(".qweight")[0], math.prod(parts.shape(".g_idx"))
        bits = words * 32 // max(1, inputs)
        if bits not in BITS or bits * inputs != words * 32:
            raise parts.refused(".g_idx", f"has {inputs} inputs, which {words} words do not pack")
        return bits

    def _groups(self, parts, number, inputs):
        """The group of each input, int64 [inputs]."""
        if ".g_idx" not in parts:
            return torch.arange(inputs) // (inputs // number)
        groups = parts.read(".g_idx").long()
        if groups.min() < 0 or groups.max() >= number:
            raise parts.refused(
                ".g_idx",
                f"names the groups {groups.min()} to {groups.max()}, there are 0 to {number - 1}",
            )
        return groups
