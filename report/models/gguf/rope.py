"""How a model in a GGUF file rotates queries and keys, as transformers' `rope_parameters`.

Scaled frequencies are either stated (`rope.scaling.*`), or come as a tensor of numbers by which the
frequencies are divided: `rope_freqs`, where llama.cpp writes the scaling of Llama 3.1, and
`rope_factors_short` and `_long`, that of Phi 3.
"""

import math
from typing import Any

import numpy as np

from report.errors import ReportError
from report.models.gguf import formats
from report.models.gguf.file import GgufFile
from report.models.gguf.header import Tensor
from report.models.gguf.keys import Keys

FREQUENCIES = "rope_freqs.weight"
SHORT, LONG = "rope_factors_short.weight", "rope_factors_long.weight"
TENSORS = (FREQUENCIES, SHORT, LONG)

BASES = {
    "falcon": (10_000.0, 2048),
    "gemma": (10_000.0, 8192),
    "gemma2": (10_000.0, 8192),
    "gptneox": (10_000.0, 4096),
    "llama": (10_000.0, 4096),
    "phi2": (10_000.0, 2048),
    "stablelm": (10_000.0, 4096),
}
"""Architectures whose files may lack the base: it, and the longest context of their models that
have it. Converters do not write it, or not if the checkpoint does not state it. Models for longer
contexts have others, such as Stable Code, and files of all other architectures say theirs."""


def rope_parameters(keys: Keys, head_dim: int, partly: bool = False) -> dict[str, Any]:
    """The settings of a model's rotation.

    head_dim: length of a head's query; partly: whether a model of this family may rotate a part of
        it only
    raises: ReportError naming what is not understood
    """
    if "rope.freq_base" not in keys:
        keys.assume("rope.freq_base", _usual_base(keys), "as llama.cpp does")
    base = keys.number("rope.freq_base", above=1)
    # a part that is not stated could be any
    turned = keys.whole("rope.dimension_count", *([] if partly else [head_dim]))
    parameters = {"rope_theta": float(base)}
    if turned != head_dim:
        if not partly or turned > head_dim or turned % 2:
            raise keys.refused("rope.dimension_count", f"{head_dim}, the length of a head's query")
        parameters["partial_rotary_factor"] = turned / head_dim
    context = keys.whole("context_length")
    return parameters | _scaling(keys, context, turned // 2)


def _usual_base(keys):
    """The base of a file that states none.

    raises: ReportError where models of this architecture and size have several
    """
    base, longest = BASES.get(keys.name, (None, 0))
    others = {
        # Falcon 2 has a base of its own, and so do Llamas with the tokenizer of Llama 3
        "falcon": keys.whole("embedding_length") == 4096,
        "llama": keys.file.values.get("tokenizer.ggml.model") != "llama",
    }
    if base is None or keys.whole("context_length") > longest or others.get(keys.name, False):
        raise keys.lacking("rope.freq_base")
    return base


def _scaling(keys, context, frequencies):
    factor = keys.number("rope.scaling.factor", None)
    factor = keys.number("rope.scale_linear", None) if factor is None else factor
    kind = keys.text("rope.scaling.type", "linear" if factor else "none")
    file = keys.file
    if SHORT in file.tensors:
        keys.assume("rope.scaling.attn_factor", 1.0, "as llama.cpp does")
    if kind == "yarn" or SHORT in file.tensors:
        keys.assume("rope.scaling.original_context_length", context, "as llama.cpp does")
    before = keys.whole("rope.scaling.original_context_length", context)
    scale = keys.number("rope.scaling.attn_factor", 1.0)
    fast = keys.number("rope.scaling.yarn_beta_fast", 32.0)
    slow = keys.number("rope.scaling.yarn_beta_slow", 1.0)
    if any(name in file.tensors for name in TENSORS):
        return _by_tensors(keys, kind, factor, before, context, scale, frequencies)
    if scale != 1 and kind != "yarn":
        raise keys.refused("rope.scaling.attn_factor", "1 without yarn")
    if kind == "none" or (kind == "linear" and factor in (None, 0, 1)):
        return {"rope_type": "default"}
    if factor is None or factor < 1:
        raise keys.refused("rope.scaling.factor", "a number from 1")
    if kind == "linear":
        return {"rope_type": "linear", "factor": float(factor)}
    if kind == "yarn":
        return {
            "rope_type": "yarn",
            "factor": float(factor),
            "original_max_position_embeddings": before,
            "beta_fast": float(fast),
            "beta_slow": float(slow),
            "attention_factor": scale * (0.1 * math.log(factor) + 1),
        }
    raise keys.refused("rope.scaling.type", "none, linear or yarn")


def _by_tensors(keys, kind, factor, before, context, scale, frequencies):
    """Every frequency divided by a number of its own."""
    file = keys.file
    short, long = (SHORT, LONG) if SHORT in file.tensors else (FREQUENCIES, FREQUENCIES)
    if kind not in ("none", "longrope", "linear") or (kind == "linear" and factor not in (None, 1)):
        raise keys.refused("rope.scaling.type", f"none beside the tensor {short}")
    lists = {}
    for name, key in ((short, "short_factor"), (long, "long_factor")):
        if name not in file.tensors:
            raise ReportError(
                f"'{file.name}' has {short} and lacks {name}; download or copy it again"
            )
        lists[key] = _small(file, name, file.tensors[name], frequencies)
    return {
        "rope_type": "longrope",
        **lists,
        "original_max_position_embeddings": before,
        "factor": max(1.0, context / before),
        "attention_factor": float(scale),
    }


def _small(file: GgufFile, name: str, tensor: Tensor, count: int) -> list[float]:
    """The numbers of a tensor with a number a frequency."""
    if tensor.shape != (count,):
        raise ReportError(
            f"'{file.name}' holds {name} as {list(tensor.shape)}, and there are {count} "
            "frequencies; the file is damaged, download or copy it again"
        )
    with tensor.path.open("rb") as stream:
        stream.seek(tensor.start)
        raw = np.frombuffer(stream.read(tensor.bytes), np.uint8)
    if len(raw) != tensor.bytes:
        raise ReportError(
            f"'{file.name}' became shorter while it was read; run the same command once it is whole"
        )
    numbers = formats.numbers(raw.reshape(1, -1), tensor.format)[0]
    if not (np.isfinite(numbers).all() and (numbers > 0).all()):
        raise ReportError(
            f"'{file.name}': {name} holds something else than numbers above 0; the file is "
            "damaged, download or copy it again"
        )
    return [float(str(number)) for number in numbers]
