"""What the first layers of a model need is found by what they use."""

import copy

import pytest

from report import families
from report.models.partial.model import needs, skeleton


def needed(name, layers):
    """Names needed before the layers and in the last one, and those left out of it."""
    model = families.tiny(name)
    empty = skeleton(type(model), copy.deepcopy(model.config))
    before, in_layers = needs(empty, layers)
    assert len(in_layers) == layers
    last = in_layers[-1]
    prefix = last[0].split(f".{layers - 1}.")[0] + f".{layers - 1}."
    assert all(one.startswith(prefix) for one in last)
    every = [one for one in empty.state_dict() if one.startswith(prefix)]
    for index, names in enumerate(in_layers[:-1]):  # layers before the last are needed whole
        start = prefix.replace(f".{layers - 1}.", f".{index}.")
        assert names == [one for one in empty.state_dict() if one.startswith(start)]
    return before, [one.removeprefix(prefix) for one in last], set(every) - set(last)


def test_of_llama_the_embedding_and_of_the_last_layer_its_attention():
    before, last, left_out = needed("llama/default", 3)
    assert before == ["model.embed_tokens.weight"]
    projections = [f"self_attn.{one}_proj.weight" for one in "qkvo"]
    assert last == [*projections, "input_layernorm.weight"]
    assert {one.split(".")[-2] for one in left_out} == {
        *("gate_proj", "up_proj", "down_proj"),
        "post_attention_layernorm",
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt2/default", ["transformer.wte.weight", "transformer.wpe.weight"]),
        (
            "bloom",
            [
                "transformer.word_embeddings.weight",
                "transformer.word_embeddings_layernorm.weight",
                "transformer.word_embeddings_layernorm.bias",
            ],
        ),
        (
            "opt/norm-after",
            [
                "model.decoder.embed_tokens.weight",
                "model.decoder.embed_positions.weight",
                "model.decoder.project_in.weight",
            ],
        ),
    ],
)
def test_what_comes_before_the_layers_and_nothing_that_comes_after(name, expected):
    before, _, _ = needed(name, 2)
    assert before == expected


def test_weights_that_are_used_without_calling_their_module_count():
    before, _, _ = needed("deberta_v2", 1)
    assert "deberta.encoder.rel_embeddings.weight" in before


@pytest.mark.parametrize(
    ("name", "norm"),
    [
        ("gemma2", "post_attention_layernorm.weight"),
        ("gemma3/text", "post_attention_layernorm.weight"),
        ("olmo2", "post_attention_layernorm.weight"),
        ("glm4", "post_self_attn_layernorm.weight"),
    ],
)
def test_a_norm_after_the_attention_is_part_of_what_is_measured(name, norm):
    _, last, _ = needed(name, 1)
    assert norm in last


def test_a_projection_may_be_outside_the_attention():
    _, last, left_out = needed("bert/encoder", 2)
    assert "attention.output.dense.weight" in last
    assert "bert.encoder.layer.1.attention.output.LayerNorm.weight" in left_out


def test_layers_may_differ_in_what_is_in_them():
    _, first, _ = needed("modernbert", 1)
    _, second, _ = needed("modernbert", 2)
    assert "attn_norm.weight" not in first  # the first layer of ModernBERT has an empty norm
    assert "attn_norm.weight" in second
    _, attention, experts = needed("deepseek_v3/default", 2)  # whose first layer has none
    assert "self_attn.kv_b_proj.weight" in attention
    assert any("mlp.experts" in one for one in experts)


def test_the_config_is_left_alone():
    model = families.tiny("gemma3/text")
    empty = skeleton(type(model), copy.deepcopy(model.config))
    before = empty.config.to_dict()
    needs(empty, 2)
    assert empty.config.to_dict() == before
    assert len(empty.config.layer_types) == empty.config.num_hidden_layers == 3
