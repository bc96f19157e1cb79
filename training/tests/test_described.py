"""What cards say about architectures is what the saved models have."""

import json

import pytest

from report.models.find.weights import read_header
from training import described
from training.recipe import RECIPES, random_model

from .conftest import tiny_recipe

IN_TURN = "attention, then MLP (not in parallel)"

TABLES = {
    "falcon-8x8": {
        "class": f"`FalconForCausalLM`, {IN_TURN}, biases everywhere",
        "norms": "layer norms before attention, before the MLP, and at the end",
        "position": "ALiBi",
        "layers x heads": "8 x 8, each head with its own queries, keys and values",
        "hidden size": "192 (24 a head), MLP 768",
    },
    "qwen2-5x28": {
        "class": f"`Qwen2ForCausalLM`, {IN_TURN}, biases on queries, keys and values only",
        "norms": "RMS norms before attention, before the MLP, and at the end",
        "position": "RoPE, base 10,000",
        "layers x heads": "5 x 28, each head with its own queries; every 7 heads share keys and "
        "values (4 in a layer)",
        "hidden size": "192 (32 a head), MLP 512, gated (silu)",
    },
    "gemma3-6x8": {
        "class": f"`Gemma3ForCausalLM`, {IN_TURN}, no biases",
        "norms": "RMS norms before and after attention, before and after the MLP, and at the end; "
        "one on every head's queries and keys",
        "position": "RoPE, base 10,000 in all layers",
        "layers x heads": "6 x 8, each head with its own queries; every 2 heads share keys and "
        "values (4 in a layer)",
        "hidden size": "192 (32 a head), MLP 512, gated (gelu_pytorch_tanh)",
        "windows": "layers 0, 1, 2, 3 and 4 see the current token and the 159 before it, layer 5 "
        "everything",
    },
}


def saved(recipe, folder):
    """config.json and the shapes of the tensors, as an untrained model of a recipe is saved."""
    random_model(recipe, 0).save_pretrained(folder)
    tensors = read_header(folder / "model.safetensors")
    shapes = {name: tensor["shape"] for name, tensor in tensors.items()}
    return json.loads((folder / "config.json").read_text("utf-8")), shapes


FAMILIES = {
    "falcon-8x8": (["falcon", "alibi"], "tiiuae/falcon-rw-1b", False),
    "qwen2-5x28": (["qwen2", "rope"], "Qwen/Qwen2.5-Math-7B", True),
    "gemma3-6x8": (["gemma3", "rope"], "google/gemma-3-4b-it", True),
}
"""Tags of a model, a large one like it, and whether their heads are as wide."""


@pytest.mark.parametrize("name", RECIPES)
def test_the_table_says_what_the_model_has(name, tmp_path):
    config, shapes = saved(RECIPES[name], tmp_path)
    assert dict(described.rows(config, shapes)) == TABLES[name]
    family = described.tags(config), described.like(config), described.same_heads(config)
    assert family == FAMILIES[name]


def test_a_model_of_sliding_layers_alone_has_no_global_ones(tmp_path):
    recipe = tiny_recipe(architecture="gemma3", num_key_value_heads=1, head_dim=8)
    config, _ = saved(recipe, tmp_path)
    wanted = "layers 0 and 1 see the current token and the 127 before it"
    assert described.windows(config) == wanted
    assert "share keys and values (1 in a layer)" in described.heads(config)


def test_bases_that_differ_are_told_by_layer():
    kinds = {"sliding_attention": {"rope_theta": 1e4}, "full_attention": {"rope_theta": 1e6}}
    wanted = "RoPE, base 10,000 in sliding layers and 1,000,000 in global layers"
    assert described.position({"rope_parameters": kinds}) == wanted
