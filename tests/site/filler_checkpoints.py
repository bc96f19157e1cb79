"""Checkpoints like those of the three models of the filler study.

Settings are written as their makers publish them, with the real numbers of heads, kinds of
rotation, norms and windows; widths, vocabularies and the number of layers are small, and weights
random.
"""

import json

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

from report import families

LAYERS = 7
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "bos_token_id": 1,
    "eos_token_id": [2, 3],
    "head_dim": 4,
    "hidden_size": 128,
    "intermediate_size": 96,
    "max_position_embeddings": 131072,
    "num_attention_heads": 32,
    "num_hidden_layers": LAYERS,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    },
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
QWEN = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "bos_token_id": 1,
    "eos_token_id": 1,
    "hidden_size": 112,
    "intermediate_size": 96,
    "max_position_embeddings": 4096,
    "num_attention_heads": 28,
    "num_hidden_layers": LAYERS,
    "num_key_value_heads": 4,
    "rms_norm_eps": 1e-06,
    "rope_theta": 10000,
    "sliding_window": 4096,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "use_sliding_window": False,
}
GEMMA = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "boi_token_index": 97,
    "eoi_token_index": 96,
    "eos_token_id": [1, 106],
    "image_token_index": 98,
    "mm_tokens_per_image": 4,
    "text_config": {
        "model_type": "gemma3_text",
        "hidden_size": 80,
        "intermediate_size": 96,
        "head_dim": 16,
        "num_attention_heads": 8,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": 4,
        "query_pre_attn_scalar": 16,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 32,
    },
    "torch_dtype": "bfloat16",
    "vision_config": {
        "model_type": "siglip_vision_model",
        "hidden_size": 32,
        "image_size": 32,
        "intermediate_size": 32,
        "num_attention_heads": 2,
        "num_hidden_layers": 3,
        "patch_size": 8,
    },
}
REAL = {
    "meta-llama/Llama-3.1-8B-Instruct": LLAMA,
    "Qwen/Qwen2.5-Math-7B": QWEN,
    "google/gemma-3-4b-it": GEMMA,
}


def checkpoint(name, folder, read):
    """A random checkpoint in bfloat16 with the settings of a real one, in many files; read: its
    tokenizer."""
    read.save_pretrained(folder)
    config = json.loads(json.dumps(REAL[name]))
    config.get("text_config", config)["vocab_size"] = len(read) + 8
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    made = AutoModelForImageTextToText if "text_config" in config else AutoModelForCausalLM
    model = made.from_config(AutoConfig.from_pretrained(folder))
    families.randomise(model, 1.6, torch.Generator().manual_seed(len(name)))
    model.to(torch.bfloat16).save_pretrained(folder, max_shard_size="60KB")
    path.write_text(json.dumps(config))  # as published, not as this version would write it
    return folder
