"""MLX: whole numbers of a few bits by groups of a row, each with a scale and a bias.

Numbers follow each other in words from the lowest bit on. https://github.com/ml-explore/mlx (mode
"affine"); the settings of a single weight are in config.json under its name.
"""

import re
from dataclasses import dataclass, field

import torch

from report.models.quantised.bits import period, unpacked
from report.models.quantised.parts import FLOATS, Parts, Shape

BITS = (2, 3, 4, 5, 6, 8)

FAMILIES = (
    *("cohere", "cohere2", "gemma", "gemma2", "gemma3_text", "glm", "glm4", "granite", "helium"),
    *("llama", "mistral", "nemotron", "olmo2", "olmo3", "phi", "phi3", "qwen2", "qwen3"),
    *("seed_oss", "smollm3", "starcoder2"),
)
"""Families whose tensors MLX keeps as they are but for the packing. Of others it stores norms plus
one, matrices the other way round, or experts in one."""


@dataclass(frozen=True)
class Mlx:
    """group: numbers that share a scale, and bits of a number, for all weights but those in `own`.

    own: dict of a weight's name without its ending -> (group, bits)
    """

    group: int
    bits: int
    own: dict[str, tuple[int, int]] = field(default_factory=dict)

    stem = re.compile(r"(.*)\.scales")
    needed = (".weight", ".scales", ".biases")
    optional = ()
    made = ".weight"
    by_rows = True

    def shape(self, parts: Parts) -> Shape:
        """As `Format`."""
        rows, words = parts.require_matrix(".weight", [torch.uint32])
        group, bits = self._settings(parts)
        columns = words * 32 // bits
        if words * 32 % bits or columns % group or words % period(bits):
            raise parts.refused(
                ".weight",
                f"has {words} words a row, no whole groups of {group} numbers of {bits} bits",
            )
        for ending in (".scales", ".biases"):
            parts.require(ending, FLOATS, (rows, columns // group))
        return rows, columns

    def kind(self, parts: Parts) -> str:
        """As `Format`."""
        return f"INT{self._settings(parts)[1]}"

    def numbers(self, parts: Parts) -> torch.Tensor:
        """As `Format`: number times scale, plus bias."""
        group, bits = self._settings(parts)
        out = unpacked(parts.read(".weight"), bits).float().unflatten(-1, (-1, group))
        out.mul_(parts.read(".scales").float()[..., None])
        return out.add_(parts.read(".biases").float()[..., None]).flatten(-2)

    def _settings(self, parts):
        return self.own.get(parts.weight.removesuffix(".weight"), (self.group, self.bits))
