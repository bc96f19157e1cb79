"""MXFP4, as the experts of gpt-oss have it: 32 numbers of 4 bits share a power of two.

A layer's experts are two tensors [experts, rows, groups, 16] of bytes, whose lower half comes
first, and their exponents plus 127 [experts, rows, groups]. The model holds them the other way
round, [experts, columns, rows], as transformers has them.
https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf
"""

import re

import torch

from report.models.quantised.bits import FP4, from_table
from report.models.quantised.parts import Parts, Shape


class Mxfp4:
    """Blocks and scales."""

    stem = re.compile(r"(.*_proj)_blocks")
    needed = ("_blocks", "_scales")
    optional = ()
    made = ""
    by_rows = False

    def shape(self, parts: Parts) -> Shape:
        """As `Format`."""
        blocks = parts.shape("_blocks")
        parts.require("_blocks", [torch.uint8])
        if len(blocks) != 4 or blocks[-1] != 16 or min(blocks) < 1:
            raise parts.refused(
                "_blocks",
                f"has the shape {list(blocks)}, and should have [experts, rows, groups, 16]",
            )
        parts.require("_scales", [torch.uint8], blocks[:-1])
        experts, rows, groups, _ = blocks
        return (experts, groups * 32, rows)

    def kind(self, parts: Parts) -> str:
        """As `Format`."""
        return "MXFP4"

    def numbers(self, parts: Parts) -> torch.Tensor:
        """As `Format`; expert by expert, so that little is in memory twice."""
        blocks, scales = parts.read("_blocks"), parts.read("_scales")
        table = torch.tensor(FP4)
        out = torch.empty(self.shape(parts))
        for expert in range(len(out)):
            numbers = from_table(blocks[expert], table, low_first=True)
            exponents = scales[expert].int() - 127
            out[expert] = torch.ldexp(numbers, exponents[..., None]).flatten(-2).T
        return out
