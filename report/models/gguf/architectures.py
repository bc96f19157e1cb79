"""Families of models as llama.cpp writes them: one function for each architecture.

It makes transformers' settings of the file's keys, and says what transformers calls the file's
tensors and which of them llama.cpp changed. What llama.cpp knows by the name of an architecture,
such as its activation, stands here too. The conventions are those of llama.cpp's
`convert_hf_to_gguf.py` and of its model code. All families stand in one file because most of them
are made of the tables of others.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from report.errors import ReportError
from report.models.gguf import rope
from report.models.gguf.changes import Change, OneMore, Sorted, Transposed, TurnedOver
from report.models.gguf.file import GgufFile
from report.models.gguf.keys import NEEDED, Keys
from report.text import quoted


@dataclass(frozen=True)
class Architecture:
    """Settings and tensors of a model in a GGUF file.

    name: what the file calls its architecture
    config: what config.json would hold
    tensors: name in the file, without ".weight" or ".bias" -> in transformers. "blk." begins those
        of every layer, "{layer}" is its number, "{part}" that of an expert or a head
    changes: name as in `tensors`, or with ".weight" for weights alone -> what llama.cpp did to it
    parts: number of a layer's experts or heads, where one tensor holds those of all
    used: names of tensors that only settings are made of
    defaults: what was assumed where the file says nothing, as phrases
    """

    name: str
    config: dict[str, Any]
    tensors: Mapping[str, str]
    changes: Mapping[str, Change] = field(default_factory=dict)
    parts: int | None = None
    used: tuple[str, ...] = rope.TENSORS
    defaults: tuple[str, ...] = ()


@functools.lru_cache(maxsize=4)
def architecture_of(file: GgufFile) -> Architecture:
    """The architecture of the model in a file.

    raises: ReportError naming the architecture, key or missing tensor that stops it
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
    architecture = ARCHITECTURES[name](keys)
    keys.require_all_used()
    config = architecture.config | _shared(file)
    return replace(architecture, config=config, defaults=tuple(keys.defaults))


def _shared(file):
    """Settings of every family: the vocabulary's size, special tokens, tied embeddings."""
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
    """Sizes that all families have, by the names that most give them."""
    heads = keys.whole("attention.head_count")
    groups = keys.whole("attention.head_count_kv", heads)
    if heads % groups:
        raise keys.refused("attention.head_count_kv", f"a divisor of {heads}, the number of heads")
    return {
        "num_hidden_layers": keys.whole("block_count"),
        "hidden_size": keys.whole("embedding_length"),
        "intermediate_size": keys.whole("feed_forward_length"),
        "max_position_embeddings": keys.whole("context_length"),
        "num_attention_heads": heads,
        "num_key_value_heads": groups,
    }


def _head_dim(keys: Keys) -> int:
    """Length of a head's query, key and value; ReportError if they differ."""
    heads, hidden = keys.whole("attention.head_count"), keys.whole("embedding_length")
    stated = keys.whole("attention.key_length", None)
    if stated is None and hidden % heads:
        raise keys.refused("attention.head_count", f"a divisor of {hidden}, the hidden size")
    length = stated or hidden // heads
    if keys.whole("attention.value_length", length) != length:
        raise keys.refused("attention.value_length", f"{length}, as of the keys")
    return length


def _even_head_dim(keys: Keys) -> int:
    """`_head_dim` of a family whose heads divide the hidden size evenly; else ReportError."""
    length = _head_dim(keys)
    if length * keys.whole("attention.head_count") != keys.whole("embedding_length"):
        raise keys.refused("attention.key_length", "the hidden size shared out among the heads")
    return length


def _rms(keys: Keys) -> dict[str, Any]:
    return {"rms_norm_eps": keys.number("attention.layer_norm_rms_epsilon", above=0)}


def _epsilon(keys: Keys) -> float:
    return keys.number("attention.layer_norm_epsilon", above=0)


def _rotary(keys: Keys, partly: bool = False) -> dict[str, Any]:
    head_dim = _head_dim(keys)
    rotation = rope.rope_parameters(keys, head_dim, partly)
    return {"head_dim": head_dim, "rope_parameters": rotation}


def _even_rotary(keys: Keys, partly: bool = False) -> dict[str, Any]:
    """`_rotary` of a family without a setting for the length of a head."""
    return {"rope_parameters": rope.rope_parameters(keys, _even_head_dim(keys), partly)}


def _has(keys: Keys, name: str) -> bool:
    """Whether the first layer has a tensor."""
    return f"blk.0.{name}" in keys.file.tensors


def _class(model_type: str, architecture: str) -> dict[str, Any]:
    return {"model_type": model_type, "architectures": [architecture]}


def _turned_over(config: Mapping[str, Any]) -> dict[str, Change]:
    """Changes of queries and keys whose rows llama.cpp reorders for its way to rotate."""
    return {
        "blk.attn_q": TurnedOver(config["num_attention_heads"]),
        "blk.attn_k": TurnedOver(config["num_key_value_heads"]),
    }


def _layers(prefix: str, tensors: Mapping[str, str]) -> dict[str, str]:
    """`Architecture.tensors` of every layer."""
    return {f"blk.{name}": f"{prefix}.{target}" for name, target in tensors.items()}


LAYER = "model.layers.{layer}"

ENDS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
ATTENTION = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
}
NORMS = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}
GATED = {"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
HEAD_NORMS = {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
AFTER = {
    "post_attention_norm": "post_attention_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}

FUSED = {
    "attn_qkv": "self_attention.query_key_value",
    "attn_output": "self_attention.dense",
    "ffn_up": "mlp.dense_h_to_4h",
    "ffn_down": "mlp.dense_4h_to_h",
}

LAYOUT = "Meta AI original pth"
"""How the rows of Llama's queries and keys are ordered, where a file says it."""

LLAMA = ENDS | _layers(LAYER, NORMS | ATTENTION | GATED)


def _llama_settings(keys: Keys) -> dict[str, Any]:
    length = _head_dim(keys)
    if keys.whole("attention.head_dim", length) != length:  # Ollama states it twice
        raise keys.refused("attention.head_dim", f"{length}, as of the keys")
    return (
        _sizes(keys)
        | _rms(keys)
        | _rotary(keys)
        | {"attention_bias": _has(keys, "attn_q.bias"), "mlp_bias": _has(keys, "ffn_up.bias")}
    )


def _llama(keys: Keys) -> Architecture:
    """Llama and Mistral; with experts, Mixtral."""
    if "expert_count" in keys and keys.whole("expert_count", least=0) > 0:
        return _mixtral(keys)
    keys.whole("expert_used_count", 0, least=0)
    if keys.text("tensor_data_layout", LAYOUT) != LAYOUT:
        raise keys.refused("tensor_data_layout", f"{LAYOUT!r}")
    config = _class("llama", "LlamaForCausalLM") | _llama_settings(keys)
    return Architecture(keys.name, config, LLAMA, _turned_over(config))


MIXTURE = {
    "ffn_gate_inp": "block_sparse_moe.gate",
    "ffn_gate_exps": "block_sparse_moe.experts.{part}.w1",
    "ffn_down_exps": "block_sparse_moe.experts.{part}.w2",
    "ffn_up_exps": "block_sparse_moe.experts.{part}.w3",
}


def _mixtral(keys: Keys) -> Architecture:
    experts = keys.whole("expert_count")
    config = _class("mixtral", "MixtralForCausalLM") | _sizes(keys) | _rms(keys) | _rotary(keys)
    config |= {
        "num_local_experts": experts,
        "num_experts_per_tok": keys.whole("expert_used_count"),
        "sliding_window": None,
    }
    tensors = ENDS | _layers(LAYER, NORMS | ATTENTION | MIXTURE)
    return Architecture(keys.name, config, tensors, _turned_over(config), experts)


def _qwen2(keys: Keys) -> Architecture:
    config = _class("qwen2", "Qwen2ForCausalLM") | _sizes(keys) | _rms(keys) | _rotary(keys)
    return Architecture(keys.name, config | {"use_sliding_window": False}, LLAMA)


def _qwen3(keys: Keys) -> Architecture:
    config = _class("qwen3", "Qwen3ForCausalLM") | _sizes(keys) | _rms(keys) | _rotary(keys)
    config |= {"use_sliding_window": False, "attention_bias": _has(keys, "attn_q.bias")}
    return Architecture(keys.name, config, LLAMA | _layers(LAYER, HEAD_NORMS))


EXPERTS = {
    "ffn_gate_inp": "mlp.gate",
    "ffn_gate_exps": "mlp.experts.{part}.gate_proj",
    "ffn_up_exps": "mlp.experts.{part}.up_proj",
    "ffn_down_exps": "mlp.experts.{part}.down_proj",
}


def _qwen3_mixture(keys: Keys) -> Architecture:
    experts = keys.whole("expert_count")
    config = _class("qwen3_moe", "Qwen3MoeForCausalLM") | _sizes(keys) | _rms(keys) | _rotary(keys)
    wide = keys.file.tensors.get("blk.0.ffn_up_exps.weight")
    width = wide.shape[1] if wide is not None and len(wide.shape) == 3 else NEEDED
    config |= {
        "num_experts": experts,
        "num_experts_per_tok": keys.whole("expert_used_count"),
        "moe_intermediate_size": keys.whole("expert_feed_forward_length", width),
        "norm_topk_prob": keys.flag("norm_top_k_prob", True),
        "decoder_sparse_step": 1,
        "mlp_only_layers": [],
        "use_sliding_window": False,
        "attention_bias": _has(keys, "attn_q.bias"),
    }
    tensors = ENDS | _layers(LAYER, NORMS | ATTENTION | HEAD_NORMS | EXPERTS)
    return Architecture(keys.name, config, tensors, parts=experts)


def _one_more(tensors: Mapping[str, str]) -> dict[str, Change]:
    """Changes of norms, whose weights w are stored as 1 + w."""
    return {f"{name}.weight": OneMore() for name in tensors if name.endswith("norm")}


def _gemma(keys: Keys) -> Architecture:
    config = _class("gemma", "GemmaForCausalLM") | _sizes(keys) | _rms(keys) | _rotary(keys)
    config |= {"hidden_act": "gelu_pytorch_tanh"}
    return Architecture(keys.name, config, LLAMA, _one_more(LLAMA))


GEMMA2 = ENDS | _layers(
    LAYER,
    ATTENTION
    | GATED
    | AFTER
    | {"attn_norm": "input_layernorm", "ffn_norm": "pre_feedforward_layernorm"},
)


def _gemma2(keys: Keys) -> Architecture:
    config = _class("gemma2", "Gemma2ForCausalLM") | _sizes(keys) | _rms(keys) | _rotary(keys)
    config |= {
        "hidden_activation": "gelu_pytorch_tanh",
        "attn_logit_softcapping": keys.number("attn_logit_softcapping", 50.0, above=0),
        "final_logit_softcapping": keys.number("final_logit_softcapping", 30.0, above=0),
        "query_pre_attn_scalar": _squared_divisor(keys, 46),
        "sliding_window": keys.whole("attention.sliding_window", 4096),
        "layer_types": _windows(keys, 2),
    }
    return Architecture(keys.name, config, GEMMA2, _one_more(GEMMA2))


def _squared_divisor(keys: Keys, layers_of_27b: int) -> int:
    """The square of what scores are divided by: a head's length, or hidden size / heads in Gemma's
    models of 27 B, which llama.cpp tells by their number of layers."""
    if keys.whole("block_count") == layers_of_27b:
        return keys.whole("embedding_length") // keys.whole("attention.head_count")
    return _head_dim(keys)


def _windows(keys: Keys, every: int) -> list[str]:
    """`layer_types`: a window in all layers but each `every`th, unless the file says otherwise."""
    layers = keys.whole("block_count")
    key = "attention.sliding_window_pattern"
    if layers > MOST_LAYERS:
        raise keys.refused("block_count", f"a whole number up to {MOST_LAYERS:,}")
    if keys.is_list(key):
        stated = keys.listed(key)
        if len(stated) != layers:
            raise keys.refused(key, f"a list of {layers} entries, one a layer")
    else:
        every = keys.whole(key, every)
        stated = [layer % every < every - 1 for layer in range(layers)]
    return ["sliding_attention" if window else "full_attention" for window in stated]


MOST_LAYERS = 10_000


BY_OLLAMA = ("rope.local.freq_base", "rope.global.freq_base", "mm.tokens_per_image")
"""Keys of a Gemma 3 that only Ollama's own converter writes. It writes no epsilon for some."""

LAYERS_OF_GEMMA3 = (18, 26, 34, 48, 62)
"""Of 270 M, 1 B, 4 B, 12 B and 27 B parameters."""


def _complete_gemma3(keys: Keys) -> None:
    """Fill in what converters leave out, above all Ollama's, with what Ollama takes for it.

    https://github.com/ollama/ollama/blob/main/llama/compat/llama-ollama-compat.cpp
    """
    epsilon = "attention.layer_norm_rms_epsilon"
    by_ollama = epsilon not in keys or any(key in keys for key in BY_OLLAMA)
    keys.rename("rope.global.freq_base", "rope.freq_base")
    keys.rename("rope.local.freq_base", "rope.freq_base_swa")
    why = "as Ollama and llama.cpp do for Gemma 3"
    keys.assume("rope.freq_base_swa", 10_000.0, why)
    if not by_ollama:
        return
    why = "as Ollama does for Gemma 3"
    keys.assume(epsilon, 1e-6, why)
    if keys.whole("block_count") in LAYERS_OF_GEMMA3:
        keys.assume("rope.freq_base", 1_000_000.0, why)
    scaled = any(key in keys for key in ("rope.scaling.type", "rope.scale_linear"))
    if keys.whole("context_length") >= 131_072 and not scaled:
        keys.assume("rope.scaling.factor", 8.0, why)


def _gemma3(keys: Keys) -> Architecture:
    _complete_gemma3(keys)
    rotary = _rotary(keys)
    local = {"rope_type": "default", "rope_theta": keys.number("rope.freq_base_swa", above=1)}
    window = keys.whole("attention.sliding_window", 0, least=0)  # Rnj-1 has none
    config = _class("gemma3_text", "Gemma3ForCausalLM") | _sizes(keys) | _rms(keys)
    config |= {
        "head_dim": rotary["head_dim"],
        "rope_parameters": {
            "full_attention": rotary["rope_parameters"],
            "sliding_attention": local,
        },
        "hidden_activation": "gelu_pytorch_tanh",
        "final_logit_softcapping": keys.number("final_logit_softcapping", None) or None,
        "query_pre_attn_scalar": _squared_divisor(keys, 62),
        "sliding_window": window or keys.whole("context_length"),
        "layer_types": _windows(keys, 6 if window else 1),
    }
    tensors = GEMMA2 | _layers(LAYER, HEAD_NORMS)
    return Architecture(keys.name, config, tensors, _one_more(tensors))


PHI3 = ENDS | _layers(
    LAYER,
    NORMS
    | {
        "attn_qkv": "self_attn.qkv_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_up": "mlp.gate_up_proj",
        "ffn_down": "mlp.down_proj",
    },
)


WINDOWS_OF_PHI3 = {4096: 2047, 131_072: 262_144}
"""Longest context -> window of Phi 3 mini and medium, for old files of llama.cpp without one."""


def _phi3(keys: Keys) -> Architecture:
    rotary = _rotary(keys, partly=True)
    original = keys.whole("rope.scaling.original_context_length", keys.whole("context_length"))
    config = _class("phi3", "Phi3ForCausalLM") | _sizes(keys) | _rms(keys) | rotary
    _even_head_dim(keys)
    window = WINDOWS_OF_PHI3.get(keys.whole("context_length"))
    if window and keys.whole("block_count") in (32, 40):
        keys.assume("attention.sliding_window", window, "as in Phi 3 of this size")
    config |= {
        "original_max_position_embeddings": original,
        "sliding_window": keys.whole("attention.sliding_window", least=0) or None,
    }
    return Architecture(keys.name, config, PHI3)


PHI2 = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.final_layernorm",
    "output": "lm_head",
} | _layers(
    LAYER,
    ATTENTION
    | {
        "attn_norm": "input_layernorm",
        "attn_output": "self_attn.dense",
        "ffn_up": "mlp.fc1",
        "ffn_down": "mlp.fc2",
    },
)


def _phi2(keys: Keys) -> Architecture:
    config = _class("phi", "PhiForCausalLM") | _sizes(keys) | _rotary(keys, partly=True)
    _even_head_dim(keys)
    config |= {"layer_norm_eps": _epsilon(keys), "hidden_act": "gelu_new"}
    return Architecture(keys.name, config, PHI2)


FALCON = {
    "token_embd": "transformer.word_embeddings",
    "output_norm": "transformer.ln_f",
    "output": "lm_head",
} | _layers("transformer.h.{layer}", {"attn_norm": "input_layernorm"} | FUSED)
TWO_NORMS = _layers("transformer.h.{layer}", {"attn_norm": "ln_mlp", "attn_norm_2": "ln_attn"})


def _falcon(keys: Keys) -> Architecture:
    """Falcon without ALiBi, which llama.cpp does not have for it."""
    keys.text("tensor_data_layout", None)
    sizes, two = _sizes(keys), _has(keys, "attn_norm_2.weight")
    heads, groups = sizes["num_attention_heads"], sizes["num_key_value_heads"]
    newer = two or groups > 1
    config = _class("falcon", "FalconForCausalLM") | {
        "num_hidden_layers": sizes["num_hidden_layers"],
        "hidden_size": sizes["hidden_size"],
        "ffn_hidden_size": sizes["intermediate_size"],
        "num_attention_heads": heads,
        "num_kv_heads": groups,
        "max_position_embeddings": sizes["max_position_embeddings"],
        "multi_query": not newer,
        "new_decoder_architecture": newer,
        "num_ln_in_parallel_attn": (2 if two else 1) if newer else None,
        "parallel_attn": True,
        "bias": _has(keys, "attn_qkv.bias"),
        "alibi": False,
        "layer_norm_epsilon": _epsilon(keys),
        **_even_rotary(keys),
    }
    changes = {"blk.attn_qkv": Sorted(groups, heads // groups)}
    return Architecture(keys.name, config, FALCON | (TWO_NORMS if two else {}), changes)


GPT2 = {
    "token_embd": "transformer.wte",
    "position_embd": "transformer.wpe",
    "output_norm": "transformer.ln_f",
    "output": "lm_head",
} | _layers(
    "transformer.h.{layer}",
    {
        "attn_norm": "ln_1",
        "attn_qkv": "attn.c_attn",
        "attn_output": "attn.c_proj",
        "ffn_norm": "ln_2",
        "ffn_up": "mlp.c_fc",
        "ffn_down": "mlp.c_proj",
    },
)


def _gpt2(keys: Keys) -> Architecture:
    sizes = _sizes(keys)
    _even_head_dim(keys)
    config = _class("gpt2", "GPT2LMHeadModel") | {
        "n_layer": sizes["num_hidden_layers"],
        "n_embd": sizes["hidden_size"],
        "n_inner": sizes["intermediate_size"],
        "n_head": sizes["num_attention_heads"],
        "n_positions": sizes["max_position_embeddings"],
        "layer_norm_epsilon": _epsilon(keys),
    }
    projections = ("attn_qkv", "attn_output", "ffn_up", "ffn_down")
    changes = {f"blk.{name}.weight": Transposed() for name in projections}
    return Architecture(keys.name, config, GPT2, changes)


GPTNEOX = {
    "token_embd": "gpt_neox.embed_in",
    "output_norm": "gpt_neox.final_layer_norm",
    "output": "embed_out",
} | _layers(
    "gpt_neox.layers.{layer}",
    NORMS | FUSED | {"attn_qkv": "attention.query_key_value", "attn_output": "attention.dense"},
)


def _gptneox(keys: Keys) -> Architecture:
    sizes = _sizes(keys)
    sizes.pop("num_key_value_heads")
    config = _class("gpt_neox", "GPTNeoXForCausalLM") | sizes | _even_rotary(keys, partly=True)
    config |= {
        "layer_norm_eps": _epsilon(keys),
        "use_parallel_residual": keys.flag("use_parallel_residual"),
        "attention_bias": _has(keys, "attn_qkv.bias"),
    }
    changes = {"blk.attn_qkv": Sorted(sizes["num_attention_heads"], 1)}
    return Architecture(keys.name, config, GPTNEOX, changes)


BLOOM = {
    "token_embd": "transformer.word_embeddings",
    "token_embd_norm": "transformer.word_embeddings_layernorm",
    "output_norm": "transformer.ln_f",
    "output": "lm_head",
} | _layers("transformer.h.{layer}", NORMS | FUSED)


def _fourfold(keys: Keys) -> dict[str, Any]:
    """`_sizes` of a family whose MLP is always four times the hidden size; else ReportError."""
    sizes = _sizes(keys)
    if sizes["intermediate_size"] != 4 * sizes["hidden_size"]:
        raise keys.refused("feed_forward_length", f"{4 * sizes['hidden_size']}")
    return sizes


def _bloom(keys: Keys) -> Architecture:
    sizes = _fourfold(keys)
    heads = sizes["num_attention_heads"]
    _even_head_dim(keys)
    config = _class("bloom", "BloomForCausalLM") | {
        "n_layer": sizes["num_hidden_layers"],
        "hidden_size": sizes["hidden_size"],
        "n_head": heads,
        "layer_norm_epsilon": _epsilon(keys),
    }
    return Architecture(keys.name, config, BLOOM, {"blk.attn_qkv": Sorted(heads, 1)})


MPT = {
    "token_embd": "transformer.wte",
    "output_norm": "transformer.norm_f",
    "output": "lm_head",
} | _layers(
    "transformer.blocks.{layer}",
    {
        "attn_norm": "norm_1",
        "attn_qkv": "attn.Wqkv",
        "attn_output": "attn.out_proj",
        "ffn_norm": "norm_2",
        "ffn_up": "ffn.up_proj",
        "ffn_down": "ffn.down_proj",
    },
)


def _mpt(keys: Keys) -> Architecture:
    sizes = _fourfold(keys)
    slope = keys.number("attention.max_alibi_bias", 0.0)
    if slope <= 0 or slope != int(slope):
        raise keys.refused("attention.max_alibi_bias", "a whole number above 0, as of ALiBi")
    clip = keys.number("attention.clamp_kqv", None)
    if sizes["num_key_value_heads"] != sizes["num_attention_heads"]:
        raise keys.refused("attention.head_count_kv", f"{sizes['num_attention_heads']}")
    _even_head_dim(keys)
    config = _class("mpt", "MptForCausalLM") | {
        "n_layers": sizes["num_hidden_layers"],
        "d_model": sizes["hidden_size"],
        "n_heads": sizes["num_attention_heads"],
        "max_seq_len": sizes["max_position_embeddings"],
        "layer_norm_epsilon": _epsilon(keys),
        "attn_config": {"alibi": True, "alibi_bias_max": int(slope), "clip_qkv": clip or None},
    }
    return Architecture(keys.name, config, MPT)


def _starcoder2(keys: Keys) -> Architecture:
    config = _class("starcoder2", "Starcoder2ForCausalLM") | _sizes(keys) | _even_rotary(keys)
    config |= {
        "norm_epsilon": _epsilon(keys),
        "use_bias": _has(keys, "attn_q.bias"),
        "sliding_window": None,
    }
    plain = {"ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"}
    return Architecture(keys.name, config, ENDS | _layers(LAYER, NORMS | ATTENTION | plain))


def _olmo2(keys: Keys) -> Architecture:
    config = _class("olmo2", "Olmo2ForCausalLM") | _sizes(keys) | _rms(keys) | _even_rotary(keys)
    tensors = ENDS | _layers(LAYER, ATTENTION | GATED | AFTER | HEAD_NORMS)
    return Architecture(keys.name, config, tensors)


def _stablelm(keys: Keys) -> Architecture:
    """A layer's norms tell whether attention and MLP are parallel: where a checkpoint says nothing,
    the converter writes true, and transformers takes false for it."""
    keys.flag("use_parallel_residual", None)
    config = _class("stablelm", "StableLmForCausalLM") | _sizes(keys)
    config |= _even_rotary(keys, partly=True) | {
        "layer_norm_eps": _epsilon(keys),
        "use_parallel_residual": not _has(keys, "ffn_norm.weight"),
        "use_qkv_bias": _has(keys, "attn_q.bias"),
        "qk_layernorm": _has(keys, "attn_q_norm.weight"),
    }
    norms = {
        "attn_q_norm": "self_attn.q_layernorm.norms.{part}",
        "attn_k_norm": "self_attn.k_layernorm.norms.{part}",
    }
    parts = config["num_attention_heads"]
    return Architecture(keys.name, config, LLAMA | _layers(LAYER, norms), parts=parts)


def _cohere_settings(keys: Keys) -> dict[str, Any]:
    return _sizes(keys) | {
        "layer_norm_eps": _epsilon(keys),
        "logit_scale": keys.number("logit_scale", above=0),
        "attention_bias": _has(keys, "attn_q.bias"),
    }


COHERE = ENDS | _layers(LAYER, {"attn_norm": "input_layernorm"} | ATTENTION | GATED)


def _cohere(keys: Keys) -> Architecture:
    config = _class("cohere", "CohereForCausalLM") | _cohere_settings(keys) | _even_rotary(keys)
    config |= {"use_qk_norm": _has(keys, "attn_q_norm.weight")}
    return Architecture(keys.name, config, COHERE | _layers(LAYER, HEAD_NORMS))


def _cohere2(keys: Keys) -> Architecture:
    config = _class("cohere2", "Cohere2ForCausalLM") | _cohere_settings(keys) | _rotary(keys)
    config |= {
        "sliding_window": keys.whole("attention.sliding_window"),
        "layer_types": _windows(keys, 4),
    }
    return Architecture(keys.name, config, COHERE)


def _granite(keys: Keys) -> Architecture:
    config = _class("granite", "GraniteForCausalLM") | _llama_settings(keys)
    length = _even_head_dim(keys)
    if not keys.flag("rope.scaling.finetuned", True):  # llama.cpp's word for it in this family
        raise keys.refused("rope.scaling.finetuned", "true, as models that do not rotate are not")
    config |= {
        "attention_multiplier": keys.number("attention.scale", 0.0) or length**-0.5,
        "embedding_multiplier": keys.number("embedding_scale", 0.0) or 1.0,
        "residual_multiplier": keys.number("residual_scale", 0.0) or 1.0,
        "logits_scaling": keys.number("logit_scale", above=0),
    }
    return Architecture(keys.name, config, LLAMA, _turned_over(config))


def _smollm3(keys: Keys) -> Architecture:
    """Every fourth layer is without rotation, which llama.cpp knows by the architecture."""
    config = _class("smollm3", "SmolLM3ForCausalLM") | _llama_settings(keys)
    layers = min(config["num_hidden_layers"], MOST_LAYERS)
    config |= {
        "no_rope_layers": [int((layer + 1) % 4 != 0) for layer in range(layers)],
        "use_sliding_window": False,
    }
    return Architecture(keys.name, config, LLAMA, _turned_over(config))


def _nemotron(keys: Keys) -> Architecture:
    config = _class("nemotron", "NemotronForCausalLM") | _sizes(keys) | _rotary(keys, partly=True)
    config |= {
        "norm_eps": _epsilon(keys),
        "hidden_act": "relu2",
        "attention_bias": _has(keys, "attn_q.bias"),
        "mlp_bias": _has(keys, "ffn_up.bias"),
    }
    plain = {"ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
    tensors = ENDS | _layers(LAYER, NORMS | ATTENTION | plain)
    return Architecture(keys.name, config, tensors, _one_more(tensors))


ARCHITECTURES: dict[str, Callable[[Keys], Architecture]] = {
    "bloom": _bloom,
    "cohere2": _cohere2,
    "command-r": _cohere,
    "falcon": _falcon,
    "gemma": _gemma,
    "gemma2": _gemma2,
    "gemma3": _gemma3,
    "gpt2": _gpt2,
    "gptneox": _gptneox,
    "granite": _granite,
    "llama": _llama,
    "mpt": _mpt,
    "nemotron": _nemotron,
    "olmo2": _olmo2,
    "phi2": _phi2,
    "phi3": _phi3,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "qwen3moe": _qwen3_mixture,
    "smollm3": _smollm3,
    "stablelm": _stablelm,
    "starcoder2": _starcoder2,
}
"""What files call an architecture -> the function that reads it."""
