"""What config.json may say: all that models say, and no sizes or types that none can have."""

import copy
import functools
import json
import math
import re

import pytest
import transformers
from transformers import CONFIG_MAPPING

from report import families
from report.models.load.stated import read_config
from tests.fuzz.refusals import tried

pytestmark = pytest.mark.promise("config-sizes")

PUBLISHED = {
    "Llama 1": {"model_type": "llama", "pad_token_id": -1, "max_sequence_length": 2048},
    "Llama 3.1": {
        "eos_token_id": [128001, 128008, 128009],
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "model_type": "llama",
        "num_hidden_layers": 32,
        "rms_norm_eps": 1e-05,
        "rope_scaling": {
            "factor": 8.0,
            "high_freq_factor": 4.0,
            "low_freq_factor": 1.0,
            "original_max_position_embeddings": 8192,
            "rope_type": "llama3",
        },
        "rope_theta": 500000.0,
    },
    "GPT-2": {
        "activation_function": "gelu_new",
        "model_type": "gpt2",
        "n_ctx": 1024,
        "n_inner": None,
        "n_layer": 12,
        "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}},
    },
    "MPT 7B": {
        "attn_config": {"alibi_bias_max": 8, "attn_type": "multihead_attention", "clip_qkv": None},
        "expansion_ratio": 4,
        "init_config": {"emb_init_std": None, "name": "kaiming"},
        "max_seq_len": 2048,
        "model_type": "mpt",
        "n_heads": 32,
        "torch_dtype": "bfloat16",
    },
    "Pythia": {"model_type": "gpt_neox", "rotary_emb_base": 10000, "rotary_pct": 0.25},
    "BLOOM": {"model_type": "bloom", "n_head": 16, "num_attention_heads": 16, "seq_length": 2048},
    "GPT-Neo": {
        "attention_layers": ["global", "local"] * 6,
        "attention_types": [[["global", "local"], 6]],
        "model_type": "gpt_neo",
        "num_heads": 12,
    },
    "DeBERTa v3": {
        "max_relative_positions": -1,  # as many as there are positions
        "model_type": "deberta-v2",
        "position_buckets": 256,
        "type_vocab_size": 0,
    },
    "Phi 3": {
        "max_position_embeddings": 131072,
        "model_type": "phi3",
        "original_max_position_embeddings": 4096,
        "rope_scaling": {"long_factor": [1.08] * 48, "short_factor": [1] * 48, "type": "longrope"},
        "sliding_window": 262144,  # longer than any text
    },
    "LLaVA": {
        "model_type": "llava",
        "text_config": {"model_type": "llama", "max_position_embeddings": 4096},
        "vision_config": {"hidden_size": 1024, "model_type": "clip_vision_model"},
        "vision_feature_layer": -2,  # counted from the end
    },
    "labels that are called as settings and functions are": {
        "model_type": "bert",
        "id2label": {"0": "update", "1": "hidden_size"},
        "label2id": {"update": 0, "hidden_size": -1},
    },
}
"""Of published models, what configs of transformers' own classes do not say."""


def write(folder, config):
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize("model", PUBLISHED)
def test_what_models_say_is_accepted(tmp_path, model):
    write(tmp_path, PUBLISHED[model])
    assert read_config(tmp_path, "it") == PUBLISHED[model]


def configs(family):
    """The configs of a family's variants, as save_pretrained writes them."""
    described = families.read(family)
    for changes in described.get("variants", {"": {}}).values():
        settings = described.get("config", {}) | changes
        settings.pop("gain", None)
        model_class = getattr(transformers, settings.pop("class", described["class"]))
        yield json.loads(model_class.config_class(**copy.deepcopy(settings)).to_json_string())


def sizes(config):
    """The names that a config has for what every model has, those of a text config inside it too:
    list of (path of keys, value)."""
    names = {"num_attention_heads", "num_hidden_layers", "hidden_size", "vocab_size", "head_dim"}
    names |= {"num_key_value_heads", "intermediate_size"}
    mapped = CONFIG_MAPPING[config["model_type"]].attribute_map
    names |= {mapped[name] for name in names & mapped.keys()}
    places = [((name,), config[name]) for name in sorted(names & config.keys())]
    for part in {"text_config", "vision_config"} & config.keys():
        places += [((part, *path), value) for path, value in sizes(config[part])]
    return places


FEED_FORWARD = ("intermediate_size", "hidden_dim", "ffn_hidden_size", "ffn_dim", "n_inner")
"""What may be 0, as a layer may have none."""

WRONG = [0, -8, 1.5, "8", True, {}, {"a": 1}, [8, -8], 10**12, 10**400, math.nan, -math.inf]


@pytest.mark.parametrize("family", families.names())
def test_what_a_family_says_is_accepted_and_no_size_that_no_model_has(tmp_path, family):
    for config in configs(family):
        write(tmp_path, config)
        assert read_config(tmp_path, "it") == config
    places = sizes(config)
    assert len(places) >= 4, "a family that calls its sizes otherwise"
    for path, _ in places:
        every = WRONG[path[-1] in FEED_FORWARD :]
        for wrong in every if family == "llama" else [-8, 10**12]:
            changed = copy.deepcopy(config)
            *outer, key = path
            functools.reduce(dict.__getitem__, outer, changed)[key] = wrong
            write(tmp_path, changed)
            _, sentence = tried(read_config, tmp_path, "it")
            assert sentence is not None, (path, wrong)
            wanted = rf"'it/config\.json': {key} is .+, allowed is a whole number fr"
            assert re.match(wanted, sentence)


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
    _, sentence = tried(read_config, tmp_path, "it")
    assert sentence is not None
    assert sentence.startswith("'it/config.json': ")
    assert message.partition("|")[0] in sentence or message.partition("|")[2] in sentence
