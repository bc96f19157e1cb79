"""Tensors of a checkpoint that a model has no place for: refused, unless they change nothing."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForPreTraining, BertModel, GPT2Config, GPT2Model

from report import families
from report.models.load.load import load_model
from report.models.measure.passage import measure_passage
from tests.models.checkpoints import add_adapter, change_config, change_weights, refused, save

WAYS = ({}, {"layers": 1}, {"layer_by_layer": True})
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


def split(folder):
    """Put every tensor into a file of its own, with an index."""

    def each(tensors):
        for number, (name, tensor) in enumerate(tensors.items()):
            save_file({name: tensor}, folder / f"{number}.safetensors", metadata={"format": "pt"})
        files = {name: f"{number}.safetensors" for number, name in enumerate(tensors)}
        text = json.dumps({"weight_map": files})
        (folder / "model.safetensors.index.json").write_text(text)
        return tensors

    change_weights(folder, each)
    (folder / "model.safetensors").unlink()


@pytest.mark.parametrize("family", [name for name in MEASURED if name != "gpt_neo"])
def test_fewer_layers_than_the_weights_have_are_refused(family, tmp_path):
    # gpt_neo states a list of kinds of layers, which has to have as many: transformers refuses it
    # as they are, test_adapters.py loads them all in every way
    folder = save(families.tiny(families.variants(family)[0]), tmp_path / "model", 60)
    number = fewer_layers(folder)
    for way in WAYS:
        refused(folder, LEFT_OUT.format(rf"\.{number}\."), **way)


def test_they_are_refused_where_the_files_of_further_layers_are_not_there(tmp_path):
    folder = save(families.tiny("llama"), tmp_path / "model", 60)
    split(folder)
    number = fewer_layers(folder)
    for path in folder.glob("*.safetensors"):
        if f".layers.{number}.".encode() in path.read_bytes():
            path.unlink()
    refused(folder, LEFT_OUT.format(rf"\.{number}\."), layers=1)


def test_they_are_refused_under_an_adapter(tmp_path):
    folder = save(families.tiny("llama"), tmp_path / "model", 60)
    sizes = families.tiny("llama").config
    matrices = {
        f"model.layers.{layer}.self_attn.q_proj.lora_{part}.weight": torch.ones(shape)
        for layer in range(sizes.num_hidden_layers)
        for part, shape in (("A", (2, sizes.hidden_size)), ("B", (sizes.hidden_size, 2)))
    }
    add_adapter(folder, matrices)
    fewer_layers(folder)
    for way in WAYS:
        refused(folder, LEFT_OUT.format(r"\.\d\."), **way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "name",
    [
        "model.layers.0.self_attn.q_proj.bias",
        "model.layers.0.self_attn.q_norm.weight",
        "model.layers.0.input_layernorm.bias",
        "model.layers.1.cross_attn.q_proj.weight",
        "model.embed_norm.weight",
        "lm_head.bias",
    ],
)
def test_a_part_that_the_architecture_does_not_have_is_refused(name, way, tmp_path):
    folder = save(families.tiny("llama"), tmp_path / "model", 60)
    change_weights(folder, lambda tensors: tensors | {name: torch.ones(4)})
    refused(folder, LEFT_OUT.format(name), **way)


QUERY, LAST = "model.layers.0.self_attn.q_proj.weight", "model.norm.weight"


@pytest.mark.promise("ambiguous-weights")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "name", [QUERY[6:], f"model.{QUERY}", f"module.{QUERY}", f"_orig_mod.{QUERY}"]
)
def test_two_names_of_one_tensor_are_refused(name, way, tmp_path):
    folder = save(families.tiny("llama"), tmp_path / "model", 60)
    change_weights(folder, lambda held: held | {name: held[QUERY] + 1})
    refused(folder, f"hold '{QUERY}' twice, as '.*{QUERY[6:]}' and as '.*{QUERY[6:]}'", **way)


@pytest.mark.promise("ambiguous-weights")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int64, torch.bool])
def test_whole_numbers_in_place_of_weights_are_refused(dtype, way, tmp_path):
    folder = save(families.tiny("llama"), tmp_path / "model", 60)
    change_weights(folder, lambda held: held | {QUERY: (held[QUERY] * 99).to(dtype)})
    refused(folder, f"hold '{QUERY}' as whole numbers .{dtype}., and no scales", **way)


DAMAGES = {
    "index says that it is in a.safetensors": lambda held: held | {QUERY: held[LAST] + 1},
    "index does not name it": lambda held: held | {f"{LAST}.more": held[LAST] + 1},
    "but zeros": lambda held: {LAST: torch.zeros(4)},
}


@pytest.mark.promise("ambiguous-weights")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("said", DAMAGES)
def test_a_file_that_the_index_does_not_fit_or_of_zeros_is_refused(said, way, tmp_path):
    folder = save(families.tiny("llama"), tmp_path / "model", 60)
    held = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    files = dict.fromkeys(held, "a.safetensors") | {LAST: "b.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))
    last = {LAST: held.pop(LAST)}
    save_file(held, folder / "a.safetensors", metadata={"format": "pt"})
    save_file(last, folder / "b.safetensors", metadata={"format": "pt"})
    load_model(folder, **way)
    save_file(DAMAGES[said](last), folder / "b.safetensors", metadata={"format": "pt"})
    refused(folder, f"'model/b.safetensors' holds .*{said}", **way)


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


NOTHING = {
    "llama/default": ["model.layers.0.self_attn.rotary_emb.inv_freq", "model.vision_tower.w"],
    "gptj": ["transformer.h.0.attn.masked_bias"],
    "gpt2/default": ["transformer.h.0.attn.masked_bias"],
    "gpt_neo": ["transformer.h.0.attn.attention.masked_bias"],
    "gpt_neox": ["gpt_neox.layers.0.attention.rotary_emb.inv_freq"],
    "codegen": ["transformer.h.0.attn.causal_mask"],
    "falcon/rotary-multi-query": ["transformer.h.0.self_attention.rotary.inv_freq"],
    "bert/encoder": ["bert.pooler.dense.weight", "cls.seq_relationship.weight"],
    "roberta": ["roberta.embeddings.position_ids", "roberta.pooler.dense.weight"],
    "deberta_v2": ["mask_predictions.dense.weight"],
    "qwen3": ["mtp.layers.0.mlp.up_proj.weight", "model.mtp_layers.0.mlp.up_proj.weight"],
    "deepseek_v3/default": ["model.layers.3.eh_proj.weight", "model.layers.3.mlp.w.weight"],
}
"""Variant of a family -> what its checkpoints on the hub hold beside a model's tensors."""


@pytest.mark.parametrize("variant", NOTHING)
def test_what_changes_nothing_is_left_out_without_a_word(variant, tmp_path):
    folder, said = save(families.tiny(variant), tmp_path / "model", 60), []
    change_weights(folder, lambda held: held | {name: torch.ones(4) for name in NOTHING[variant]})
    for way in WAYS:
        load_model(folder, announce=said.append, **way)
    assert said == []


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("gptj", "transformer.h.0.attn.bias"),
        ("gpt2", "transformer.h.0.attn.bias"),
        ("gpt_neo", "transformer.h.0.attn.attention.bias"),
        ("gpt_neox", "gpt_neox.layers.0.attention.bias"),
    ],
)
def test_a_mask_that_was_stored_is_left_out(family, name, tmp_path):
    folder = save(families.tiny(families.variants(family)[0]), tmp_path / "model", 60)
    change_weights(folder, lambda held: held | {name: torch.ones(1, 1, 8, 8, dtype=torch.bool)})
    for way in WAYS:
        load_model(folder, **way)


def test_a_bias_of_zeros_is_left_out(tmp_path):
    folder = save(families.tiny("llama"), tmp_path / "model", 60)
    name = "model.layers.0.self_attn.q_proj.bias"
    change_weights(folder, lambda held: held | {name: torch.zeros(4)})
    for way in WAYS:
        load_model(folder, **way)


def test_a_head_of_its_own_is_left_out_and_said(tmp_path):
    folder = save(families.tiny("llama"), tmp_path / "model", 60)
    change_weights(folder, lambda held: held | {"v_head.summary.weight": torch.ones(4)})
    for way in WAYS:
        said = []
        load_model(folder, announce=said.append, **way)
        assert any("v_head.summary.weight" in one for one in said)


def of_another_class(model, folder, architecture, name):
    """A checkpoint of one class that states another, with a layer more than config.json says."""
    change_config(save(model, folder, 60), architectures=[architecture])
    for way in WAYS:
        load_model(folder, **way)
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
