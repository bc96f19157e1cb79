"""Packs tiny models as the makers of each format publish it, and says what numbers come out of it.

Written number by number from the published definitions, and not by way of what is tested. Numbers
are computed in float32, one operation after the other.
"""

import json
import math
import re
import shutil

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from tests.models.checkpoints import change_config

F32 = np.float32
E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
FP4_TABLE = [*E2M1, *(-number for number in E2M1)]
NF4_TABLE = [-1.0, -0.6961928, -0.52507305, -0.3949175, -0.28444138, -0.18477343, -0.091050036, 0.0]
NF4_TABLE += [0.0795803, 0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1.0]
BNB_FP4 = [0.0, 0.0052083333, 2 / 3, 1.0, 1 / 3, 0.5, 1 / 6, 0.25]
BNB_FP4 += [-number for number in BNB_FP4]
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def float8(dtype):
    """The 256 numbers of an 8-bit float of torch, float32; what is none is NaN."""
    numbers = torch.arange(256, dtype=torch.uint8).view(dtype).float().numpy()
    return np.where(np.isfinite(numbers), numbers, np.float32(np.nan))


EIGHT = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
E4M3 = float8(EIGHT["e4m3"])


def nearest(values, table):
    """The code of the number of a table that is nearest to each value."""
    distance = np.abs(values.reshape(-1, 1) - np.asarray(table, F32))
    return np.nanargmin(distance, -1).astype(np.uint8).reshape(values.shape)


def as_float8(codes, kind):
    return torch.from_numpy(codes).view(EIGHT[kind])


def in_words(rows, bits):
    """Rows of whole numbers, one after the other from the lowest bit on, as int32 [rows, words]."""
    words = []
    for row in rows:
        stream = sum(int(number) << place * bits for place, number in enumerate(row))
        count = -(-len(row) * bits // 32)
        words.append(np.frombuffer(stream.to_bytes(count * 4, "little"), "<i4"))
    return np.stack(words)


def tensor(values):
    return torch.from_numpy(np.ascontiguousarray(values))


def codes_by_group(weight, group, bits):
    """(codes, scales, zero points) of rows in groups, as float16 has the scales."""
    high = (1 << bits) - 1
    apart = weight.reshape(len(weight), -1, group)
    low, top = apart.min(-1), apart.max(-1)
    scales = np.maximum((top - low) / high, 1e-4).astype(np.float16)
    zeros = np.clip(np.round(-low / scales), 1, high).astype(int)
    codes = np.round(apart / scales[..., None].astype(F32)) + zeros[..., None]
    return np.clip(codes, 0, high).astype(int).reshape(weight.shape), scales, zeros


def fp8(kind="e4m3", block=None, ending="_scale_inv", scale_type=torch.float32):
    """block: (rows, columns); "row"; or None for one scale."""

    def pack(weight, _):
        rows, columns = weight.shape
        high, wide = {None: (rows, columns), "row": (1, columns)}.get(block, block)
        shape = (-(-rows // high), -(-columns // wide))
        scales = np.zeros(shape, F32)
        codes, numbers = np.zeros(weight.shape, np.uint8), np.zeros(weight.shape, F32)
        table = float8(EIGHT[kind])
        for i in range(shape[0]):
            for j in range(shape[1]):
                part = np.s_[i * high : (i + 1) * high, j * wide : (j + 1) * wide]
                scale = np.abs(weight[part]).max() / np.nanmax(table)
                scales[i, j] = torch.tensor(scale).to(scale_type).float().item()
                codes[part] = nearest(weight[part] / scales[i, j], table)
                numbers[part] = table[codes[part]] * scales[i, j]
        stored = tensor(scales[0, 0] if block is None else scales).to(scale_type)
        return {".weight": as_float8(codes, kind), f".weight{ending}": stored}, numbers

    return pack


def int8_channel(zero_points):
    def pack(weight, _):
        scales = (np.abs(weight).max(1, keepdims=True) / 127).astype(F32)
        zeros = np.full(scales.shape, 3 if zero_points else 0, np.int8)
        codes = np.clip(np.round(weight / scales) + zeros, -128, 127).astype(np.int8)
        parts = {".weight": tensor(codes), ".weight_scale": tensor(scales)}
        if zero_points:
            parts[".weight_zero_point"] = tensor(zeros)
        return parts, (codes.astype(F32) - zeros.astype(F32)) * scales

    return pack


def packed_int(bits, group=None, zero_points=False, ordered=False):
    """compressed-tensors: group None is a scale a row; ordered: columns in groups at random."""

    def pack(weight, rng):
        rows, columns = weight.shape
        size = group or columns
        of = np.arange(columns) // size
        if ordered:
            of = rng.permutation(of)
        half, number = 1 << bits - 1, columns // size
        scales = np.zeros((rows, number), F32)
        zeros = rng.integers(-2, 3, (rows, number)) if zero_points else np.zeros((rows, number))
        zeros = zeros.astype(int)
        codes, numbers = np.zeros(weight.shape, int), np.zeros(weight.shape, F32)
        for g in range(number):
            values = weight[:, of == g]
            scales[:, g] = tensor(np.abs(values).max(1) / (half - 1)).bfloat16().float().numpy()
            scale, zero = scales[:, [g]], zeros[:, [g]]
            codes[:, of == g] = np.clip(np.round(values / scale) + zero, -half, half - 1)
            numbers[:, of == g] = (codes[:, of == g] - zero).astype(F32) * scale
        parts = {
            ".weight_packed": tensor(in_words(codes + half, bits)),
            ".weight_scale": tensor(scales).bfloat16(),
            ".weight_shape": torch.tensor([rows, columns]),
        }
        if zero_points:
            parts[".weight_zero_point"] = tensor(in_words((zeros + half).T, bits).T)
        if ordered:
            parts[".weight_g_idx"] = tensor(of.astype(np.int32))
        return parts, numbers

    return pack


def nvfp4(weight, _):
    apart = weight.reshape(len(weight), -1, 16)
    whole = F32(448 * 6 / np.abs(weight).max())
    scales = nearest(np.abs(apart).max(-1) / 6 * whole, np.where(E4M3 > 0, E4M3, np.nan))
    scale = E4M3[scales] / whole
    codes = nearest(apart / scale[..., None], FP4_TABLE)
    numbers = np.asarray(FP4_TABLE, F32)[codes] * scale[..., None]
    flat = codes.reshape(weight.shape)
    return {
        ".weight_packed": tensor(flat[:, ::2] | flat[:, 1::2] << 4),
        ".weight_scale": as_float8(scales, "e4m3"),
        ".weight_global_scale": tensor(np.array([whole])),
    }, numbers.reshape(weight.shape)


def mxfp4(experts, _):
    """experts: as the model has them, [experts, columns, rows]."""
    apart = experts.transpose(0, 2, 1)
    apart = apart.reshape(*apart.shape[:2], -1, 32)
    exponents = np.floor(np.log2(np.abs(apart).max(-1))).astype(int) - 2
    scale = np.exp2(exponents).astype(F32)[..., None]
    codes = nearest(apart / scale, FP4_TABLE)
    numbers = np.asarray(FP4_TABLE, F32)[codes] * scale
    rows = numbers.reshape(*numbers.shape[:2], -1)
    return {
        "_blocks": tensor(codes[..., ::2] | codes[..., 1::2] << 4),
        "_scales": tensor((exponents + 127).astype(np.uint8)),
    }, np.ascontiguousarray(rows.transpose(0, 2, 1))


def bits8(weight, _):
    largest = np.abs(weight).max(1).astype(F32)
    codes = np.round(weight * (127 / largest[:, None])).astype(np.int8)
    parts = {
        ".weight": tensor(codes),
        ".SCB": tensor(largest),
        ".weight_format": torch.tensor(0, dtype=torch.uint8),
    }
    return parts, codes.astype(F32) * largest[:, None] * F32(1 / 127)


def bits4(kind, blocksize=64, nested=False):
    table = np.asarray(NF4_TABLE if kind == "nf4" else BNB_FP4, F32)

    def pack(weight, _):
        flat = weight.reshape(-1)
        blocks = [flat[place : place + blocksize] for place in range(0, len(flat), blocksize)]
        absmax = np.array([np.abs(block).max() for block in blocks], F32)
        state = {"quant_type": kind, "blocksize": blocksize, "dtype": "bfloat16"}
        state["shape"] = list(weight.shape)
        parts = {".weight.absmax": tensor(absmax)}
        if nested:
            inner = np.linspace(-1, 1, 256, dtype=F32)
            offset = float(absmax.mean())
            outer = [
                np.abs(absmax[i : i + 7] - F32(offset)).max() for i in range(0, len(absmax), 7)
            ]
            outer = np.array(outer, F32)
            scale = outer[np.arange(len(absmax)) // 7]
            bytes_ = nearest((absmax - F32(offset)) / scale, inner)
            absmax = inner[bytes_] * scale + F32(offset)
            state |= {"nested_blocksize": 7, "nested_dtype": "float32", "nested_offset": offset}
            parts = {
                ".weight.absmax": tensor(bytes_),
                ".weight.nested_absmax": tensor(outer),
                ".weight.nested_quant_map": tensor(inner.copy()),
            }
        scale = absmax[np.arange(len(flat)) // blocksize]
        codes = nearest(flat / scale, table)
        pairs = np.append(codes, [0] * (len(codes) % 2)).astype(np.uint8)
        text = np.frombuffer(json.dumps(state).encode(), np.uint8)
        parts |= {
            ".weight": tensor(pairs[::2] << 4 | pairs[1::2])[:, None],
            ".weight.quant_map": tensor(table.copy()),
            f".weight.quant_state.bitsandbytes__{kind}": tensor(text.copy()),
        }
        return parts, (table[codes] * scale).reshape(weight.shape)

    return pack


def gptq(bits, group=32, less_one=True, ordered=False):
    def pack(weight, rng):
        columns = weight.shape[1]
        size = columns if group == -1 else group
        of = np.arange(columns) // size
        order = rng.permutation(columns) if ordered else np.arange(columns)
        codes, scales, zeros = codes_by_group(weight[:, order], size, bits)
        back, scale = np.argsort(order), scales.astype(F32)
        numbers = (codes - zeros[:, of]).astype(F32) * scale[:, of]
        parts = {
            ".qweight": tensor(in_words(codes[:, back], bits).T),
            ".qzeros": tensor(in_words(zeros.T - less_one, bits)),
            ".scales": tensor(scales.T),
            ".g_idx": tensor(of[back].astype(np.int32)),
        }
        return parts, numbers[:, back]

    return pack


def awq(weight, _):
    codes, scales, zeros = codes_by_group(weight, 32, 4)
    numbers = (codes - zeros.repeat(32, 1)).astype(F32) * scales.astype(F32).repeat(32, 1)

    def words(rows):
        out = np.zeros((rows.shape[0], rows.shape[1] // 8), np.uint32)
        for word in range(out.shape[1]):
            for place, output in enumerate(AWQ_ORDER):
                out[:, word] |= rows[:, word * 8 + output].astype(np.uint32) << np.uint32(4 * place)
        return tensor(out.view(np.int32))

    parts = {".qweight": words(codes.T), ".qzeros": words(zeros.T), ".scales": tensor(scales.T)}
    return parts, numbers


def mlx(bits, group=32):
    def pack(weight, _):
        apart = weight.reshape(len(weight), -1, group)
        biases = tensor(apart.min(-1)).bfloat16()
        scales = tensor((apart.max(-1) - apart.min(-1)) / ((1 << bits) - 1)).bfloat16()
        scale, bias = (part.float().numpy()[..., None] for part in (scales, biases))
        codes = np.clip(np.round((apart - bias) / scale), 0, (1 << bits) - 1).astype(int)
        words = in_words(codes.reshape(weight.shape), bits).view(np.uint32)
        parts = {".weight": tensor(words), ".scales": scales, ".biases": biases}
        return parts, (codes.astype(F32) * scale + bias).reshape(weight.shape)

    return pack


def compressed(form, **weights):
    """The config of compressed-tensors for one group of layers."""
    group = {"targets": ["Linear"], "weights": weights, "input_activations": None}
    return {
        "quant_method": "compressed-tensors",
        "format": form,
        "config_groups": {"group_0": group},
        "ignore": ["lm_head"],
        "kv_cache_scheme": None,
        "quantization_status": "compressed",
    }


INT4 = {"num_bits": 4, "type": "int", "symmetric": False, "strategy": "group", "group_size": 32}
BY_ROW = {"num_bits": 8, "type": "int", "strategy": "channel", "group_size": None}
FLOAT8 = {"num_bits": 8, "type": "float", "strategy": "tensor", "group_size": None}
BNB4 = {"quant_method": "bitsandbytes", "load_in_4bit": True, "load_in_8bit": False}
FINE = {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3"}
GPTQ = {"quant_method": "gptq", "sym": False, "desc_act": False, "group_size": 32}

FORMATS = {
    "fp8 blocks": (fp8(block=(32, 32)), FINE | {"weight_block_size": [32, 32]}, "FP8"),
    "fp8 blocks that do not divide": (
        fp8(block=(40, 48), scale_type=torch.bfloat16),
        FINE | {"weight_block_size": [40, 48]},
        "FP8",
    ),
    "fp8 of a tensor": (fp8(), FINE | {"weight_block_size": None}, "FP8"),
    "fp8 e5m2": (fp8("e5m2", ending="_scale"), FINE, "FP8"),
    "fbgemm": (fp8(block="row", ending="_scale"), {"quant_method": "fbgemm_fp8"}, "FP8"),
    "float-quantized": (
        fp8(block="row", ending="_scale", scale_type=torch.bfloat16),
        compressed("float-quantized", **FLOAT8 | {"strategy": "channel"}),
        "FP8",
    ),
    "float-quantized of a tensor": (
        fp8(ending="_scale"),
        compressed("naive-quantized", **FLOAT8),
        "FP8",
    ),
    "float-quantized blocks": (
        fp8(block=(32, 32), ending="_scale"),
        compressed("float-quantized", **FLOAT8 | {"strategy": "block", "block_structure": "32x32"}),
        "FP8",
    ),
    "int-quantized": (int8_channel(False), compressed("int-quantized", **BY_ROW), "INT8"),
    "int-quantized with zeros": (
        int8_channel(True),
        compressed("int-quantized", **BY_ROW | {"symmetric": False}),
        "INT8",
    ),
    "pack-quantized": (
        packed_int(4, 32),
        compressed("pack-quantized", **INT4 | {"symmetric": True}),
        "INT4",
    ),
    "pack-quantized with zeros": (
        packed_int(4, 32, zero_points=True),
        compressed("pack-quantized", **INT4),
        "INT4",
    ),
    "pack-quantized in order of activations": (
        packed_int(4, 32, zero_points=True, ordered=True),
        compressed("pack-quantized", **INT4 | {"actorder": "group"}),
        "INT4",
    ),
    "pack-quantized rows of 8 bits": (
        packed_int(8, zero_points=True),
        compressed("pack-quantized", **BY_ROW | {"symmetric": False}),
        "INT8",
    ),
    "nvfp4": (
        nvfp4,
        compressed("nvfp4-pack-quantized", num_bits=4, type="float", group_size=16),
        "NVFP4",
    ),
    "bitsandbytes 8": (bits8, {"quant_method": "bitsandbytes", "load_in_8bit": True}, "INT8"),
    "nf4": (bits4("nf4"), BNB4 | {"bnb_4bit_quant_type": "nf4"}, "NF4"),
    "nf4 nested": (bits4("nf4", nested=True), BNB4 | {"bnb_4bit_quant_type": "nf4"}, "NF4"),
    "fp4": (bits4("fp4", blocksize=100), BNB4 | {"bnb_4bit_quant_type": "fp4"}, "FP4"),
    "fp4 nested": (bits4("fp4", nested=True), BNB4 | {"bnb_4bit_quant_type": "fp4"}, "FP4"),
    **{f"gptq {bits}": (gptq(bits), GPTQ | {"bits": bits}, f"INT{bits}") for bits in (2, 3, 8)},
    "gptq 4": (
        gptq(4, ordered=True),
        GPTQ | {"bits": 4, "desc_act": True, "checkpoint_format": "gptq"},
        "INT4",
    ),
    "gptq 4 of whole rows": (gptq(4, -1), GPTQ | {"bits": 4, "group_size": -1}, "INT4"),
    "gptq_v2": (
        gptq(4, less_one=False),
        GPTQ | {"bits": 4, "checkpoint_format": "gptq_v2"},
        "INT4",
    ),
    "awq": (
        awq,
        {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True},
        "INT4",
    ),
    **{
        f"mlx {bits}": (mlx(bits), {"group_size": 32, "bits": bits}, f"INT{bits}")
        for bits in (2, 3, 4, 5, 6, 8)
    },
}
"""Name -> (function of a weight and a generator -> its parts by ending and its numbers, what
config.json says, what its numbers are)."""


MXFP4 = (mxfp4, {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}, "MXFP4")
"""The same of the experts of gpt-oss."""


def packs(name, form):
    """Whether a format packs a tensor."""
    if form == "mxfp4":
        return name.endswith(("experts.gate_up_proj", "experts.down_proj"))
    if form.startswith("mlx") and name.endswith(("embed_tokens.weight", "lm_head.weight")):
        return True
    # of each layer what makes a mixture with weights that are not packed
    wanted = r".*layers\.(0\..*(q|v|down)_proj|1\..*(k|o|up)_proj|2\..*gate_proj)\.weight"
    return re.fullmatch(wanted, name) is not None


def single(form, at):
    """A folder with one packed weight, and a config.json that says so and no more."""
    pack, config, _ = FORMATS.get(form, MXFP4)
    shape = (2, 64, 32) if form == "mxfp4" else (64, 96)
    weight = np.random.default_rng(3).normal(size=shape).astype(F32)
    name = "layers.0.experts.down_proj" if form == "mxfp4" else "layers.0.q_proj"
    parts, _ = pack(weight, np.random.default_rng(5))
    at.mkdir()
    stored = {name + ending: part.contiguous() for ending, part in parts.items()}
    save_file(stored, at / "model.safetensors")
    stated = {"model_type": "llama", "quantization_config": config}
    stated |= {"quantization": config} if form.startswith("mlx") else {}
    (at / "config.json").write_text(json.dumps(stated))
    return at


def written(folder, form, at):
    """A checkpoint packed in a format, and the same numbers as they are.

    folder: of a checkpoint in float32; form: a name of `FORMATS`, or "mxfp4"
    at: folder for both
    returns: (folder with packed weights, folder with the numbers)
    """
    pack, config, _ = FORMATS.get(form, MXFP4)
    held, rng = load_file(folder / "model.safetensors"), np.random.default_rng(7)
    stored, numbers = {}, {}
    key = "quantization" if form.startswith("mlx") else "quantization_config"
    for name, weight in held.items():
        if not packs(name, form):
            stored[name] = numbers[name] = weight
            continue
        parts, out = pack(weight.numpy(), rng)
        assert np.isfinite(out).all()
        assert math.sqrt(((out - weight.numpy()) ** 2).mean()) < 0.5 * weight.std()
        stem = name.removesuffix(".weight")
        stored |= {stem + ending: part.contiguous() for ending, part in parts.items()}
        numbers[name] = torch.from_numpy(np.ascontiguousarray(out))
    for tensors, kind in ((stored, "packed"), (numbers, "twin")):
        shutil.copytree(folder, at / kind)
        save_file(tensors, at / kind / "model.safetensors", metadata={"format": "pt"})
    change_config(at / "packed", **{key: config, "quantization_config": config})
    return at / "packed", at / "twin"
