"""What config.json says of how a checkpoint's weights are packed, and which formats that means.

Every way to pack that is read is listed here; any other is refused by name.

AWQ: whole numbers of 4 bits, packed along the outputs in an order of their own.

A word holds eight outputs of one input; its lowest four bits are the first one, the next the third,
and so on: 0, 2, 4, 6, 1, 3, 5, 7. https://github.com/casper-hansen/AutoAWQ (version "gemm")

GPTQ: whole numbers of 2, 3, 4 or 8 bits, packed down the columns, with zero points and scales.

A group is some inputs that share a zero point and a scale for each output; g_idx says which group
an input is of. Zero points are stored as one less than they are (checkpoint_format "gptq"), or as
they are ("gptq_v2"). https://github.com/ModelCloud/GPTQModel

MXFP4, as the experts of gpt-oss have it: 32 numbers of 4 bits share a power of two.

A layer's experts are two tensors [experts, rows, groups, 16] of bytes, whose lower half comes
first, and their exponents plus 127 [experts, rows, groups]. The model holds them the other way
round, [experts, columns, rows], as transformers has them.
https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf

MLX: whole numbers of a few bits by groups of a row, each with a scale and a bias.

Numbers follow each other in words from the lowest bit on. https://github.com/ml-explore/mlx (mode
"affine"); the settings of a single weight are in config.json under its name.
"""

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from report.errors import ReportError
from report.models.quantised.bitsandbytes import Bits4, Bits8
from report.models.quantised.compressed import Fp8, Nvfp4, Packed, Scaled, Settings
from report.models.quantised.parts import (
    FLOATS,
    FP4,
    Format,
    Packing,
    Parts,
    Shape,
    change_by_blocks,
    from_table,
    is_size,
    period,
    unpacked,
)
from report.text import quoted

MLX_BITS = (2, 3, 4, 5, 6, 8)

FAMILIES = (
    *("cohere", "cohere2", "gemma", "gemma2", "gemma3_text", "glm", "glm4", "granite", "helium"),
    *("llama", "mistral", "nemotron", "olmo2", "olmo3", "phi", "phi3", "qwen2", "qwen3"),
    *("seed_oss", "smollm3", "starcoder2"),
)
"""Families whose tensors MLX keeps as they are but for the packing. Of others it stores norms plus
one, matrices the other way round, or experts in one."""


@dataclass(frozen=True)
class Mlx(Format):
    """group: numbers that share a scale, and bits of a number, for all weights but those in `own`.

    own: dict of a weight's name without its ending -> (group, bits)
    """

    group: int
    bits: int
    own: dict[str, tuple[int, int]] = field(default_factory=dict)

    stem = re.compile(r"(.*)\.scales")
    needed = (".weight", ".scales", ".biases")
    by_rows = True

    def shape(self, parts: Parts) -> Shape:
        rows, words = parts.require_matrix(".weight", [torch.uint32])
        group, bits = self._settings(parts)
        columns = words * 32 // bits
        if words * 32 % bits or words % period(bits):
            raise parts.refused(
                ".weight", f"has {words} words a row, no whole numbers of {bits} bits"
            )
        parts.require_groups(".weight", columns, group)
        for ending in (".scales", ".biases"):
            parts.require(ending, FLOATS, (rows, columns // group))
        return rows, columns

    def kind(self, parts: Parts) -> str:
        return f"INT{self._settings(parts)[1]}"

    def numbers(self, parts: Parts) -> torch.Tensor:
        """Number times scale, plus bias."""
        group, bits = self._settings(parts)
        out = unpacked(parts.read(".weight"), bits).float().unflatten(-1, (-1, group))
        out.mul_(parts.read(".scales").float()[..., None])
        return out.add_(parts.read(".biases").float()[..., None]).flatten(-2)

    def _settings(self, parts):
        return self.own.get(parts.weight.removesuffix(".weight"), (self.group, self.bits))


class Mxfp4(Format):
    """Blocks and scales."""

    stem = re.compile(r"(.*_proj)_blocks")
    needed = ("_blocks", "_scales")
    suffix = ""

    def shape(self, parts: Parts) -> Shape:
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
        return "MXFP4"

    def numbers(self, parts: Parts) -> torch.Tensor:
        """Expert by expert, so that little is in memory twice."""
        blocks, scales = parts.read("_blocks"), parts.read("_scales")
        table = torch.tensor(FP4)
        out = torch.empty(self.shape(parts))
        for expert in range(len(out)):
            numbers = from_table(blocks[expert], table, low_first=True)
            exponents = scales[expert].int() - 127
            out[expert] = torch.ldexp(numbers, exponents[..., None]).flatten(-2).T
        return out


BITS = (2, 3, 4, 8)


@dataclass(frozen=True)
class Gptq(Format):
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

    def shape(self, parts: Parts) -> Shape:
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
        return f"INT{self._bits(parts)}"

    def numbers(self, parts: Parts) -> torch.Tensor:
        """(number - zero point) times scale."""
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


PLACES = (0, 4, 1, 5, 2, 6, 3, 7)
"""For each of eight outputs, which four bits of the word it is."""


@dataclass(frozen=True)
class Awq(Format):
    """group: inputs that share a zero point and a scale for each output, -1 for all."""

    group: int

    stem = re.compile(r"(.*)\.qweight")
    needed = (".qweight", ".qzeros", ".scales")

    def shape(self, parts: Parts) -> Shape:
        inputs, words = parts.require_matrix(".qweight", [torch.int32])
        group = inputs if self.group == -1 else self.group
        parts.require_groups(".qweight", inputs, group)
        parts.require(".qzeros", [torch.int32], (inputs // group, words))
        parts.require(".scales", FLOATS, (inputs // group, words * 8))
        return words * 8, inputs

    def kind(self, parts: Parts) -> str:
        return "INT4"

    def numbers(self, parts: Parts) -> torch.Tensor:
        """(number - zero point) times scale."""
        out = _in_order(parts.read(".qweight"))
        zeros, scales = _in_order(parts.read(".qzeros")), parts.read(".scales").float()
        block = (len(out) // len(scales), 1)
        change_by_blocks(out, zeros, block, subtract=True)
        change_by_blocks(out, scales, block)
        return out.T.contiguous()


def _in_order(words):
    """Float32 [rows, outputs] of int32 [rows, words]."""
    return unpacked(words, 4).unflatten(-1, (-1, 8))[..., PLACES].flatten(-2).float()


def packing_in(folder: str | Path) -> Packing | None:
    """As `packing`, of a folder; None also where there is no config.json that can be read."""
    try:
        stated = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return packing(stated, Path(folder).name) if isinstance(stated, dict) else None


def packing(stated: dict[str, Any], name: str) -> Packing | None:
    """How a config says that weights are packed; None where it says nothing of it.

    stated: dict, the content of config.json; name: of the model, for messages
    raises: ReportError naming a way to pack, or a setting of one, that is not read
    """
    says = _Says(stated, name)
    if says.about is None:
        return None
    method = says.about.get("quant_method")
    if method is None and isinstance(stated.get("quantization"), dict):
        method = "mlx"
    known = METHODS.get(method) if isinstance(method, str) else None
    if known is None:
        raise says.refused("quant_method", " or ".join(METHODS))
    return Packing(method, known(says))


class _Says:
    """What config.json says of the packing, asked for key by key."""

    def __init__(self, stated: dict[str, Any], name: str):
        inner = stated.get("text_config")
        both = [stated, inner if isinstance(inner, dict) else {}]
        keys = ("quantization_config", "compression_config")
        values = [part[key] for part in both for key in keys if part.get(key)]
        mlx = stated.get("quantization")  # as MLX calls it
        values += [mlx] if isinstance(mlx, dict) and "group_size" in mlx else []
        self.name, self.family = name, stated.get("model_type")
        self.about = values[0] if values else None
        if values and not isinstance(values[0], dict):
            self.about = {"quant_method": values[0]}

    def refused(self, key: str, allowed: str, value: object = None) -> ReportError:
        value = self.about.get(key) if value is None else value
        what = f"does not say {key}" if value is None else f"says {key} {quoted(value)}"
        return ReportError(
            f"model '{self.name}' is quantised in a way that is not read: its config.json {what}, "
            f"read is {allowed}; use the checkpoint that it was made from"
        )

    def count(self, key: str, default: int | None = None, of: dict | None = None) -> int:
        """A whole number from 1, or -1 for all of a row."""
        value = (self.about if of is None else of).get(key, default)
        if type(value) is not int or not (0 < value < 2**31 or value == -1):
            raise self.refused(key, "a whole number", value)
        return value

    def one_of(self, key: str, allowed: Iterable, default: object = None) -> Any:
        """A value, one of those that are read."""
        value = self.about.get(key)
        value = default if value is None else value
        allowed = tuple(allowed)
        if not any(value == each and type(value) is type(each) for each in allowed):
            raise self.refused(key, " or ".join(map(str, allowed)), value)
        return value


def _fp8(says):
    block = says.about.get("weight_block_size")
    if block is None:
        block = (1, 1)
    elif not isinstance(block, list) or len(block) != 2 or not all(map(is_size, block)):
        raise says.refused("weight_block_size", "two whole numbers")
    return Fp8("_scale_inv", tuple(block)), Fp8("_scale", tuple(block))


def _mxfp4(_):
    return (Mxfp4(),)


def _bitsandbytes(says):
    if says.about.get("load_in_8bit"):
        return (Bits8(),)
    says.one_of("bnb_4bit_quant_type", ("nf4", "fp4"), "fp4")
    return Bits4("nf4"), Bits4("fp4")


def _gptq(says):
    bits = says.one_of("bits", BITS)
    key = "format" if says.about.get("checkpoint_format") is None else "checkpoint_format"
    form = says.one_of(key, ("gptq", "gptq_v2"), "gptq")
    for key in ("is_marlin_format", "rotation"):
        if says.about.get(key):
            raise says.refused(key, "none")
    says.one_of("pack_dtype", ("int32",), "int32")
    mixed = bool(says.about.get("dynamic"))
    group = says.count("group_size")
    ordered = bool(says.about.get("desc_act"))
    return (Gptq(bits, group, form == "gptq", mixed, ordered),)


def _awq(says):
    says.one_of("bits", (4,), 4)
    keys = ("version", "format", "checkpoint_format")
    version = next(filter(None, map(says.about.get, keys)), "gemm")
    if not isinstance(version, str) or version.lower() != "gemm":
        raise says.refused("version", "gemm", version)
    return (Awq(says.count("group_size", 128)),)


def _mlx(says):
    if says.family not in FAMILIES:
        raise says.refused("model_type", ", ".join(FAMILIES), says.family or "nothing")
    says.one_of("mode", ("affine",), "affine")
    bits = says.one_of("bits", MLX_BITS)
    group = says.count("group_size")
    of_weights = {}
    for key, value in says.about.items():
        if not isinstance(value, dict):
            continue
        inner = _Says({"quantization": says.about | value}, says.name)
        inner.one_of("mode", ("affine",), "affine")
        of_weights[key] = (_positive(inner, "group_size"), inner.one_of("bits", MLX_BITS))
    _positive(says, "group_size")
    return (Mlx(group, bits, of_weights),)


def _compressed_tensors(says):
    groups = says.about.get("config_groups")
    if not isinstance(groups, dict) or not all(
        isinstance(group, dict) for group in groups.values()
    ):
        raise says.refused("config_groups", "groups of layers", "no object")
    sparse = says.about.get("sparsity_config")
    sparse = sparse.get("format") if isinstance(sparse, dict) else sparse
    if sparse not in (None, "dense"):
        raise says.refused("sparsity_config", "dense", sparse)
    if says.about.get("transform_config") not in (None, {}, {"config_groups": {}}):
        raise says.refused("transform_config", "none", "a transform")
    says.one_of("format", (*COMPRESSED, "mixed-precision"))
    weights = []
    for group in groups.values():
        form = group.get("format") or "dense"
        if form not in (*COMPRESSED, "dense", "mixed-precision"):
            raise says.refused("format", " or ".join(COMPRESSED), form)
        if isinstance(group.get("weights"), dict):
            weights.append(group["weights"])
    if not weights:
        raise says.refused("config_groups", "groups with weights", "no weights")
    bits = [says.count("num_bits", of=group) for group in weights]
    settings = Settings(
        frozenset(number for number in bits if number in (4, 8)),
        frozenset(
            size
            for group in weights
            if group.get("group_size") is not None
            for size in [says.count("group_size", of=group)]
            if size > 0
        ),
        frozenset(
            tuple(block)
            for group in weights
            for block in [_block(group.get("block_structure"))]
            if isinstance(block, list) and len(block) == 2 and all(map(is_size, block))
        ),
        zeros=all(group.get("symmetric") is False for group in weights),
        ordered=all(group.get("actorder") in (True, "group", "dynamic") for group in weights),
    )
    least = min(zip(bits, weights, strict=True), key=lambda group: group[0])
    floats = least[1].get("type") == "float"
    return Nvfp4() if floats and least[0] == 4 else Packed(settings), Scaled(settings)


def _block(stated):
    """Older checkpoints state [128, 128] as "128x128"."""
    sizes = re.fullmatch(r"([0-9]{1,9})x([0-9]{1,9})", stated) if isinstance(stated, str) else None
    return stated if sizes is None else [int(sizes[1]), int(sizes[2])]


def _positive(says, key):
    size = says.count(key)
    if size < 1:
        raise says.refused(key, "a whole number from 1")
    return size


COMPRESSED = (
    "float-quantized",
    "int-quantized",
    "naive-quantized",
    "nvfp4-pack-quantized",
    "pack-quantized",
)
"""Formats of compressed-tensors that are read."""

METHODS: dict[str, Callable[[_Says], tuple[Format, ...]]] = {
    "fp8": _fp8,
    "fbgemm_fp8": _fp8,
    "compressed-tensors": _compressed_tensors,
    "mxfp4": _mxfp4,
    "bitsandbytes": _bitsandbytes,
    "gptq": _gptq,
    "awq": _awq,
    "mlx": _mlx,
}
"""What config.json calls a way to pack -> what reads its settings."""
