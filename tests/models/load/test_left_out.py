"""Tensors of a checkpoint that a model has no place for: refused, unless they change nothing."""

import itertools
import json

import pytest
import torch
from transformers import BertConfig, BertForPreTraining, BertModel, GPT2Config, GPT2Model

from report import families
from report.models.load.load import load_model
from report.models.measure.passage import measure_passage
from tests.models.checkpoints import WAYS, change_config, change_weights, refused, save

NUMBER = ("num_hidden_layers", "num_layers", "n_layer", "n_layers")
LEFT_OUT = "leaves out, the first is '.*{}"

MEASURED = [name for name in families.names() if not families.read(name).get("unsupported")]


def fewer_layers(folder):
    """State one layer fewer than the weights have; returns how many are left."""
    config = json.loads((folder / "config.json").read_text())
    text = config.get("text_config", config)
    key = next(key for key in NUMBER if key in text)
    kinds = text.get("layer_types")
    text |= {key: text[key] - 1} | ({"layer_types": kinds[: text[key] - 1]} if kinds else {})
    (folder / "config.json").write_text(json.dumps(config))
    return text[key]


# gpt_neo states a list of kinds of layers, which has to have as many: transformers refuses it
OTHERS = [name for name in MEASURED if name != "gpt_neo"]


@pytest.mark.parametrize(
    ("family", "way"),
    [*zip(OTHERS, itertools.cycle(WAYS), strict=False), *(("llama", way) for way in WAYS)],
)
def test_fewer_layers_than_the_weights_have_are_refused(family, way, tmp_path):
    folder = save(families.tiny(families.variants(family)[0]), tmp_path / "model", 60)
    number = fewer_layers(folder)
    refused(folder, LEFT_OUT.format(rf"\.{number}\."), **way)


@pytest.mark.parametrize("way", WAYS)
def test_weights_of_zeros_are_known_and_biases_and_others_are_not(way, tmp_path):
    folder = save(families.tiny("gpt2/default"), tmp_path / "model", 60)
    loaded = load_model(folder, **way)
    measure_passage(loaded, [1, 2, 3])
    assert loaded.zeros == set()
    names = {"transformer.h.0.attn.c_attn.weight", "transformer.h.0.ln_1.weight"}
    names |= set() if way == {"layers": 1} else {"transformer.h.1.attn.c_attn.weight"}
    biases = {"transformer.h.0.attn.c_attn.bias"}
    change_weights(folder, lambda held: held | {name: held[name] * 0 for name in names | biases})
    loaded = load_model(folder, **way)
    measure_passage(loaded, [1, 2, 3])
    assert loaded.zeros == names


FOUR, MASK = torch.ones(4), torch.ones(1, 1, 8, 8, dtype=torch.bool)
NOTHING = [
    ("llama/default", "model.layers.0.self_attn.rotary_emb.inv_freq", FOUR),
    ("llama/default", "model.vision_tower.w", FOUR),
    ("llama/default", "model.layers.0.self_attn.q_proj.bias", torch.zeros(4)),
    ("gptj", "transformer.h.0.attn.masked_bias", FOUR),
    ("gptj", "transformer.h.0.attn.bias", MASK),
    ("gpt2/default", "transformer.h.0.attn.masked_bias", FOUR),
    ("gpt2/default", "transformer.h.0.attn.bias", MASK),
    ("gpt_neo", "transformer.h.0.attn.attention.masked_bias", FOUR),
    ("gpt_neo", "transformer.h.0.attn.attention.bias", MASK),
    ("gpt_neox", "gpt_neox.layers.0.attention.rotary_emb.inv_freq", FOUR),
    ("gpt_neox", "gpt_neox.layers.0.attention.bias", MASK),
    ("codegen", "transformer.h.0.attn.causal_mask", FOUR),
    ("falcon/rotary-multi-query", "transformer.h.0.self_attention.rotary.inv_freq", FOUR),
    ("bert/encoder", "bert.pooler.dense.weight", FOUR),
    ("bert/encoder", "cls.seq_relationship.weight", FOUR),
    ("roberta", "roberta.embeddings.position_ids", FOUR),
    ("roberta", "roberta.pooler.dense.weight", FOUR),
    ("deberta_v2", "mask_predictions.dense.weight", FOUR),
    ("qwen3", "mtp.layers.0.mlp.up_proj.weight", FOUR),
    ("qwen3", "model.mtp_layers.0.mlp.up_proj.weight", FOUR),
    ("deepseek_v3/default", "model.layers.3.eh_proj.weight", FOUR),
    ("deepseek_v3/default", "model.layers.3.mlp.w.weight", FOUR),
]
"""Variant of a family, and a tensor that its checkpoints on the hub hold beside a model's."""


@pytest.mark.parametrize("variant", dict.fromkeys(variant for variant, *_ in NOTHING))
def test_what_changes_nothing_is_left_out_without_a_word(variant, tmp_path):
    folder, said = save(families.tiny(variant), tmp_path / "model", 60), []
    more = {name: tensor.clone() for other, name, tensor in NOTHING if other == variant}
    change_weights(folder, lambda held: held | more)
    for way in WAYS:
        load_model(folder, announce=said.append, **way)
    assert said == []


def test_a_head_of_its_own_is_left_out_and_said(folder):
    change_weights(folder, lambda held: held | {"v_head.summary.weight": FOUR})
    for way in WAYS:
        said = []
        load_model(folder, announce=said.append, **way)
        assert any("v_head.summary.weight" in sentence for sentence in said)


def of_another_class(model, folder, architecture, name):
    """A checkpoint of one class that states another, with a layer more than config.json says."""
    change_config(save(model, folder, 60), architectures=[architecture])
    fewer_layers(folder)
    for way in WAYS:
        refused(folder, LEFT_OUT.format(name), **way)


def test_layers_are_found_under_a_prefix_that_the_model_lacks_or_has_alone(tmp_path):
    # the hub's gpt2 has no prefix, its BERT has one and is loaded with a head or without
    bare = GPT2Model(GPT2Config(vocab_size=60, n_embd=16, n_layer=3, n_head=2))
    of_another_class(bare, tmp_path / "gpt2", "GPT2LMHeadModel", r"h\.2\.")
    sizes = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2}
    config = BertConfig(intermediate_size=16, **sizes)
    headed, bare = BertForPreTraining(config), BertModel(config)
    of_another_class(headed, tmp_path / "bert", "BertModel", r"layer\.2\.")
    of_another_class(bare, tmp_path / "headed", "BertModel", r"layer\.2\.")


def test_old_names_of_norms_are_known(tmp_path):
    def old(tensors):
        return {
            name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            ): tensor
            for name, tensor in tensors.items()
        }

    folder = save(families.tiny("bert/encoder"), tmp_path / "model", 60)
    change_weights(folder, old)
    for way in WAYS:
        load_model(folder, **way)
