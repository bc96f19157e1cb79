"""What config.json may say: all that models say, and no sizes or types that none can have."""

import copy
import functools
import json
import math
import re
from pathlib import Path

import pytest
import transformers
from transformers import CONFIG_MAPPING, AutoConfig

import report
from report import families
from report.models.load.stated import read_config
from tests.fuzz.refusals import tried

pytestmark = pytest.mark.promise("config-sizes")

LLAMA_ROPE = {
    "factor": 8.0,
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192,
    "rope_type": "llama3",
}

PUBLISHED = {
    "Llama 1, whose padding token is -1": {
        "architectures": ["LLaMAForCausalLM"],
        "bos_token_id": 0,
        "eos_token_id": 1,
        "hidden_act": "silu",
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "initializer_range": 0.02,
        "max_sequence_length": 2048,
        "model_type": "llama",
        "num_attention_heads": 32,
        "num_hidden_layers": 32,
        "pad_token_id": -1,
        "rms_norm_eps": 1e-06,
        "torch_dtype": "float16",
        "transformers_version": "4.27.0.dev0",
        "use_cache": True,
        "vocab_size": 32000,
    },
    "Llama 3.1": {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": 128000,
        "eos_token_id": [128001, 128008, 128009],
        "hidden_act": "silu",
        "hidden_size": 4096,
        "initializer_range": 0.02,
        "intermediate_size": 14336,
        "max_position_embeddings": 131072,
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": 32,
        "num_hidden_layers": 32,
        "num_key_value_heads": 8,
        "pretraining_tp": 1,
        "rms_norm_eps": 1e-05,
        "rope_scaling": LLAMA_ROPE,
        "rope_theta": 500000.0,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "vocab_size": 128256,
    },
    "GPT-2": {
        "activation_function": "gelu_new",
        "architectures": ["GPT2LMHeadModel"],
        "attn_pdrop": 0.1,
        "bos_token_id": 50256,
        "embd_pdrop": 0.1,
        "eos_token_id": 50256,
        "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-05,
        "model_type": "gpt2",
        "n_ctx": 1024,
        "n_embd": 768,
        "n_head": 12,
        "n_inner": None,
        "n_layer": 12,
        "n_positions": 1024,
        "resid_pdrop": 0.1,
        "summary_activation": None,
        "summary_first_dropout": 0.1,
        "summary_proj_to_labels": True,
        "summary_type": "cls_index",
        "summary_use_proj": True,
        "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
        "vocab_size": 50257,
    },
    "Falcon 7B": {
        "alibi": False,
        "apply_residual_connection_post_layernorm": False,
        "architectures": ["FalconForCausalLM"],
        "attention_dropout": 0.0,
        "bias": False,
        "bos_token_id": 11,
        "eos_token_id": 11,
        "hidden_dropout": 0.0,
        "hidden_size": 4544,
        "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-05,
        "model_type": "falcon",
        "multi_query": True,
        "new_decoder_architecture": False,
        "num_attention_heads": 71,
        "num_hidden_layers": 32,
        "parallel_attn": True,
        "torch_dtype": "bfloat16",
        "vocab_size": 65024,
    },
    "MPT 7B, as its makers wrote it": {
        "architectures": ["MPTForCausalLM"],
        "attn_config": {
            "alibi": True,
            "alibi_bias_max": 8,
            "attn_impl": "torch",
            "attn_pdrop": 0,
            "attn_type": "multihead_attention",
            "attn_uses_sequence_id": False,
            "clip_qkv": None,
            "prefix_lm": False,
            "qk_ln": False,
            "softmax_scale": None,
        },
        "d_model": 4096,
        "emb_pdrop": 0,
        "embedding_fraction": 1.0,
        "expansion_ratio": 4,
        "init_config": {"emb_init_std": None, "init_nonlinearity": "relu", "name": "kaiming"},
        "init_device": "cpu",
        "learned_pos_emb": True,
        "logit_scale": None,
        "max_seq_len": 2048,
        "model_type": "mpt",
        "n_heads": 32,
        "n_layers": 32,
        "no_bias": True,
        "norm_type": "low_precision_layernorm",
        "resid_pdrop": 0,
        "torch_dtype": "bfloat16",
        "use_cache": False,
        "verbose": 0,
        "vocab_size": 50432,
    },
    "Gemma 3 4B": {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "boi_token_index": 255999,
        "eoi_token_index": 256000,
        "eos_token_id": [1, 106],
        "image_token_index": 262144,
        "initializer_range": 0.02,
        "mm_tokens_per_image": 256,
        "model_type": "gemma3",
        "text_config": {
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "model_type": "gemma3_text",
            "num_hidden_layers": 34,
            "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
            "sliding_window": 1024,
        },
        "torch_dtype": "bfloat16",
        "vision_config": {
            "hidden_size": 1152,
            "image_size": 896,
            "intermediate_size": 4304,
            "model_type": "siglip_vision_model",
            "num_attention_heads": 16,
            "num_hidden_layers": 27,
            "patch_size": 14,
            "vision_use_head": False,
        },
    },
    "Qwen2.5": {
        "architectures": ["Qwen2ForCausalLM"],
        "attention_dropout": 0.0,
        "bos_token_id": 151643,
        "eos_token_id": 151643,
        "hidden_act": "silu",
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "max_position_embeddings": 4096,
        "max_window_layers": 28,
        "model_type": "qwen2",
        "num_attention_heads": 28,
        "num_hidden_layers": 28,
        "num_key_value_heads": 4,
        "rms_norm_eps": 1e-06,
        "rope_theta": 10000,
        "sliding_window": None,
        "use_mrope": False,
        "use_sliding_window": False,
        "vocab_size": 152064,
    },
    "Pythia": {
        "architectures": ["GPTNeoXForCausalLM"],
        "bos_token_id": 0,
        "eos_token_id": 0,
        "hidden_act": "gelu",
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "layer_norm_eps": 1e-05,
        "max_position_embeddings": 2048,
        "model_type": "gpt_neox",
        "num_attention_heads": 16,
        "num_hidden_layers": 24,
        "rotary_emb_base": 10000,
        "rotary_pct": 0.25,
        "tie_word_embeddings": False,
        "use_parallel_residual": True,
        "vocab_size": 50304,
    },
    "BLOOM, which has two names for its heads": {
        "apply_residual_connection_post_layernorm": False,
        "architectures": ["BloomForCausalLM"],
        "attention_dropout": 0.0,
        "attention_softmax_in_fp32": True,
        "bias_dropout_fusion": True,
        "hidden_size": 1024,
        "hidden_dropout": 0.0,
        "layer_norm_epsilon": 1e-05,
        "masked_softmax_fusion": True,
        "model_type": "bloom",
        "n_head": 16,
        "n_inner": None,
        "n_layer": 24,
        "num_attention_heads": 16,
        "offset_alibi": 100,
        "pretraining_tp": 1,
        "seq_length": 2048,
        "skip_bias_add": True,
        "skip_bias_add_qkv": False,
        "slow_but_exact": False,
        "unk_token_id": 0,
        "vocab_size": 250880,
    },
    "OPT": {
        "_remove_final_layer_norm": False,
        "activation_dropout": 0.0,
        "activation_function": "relu",
        "architectures": ["OPTForCausalLM"],
        "attention_dropout": 0.0,
        "do_layer_norm_before": False,
        "dropout": 0.1,
        "ffn_dim": 4096,
        "hidden_size": 1024,
        "init_std": 0.02,
        "layerdrop": 0.0,
        "max_position_embeddings": 2048,
        "model_type": "opt",
        "num_attention_heads": 16,
        "num_hidden_layers": 24,
        "prefix": "</s>",
        "vocab_size": 50272,
        "word_embed_proj_dim": 512,
    },
    "GPT-Neo": {
        "activation_function": "gelu_new",
        "attention_dropout": 0,
        "attention_layers": ["global", "local"] * 6,
        "attention_types": [[["global", "local"], 6]],
        "embed_dropout": 0,
        "gradient_checkpointing": False,
        "hidden_size": 768,
        "intermediate_size": None,
        "layer_norm_epsilon": 1e-05,
        "max_position_embeddings": 2048,
        "model_type": "gpt_neo",
        "num_heads": 12,
        "num_layers": 12,
        "resid_dropout": 0,
        "vocab_size": 50257,
        "window_size": 256,
    },
    "DeBERTa v3, whose -1 means as many as there are positions": {
        "attention_probs_dropout_prob": 0.1,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": 768,
        "intermediate_size": 3072,
        "layer_norm_eps": 1e-07,
        "max_position_embeddings": 512,
        "max_relative_positions": -1,
        "model_type": "deberta-v2",
        "norm_rel_ebd": "layer_norm",
        "num_attention_heads": 12,
        "num_hidden_layers": 12,
        "pooler_dropout": 0,
        "pooler_hidden_size": 768,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
        "position_buckets": 256,
        "relative_attention": True,
        "share_att_key": True,
        "type_vocab_size": 0,
        "vocab_size": 128100,
    },
    "Phi 3, a context longer than its training's": {
        "architectures": ["Phi3ForCausalLM"],
        "hidden_size": 3072,
        "intermediate_size": 8192,
        "max_position_embeddings": 131072,
        "model_type": "phi3",
        "num_attention_heads": 32,
        "num_hidden_layers": 32,
        "num_key_value_heads": 32,
        "original_max_position_embeddings": 4096,
        "pad_token_id": 32000,
        "resid_pdrop": 0.0,
        "rms_norm_eps": 1e-05,
        "rope_scaling": {
            "long_factor": [1.08, 1.1] * 24,
            "short_factor": [1, 1.05] * 24,
            "type": "longrope",
        },
        "rope_theta": 10000.0,
        "sliding_window": 262144,
        "vocab_size": 32064,
    },
    "LLaVA, which counts layers from the end": {
        "architectures": ["LlavaForConditionalGeneration"],
        "ignore_index": -100,
        "image_token_index": 32000,
        "model_type": "llava",
        "projector_hidden_act": "gelu",
        "text_config": {"model_type": "llama", "max_position_embeddings": 4096},
        "vision_config": {
            "hidden_size": 1024,
            "image_size": 336,
            "model_type": "clip_vision_model",
            "num_attention_heads": 16,
            "num_hidden_layers": 24,
            "patch_size": 14,
            "vocab_size": 32000,
        },
        "vision_feature_layer": -2,
        "vision_feature_select_strategy": "default",
    },
    "labels that are called as settings and functions are": {
        "model_type": "bert",
        "id2label": {"0": "update", "1": "hidden_size"},
        "label2id": {"update": 0, "hidden_size": -1},
    },
}


def write(folder, config):
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("model", PUBLISHED)
def test_what_models_say_is_accepted_and_means_what_it_meant(tmp_path, model):
    write(tmp_path, PUBLISHED[model])
    assert read_config(tmp_path, "it") == PUBLISHED[model]
    AutoConfig.from_pretrained(str(tmp_path))


def configs(family):
    """The configs of a family's variants, as save_pretrained writes them."""
    described = families.read(family)
    for changes in described.get("variants", {"": {}}).values():
        settings = described.get("config", {}) | changes
        settings.pop("gain", None)
        model_class = getattr(transformers, settings.pop("class", described["class"]))
        yield json.loads(model_class.config_class(**copy.deepcopy(settings)).to_json_string())


@pytest.mark.parametrize("family", families.names())
def test_what_every_family_says_is_accepted(tmp_path, family):
    for config in configs(family):
        write(tmp_path, config)
        assert read_config(tmp_path, "it") == config


def sizes(config):
    """The names that a config has for what every model has, those of a text config inside it too:
    list of (path of keys, value)."""
    names = {"num_attention_heads", "num_hidden_layers", "hidden_size", "vocab_size", "head_dim"}
    names |= {"num_key_value_heads", "intermediate_size"}
    mapped = CONFIG_MAPPING[config["model_type"]].attribute_map
    names |= {mapped[name] for name in names & mapped.keys()}
    found = [((name,), config[name]) for name in sorted(names & config.keys())]
    for part in {"text_config", "vision_config"} & config.keys():
        found += [((part, *path), value) for path, value in sizes(config[part])]
    return found


FEED_FORWARD = ("intermediate_size", "hidden_dim", "ffn_hidden_size", "ffn_dim", "n_inner")
"""What may be 0, as a layer may have none."""

WRONG = [0, -8, 1.5, "8", True, {}, {"a": 1}, [8, -8], 10**12, 10**400, math.nan, -math.inf]


@pytest.mark.parametrize("family", families.names())
def test_sizes_and_types_that_no_model_has_are_refused_in_every_family(tmp_path, family):
    config = next(configs(family))
    places = sizes(config)
    assert len(places) >= 4, "a family that calls its sizes otherwise"
    for path, _ in places:
        for wrong in WRONG[path[-1] in FEED_FORWARD :]:
            changed = copy.deepcopy(config)
            *outer, key = path
            functools.reduce(dict.__getitem__, outer, changed)[key] = wrong
            write(tmp_path, changed)
            _, said = tried(read_config, tmp_path, "it")
            assert said is not None, (path, wrong)
            assert re.match(rf"'it/config\.json': {key} is .+, allowed is a whole number fr", said)


OTHERS = [
    ({"rope_scaling": {"type": ["linear"], "factor": 2.0}}, "type is ['linear']|a text"),
    ({"rope_scaling": {"rope_type": ["linear"]}}, "rope_type is"),
    ({"rope_parameters": {"full_attention": {"rope_type": 5}}}, "rope_type is 5"),
    ({"rope_scaling": {"rope_type": "linear", "factor": "2"}}, "factor is '2'"),
    ({"rope_scaling": {"rope_type": "linear", "factor": -1}}, "factor is -1"),
    ({"rope_scaling": {"short_factor": [1, None, {}]}}, "short_factor is {}"),
    ({"rope_theta": 0}, "rope_theta is 0, allowed is a number above 0"),
    ({"rms_norm_eps": math.nan}, "rms_norm_eps is nan"),
    ({"partial_rotary_factor": 7}, "partial_rotary_factor is 7, allowed is a number from 0 to 1"),
    ({"num_labels": 10**9}, "num_labels is 1000000000"),
    ({"attention_types": [[["global"], 10**9]]}, "attention_types is 1000000000"),
    ({"get_text_config": 1}, "'get_text_config' is no setting of any model"),
    ({"__class__": 1}, "'__class__' is no setting"),
    ({"a": json.loads("[" * 60 + "]" * 60)}, "'a' lies in more than 50 objects and lists"),
    ({"\ud800_size": 10**12}, "'\\ud800_size' is 1000000000000"),
]


@pytest.mark.parametrize(("change", "message"), OTHERS, ids=lambda value: str(value)[:30])
def test_other_settings_that_no_model_has_are_refused(tmp_path, change, message):
    write(tmp_path, PUBLISHED["Llama 3.1"] | change)
    _, said = tried(read_config, tmp_path, "it")
    assert said is not None
    assert said.startswith("'it/config.json': ")
    assert message.partition("|")[0] in said or message.partition("|")[2] in said


def test_embedded_models_are_accepted():
    for path in sorted((Path(report.__file__).parent / "embedded").glob("*/config.json")):
        assert read_config(path.parent, "it")["model_type"]
