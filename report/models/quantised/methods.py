"""What config.json says of how a checkpoint's weights are packed, and which formats that means.

Every way to pack that is read is listed here; any other is refused by name.
"""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from report.errors import ReportError
from report.models.quantised import mlx
from report.models.quantised.awq import Awq
from report.models.quantised.bits import is_size
from report.models.quantised.bitsandbytes import Bits4, Bits8
from report.models.quantised.compressed import Nvfp4, Packed, Scaled, Settings
from report.models.quantised.fp8 import Fp8
from report.models.quantised.gptq import BITS, Gptq
from report.models.quantised.mxfp4 import Mxfp4
from report.models.quantised.packing import Packing
from report.models.quantised.parts import Format
from report.text import quoted


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
        said = [part[key] for part in both for key in keys if part.get(key)]
        own = stated.get("quantization")  # as MLX calls it
        said += [own] if isinstance(own, dict) and "group_size" in own else []
        self.name, self.family = name, stated.get("model_type")
        self.about = said[0] if said else None
        if said and not isinstance(said[0], dict):
            self.about = {"quant_method": said[0]}

    def refused(self, key: str, allowed: str, value: object = None) -> ReportError:
        value = self.about.get(key) if value is None else value
        said = f"does not say {key}" if value is None else f"says {key} {quoted(value)}"
        return ReportError(
            f"model '{self.name}' is quantised in a way that is not read: its config.json {said}, "
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
        if not any(value == one and type(value) is type(one) for one in allowed):
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
    said = next(filter(None, map(says.about.get, keys)), "gemm")
    if not isinstance(said, str) or said.lower() != "gemm":
        raise says.refused("version", "gemm", said)
    return (Awq(says.count("group_size", 128)),)


def _mlx(says):
    if says.family not in mlx.FAMILIES:
        raise says.refused("model_type", ", ".join(mlx.FAMILIES), says.family or "nothing")
    says.one_of("mode", ("affine",), "affine")
    bits = says.one_of("bits", mlx.BITS)
    group = says.count("group_size")
    own = {}
    for key, value in says.about.items():
        if not isinstance(value, dict):
            continue
        inner = _Says({"quantization": says.about | value}, says.name)
        inner.one_of("mode", ("affine",), "affine")
        own[key] = (_positive(inner, "group_size"), inner.one_of("bits", mlx.BITS))
    _positive(says, "group_size")
    return (mlx.Mlx(group, bits, own),)


def _compressed_tensors(says):
    groups = says.about.get("config_groups")
    if not isinstance(groups, dict) or not all(isinstance(one, dict) for one in groups.values()):
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
    bits = [says.count("num_bits", of=one) for one in weights]
    settings = Settings(
        frozenset(number for number in bits if number in (4, 8)),
        frozenset(
            size
            for one in weights
            if one.get("group_size") is not None
            for size in [says.count("group_size", of=one)]
            if size > 0
        ),
        frozenset(
            tuple(block)
            for one in weights
            for block in [_block(one.get("block_structure"))]
            if isinstance(block, list) and len(block) == 2 and all(map(is_size, block))
        ),
        zeros=all(one.get("symmetric") is False for one in weights),
        ordered=all(one.get("actorder") in (True, "group", "dynamic") for one in weights),
    )
    least = min(zip(bits, weights, strict=True), key=lambda one: one[0])
    floats = least[1].get("type") == "float"
    return Nvfp4() if floats and least[0] == 4 else Packed(settings), Scaled(settings)


def _block(stated):
    """Older checkpoints state [128, 128] as "128x128"."""
    written = (
        re.fullmatch(r"([0-9]{1,9})x([0-9]{1,9})", stated) if isinstance(stated, str) else None
    )
    return stated if written is None else [int(written[1]), int(written[2])]


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
