"""The models that ship are those of the recipes; of their numbers see `tests/test_embedded.py`."""

import json

import pytest
import torch
from safetensors.torch import load_file

from report.models.find.known import embedded_models
from tests.test_embedded import EMBEDDED, FIRST
from training.model_card import plain, whole_recipe
from training.recipe import RECIPES, random_model


@pytest.fixture(scope="module", params=embedded_models())
def folder(request):
    """Where a model lies in the package."""
    return EMBEDDED / request.param


@pytest.fixture(scope="module")
def content(folder):
    """The JSON files of the folder, by name."""
    return {
        name: json.loads((folder / f"{name}.json").read_text("utf-8"))
        for name in ("config", "training")
    }


def test_the_weights_are_finite_bfloat16_and_those_of_the_recipe(folder):
    wanted = random_model(RECIPES[folder.name], 0).state_dict()
    weights = load_file(folder / "model.safetensors")
    for name, tensor in weights.items():
        assert tensor.dtype == torch.bfloat16, name
        assert tensor.isfinite().all(), name
        assert tensor.shape == wanted[name].shape, name
    assert wanted.keys() - weights.keys() <= {"lm_head.weight"}, "shared with the input"


def test_the_config_is_that_of_the_recipe(folder, content):
    """What transformers wrote while it was trained is what it would write now."""
    model = random_model(RECIPES[folder.name], content["config"]["bos_token_id"])
    wanted = json.loads(model.config.to_json_string(use_diff=False))
    said_when_saved = {"architectures", "dtype", "transformers_version"}
    found = {key: value for key, value in content["config"].items() if key not in said_when_saved}
    assert found == {key: wanted[key] for key in found}
    assert content["config"]["architectures"] == [type(model).__name__]


def test_the_architecture_of_the_first_is_that_of_falcon_rw():
    config = json.loads((EMBEDDED / FIRST / "config.json").read_text("utf-8"))
    sorts = ("alibi", "bias", "multi_query", "parallel_attn", "new_decoder_architecture")
    assert config["architectures"] == ["FalconForCausalLM"]
    assert [config[key] for key in sorts] == [True, True, False, False, False]
    assert (config["num_hidden_layers"], config["num_attention_heads"]) == (8, 8)


def test_it_was_trained_by_the_recipe_in_the_repository(folder, content):
    assert whole_recipe(content["training"]) == plain(RECIPES[folder.name])


def test_all_have_the_books_and_the_tokenizer_of_the_first(folder, content):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (folder / name).read_bytes() == (EMBEDDED / FIRST / name).read_bytes()
    first = json.loads((EMBEDDED / FIRST / "training.json").read_text("utf-8"))
    for key in ("books", "held_out", "source"):
        assert content["training"][key] == first[key]
