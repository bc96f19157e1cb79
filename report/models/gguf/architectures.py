"""Families of models as llama.cpp writes them: one function an architecture.

It makes transformers' settings out of the file's keys, and says what transformers calls the file's
tensors and which of them llama.cpp changed. What llama.cpp knows by the name of an architecture,
such as its activation, stands here too. The conventions are those of llama.cpp's
`convert_hf_to_gguf.py` and of its model code.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from report.errors import ReportError
from report.models.gguf import rope
from report.models.gguf.changes import Change, TurnedOver
from report.models.gguf.file import GgufFile
from report.models.gguf.keys import Keys
from report.text import quoted


@dataclass(frozen=True)
class Architecture:
    """How a model in a GGUF file is understood.

    name: what the file calls its architecture
    config: what config.json would hold
    tensors: what stands before ".weight" or ".bias" in the file -> in transformers. "blk." begins
        what is there once a layer, "{layer}" is its number, "{part}" that of an expert
    changes: the same keys -> what llama.cpp did to the numbers
    used: names of tensors that became settings
    """

    name: str
    config: dict[str, Any]
    tensors: Mapping[str, str]
    changes: Mapping[str, Change] = field(default_factory=dict)
    used: tuple[str, ...] = rope.TENSORS


@functools.lru_cache(maxsize=4)
def architecture_of(file: GgufFile) -> Architecture:
    """How the model in a file is understood.

    raises: ReportError naming the architecture or the key that is not understood
    """
    kind = file.values.get("general.type", "model")
    name = file.values.get("general.architecture")
    if kind != "model" or not isinstance(name, str):
        raise ReportError(
            f"'{file.name}' holds no model but {quoted(kind)}; give the file of a language model"
        )
    if name not in ARCHITECTURES:
        raise ReportError(
            f"'{file.name}' has the architecture {quoted(name)}, which is not read from GGUF files "
            f"here; known are {', '.join(sorted(ARCHITECTURES))}. Use the model's checkpoint in "
            "safetensors instead."
        )
    keys = Keys(file, name)
    found = ARCHITECTURES[name](keys)
    keys.require_all_used()
    config = found.config | _shared(file)
    return Architecture(name, config, found.tensors, found.changes, found.used)


def _shared(file):
    """Settings that every family has, and that the tensors tell."""
    table = file.tensors.get("token_embd.weight")
    if table is None or len(table.shape) != 2:
        raise ReportError(
            f"'{file.name}' lacks the tensor token_embd.weight; nothing is filled in with random "
            "numbers"
        )
    ids = {
        name: file.values.get(f"tokenizer.ggml.{key}_token_id")
        for name, key in (
            ("bos_token_id", "bos"),
            ("eos_token_id", "eos"),
            ("pad_token_id", "padding"),
        )
    }
    known = {name: number if type(number) is int else None for name, number in ids.items()}
    tied = "output.weight" not in file.tensors
    return {"vocab_size": table.shape[0], "tie_word_embeddings": tied, **known}


def _sizes(keys: Keys) -> dict[str, Any]:
    """What most families call the numbers that all have."""
    heads = keys.whole("attention.head_count")
    return {
        "num_hidden_layers": keys.whole("block_count"),
        "hidden_size": keys.whole("embedding_length"),
        "intermediate_size": keys.whole("feed_forward_length"),
        "max_position_embeddings": keys.whole("context_length"),
        "num_attention_heads": heads,
        "num_key_value_heads": keys.whole("attention.head_count_kv", heads),
    }


def _head_dim(keys: Keys) -> int:
    """Length of a head's query, which is also that of its value."""
    heads, hidden = keys.whole("attention.head_count"), keys.whole("embedding_length")
    stated = keys.whole("attention.key_length", None)
    if stated is None and hidden % heads:
        raise keys.refused("attention.head_count", f"a divisor of {hidden}, the hidden size")
    length = stated or hidden // heads
    if keys.whole("attention.value_length", length) != length:
        raise keys.refused("attention.value_length", f"{length}, as of the keys")
    return length


def _has(keys: Keys, name: str) -> bool:
    """Whether the first layer has a tensor."""
    return f"blk.0.{name}" in keys.file.tensors


def _turned_over(config: Mapping[str, Any]) -> dict[str, Change]:
    return {
        "blk.attn_q": TurnedOver(config["num_attention_heads"]),
        "blk.attn_k": TurnedOver(config["num_key_value_heads"]),
    }


LLAMA = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "blk.attn_norm": "model.layers.{layer}.input_layernorm",
    "blk.attn_q": "model.layers.{layer}.self_attn.q_proj",
    "blk.attn_k": "model.layers.{layer}.self_attn.k_proj",
    "blk.attn_v": "model.layers.{layer}.self_attn.v_proj",
    "blk.attn_output": "model.layers.{layer}.self_attn.o_proj",
    "blk.ffn_norm": "model.layers.{layer}.post_attention_layernorm",
    "blk.ffn_gate": "model.layers.{layer}.mlp.gate_proj",
    "blk.ffn_up": "model.layers.{layer}.mlp.up_proj",
    "blk.ffn_down": "model.layers.{layer}.mlp.down_proj",
}


def _llama_settings(keys: Keys) -> dict[str, Any]:
    head_dim = _head_dim(keys)
    return _sizes(keys) | {
        "head_dim": head_dim,
        "rms_norm_eps": keys.number("attention.layer_norm_rms_epsilon"),
        "rope_parameters": rope.rope_parameters(keys, head_dim),
    }


def _llama(keys: Keys) -> Architecture:
    config = _llama_settings(keys) | {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": _has(keys, "attn_q.bias"),
        "mlp_bias": _has(keys, "ffn_up.bias"),
    }
    return Architecture(keys.name, config, LLAMA, _turned_over(config))


ARCHITECTURES: dict[str, Callable[[Keys], Architecture]] = {
    "llama": _llama,
}
"""What files call an architecture -> what understands it."""
