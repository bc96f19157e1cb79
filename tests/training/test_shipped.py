"""The models that ship: small, of the stated architecture, and as good as their cards say."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import report.embedded
from report.models.find.known import embedded_models
from report.training.acceptance import acceptance
from report.training.model_card import card, plain, whole_recipe
from report.training.recipe import RECIPES, random_model
from report.training.verdict import require_accepted, verdicts

EMBEDDED = Path(report.embedded.__file__).parent
FIRST = "falcon-8x8"


@pytest.fixture(scope="module", params=embedded_models())
def folder(request):
    """Where a model lies in the package."""
    return EMBEDDED / request.param


@pytest.fixture(scope="module")
def content(folder):
    """The JSON files of the folder, by name."""
    names = ("config", "training", "acceptance")
    return {name: json.loads((folder / f"{name}.json").read_text("utf-8")) for name in names}


def test_nothing_but_the_model_lies_in_the_folder(folder):
    assert {path.name for path in folder.iterdir()} == {
        "README.md",
        "acceptance.json",
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "training.json",
    }


def test_the_folder_is_small(folder):
    """At most 12 MB for the first model, 9 MB for the others."""
    limit = 12_000_000 if folder.name == FIRST else 9_000_000
    assert sum(path.stat().st_size for path in folder.iterdir()) <= limit


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
    assert config["architectures"] == ["FalconForCausalLM"]
    assert {
        key: config[key]
        for key in ("alibi", "bias", "multi_query", "parallel_attn", "new_decoder_architecture")
    } == {
        "alibi": True,
        "bias": True,
        "multi_query": False,
        "parallel_attn": False,
        "new_decoder_architecture": False,
    }
    assert (config["num_hidden_layers"], config["num_attention_heads"]) == (8, 8)


def test_it_was_trained_by_the_recipe_in_the_repository(folder, content):
    assert whole_recipe(content["training"]) == plain(RECIPES[folder.name])


def test_all_have_the_books_and_the_tokenizer_of_the_first(folder, content):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (folder / name).read_bytes() == (EMBEDDED / FIRST / name).read_bytes()
    first = json.loads((EMBEDDED / FIRST / "training.json").read_text("utf-8"))
    for key in ("books", "held_out", "source"):
        assert content["training"][key] == first[key]


def test_no_path_of_a_machine_is_in_it(folder):
    for name in ("config.json", "training.json", "acceptance.json", "tokenizer_config.json"):
        text = (folder / name).read_text("utf-8")
        assert '"/' not in text, name
        assert ":\\\\" not in text, name


def test_the_first_is_accepted_and_the_others_have_learnt_to_read(folder, content):
    result = content["acceptance"]
    if folder.name == FIRST:
        require_accepted(result)
        return
    loss, _, previous, _ = verdicts(result)
    assert loss["accepted"]
    assert result["held_out"]["previous_token"]["value"] > 0.7, previous
    assert result["prompts"]["loss"] < 0.5  # falcon-8x8, which has read none: 4.6 nats


def test_the_card_is_what_its_numbers_make_it(folder):
    assert (folder / "README.md").read_text("utf-8") == card(folder)


def test_the_head_numbers_come_out_again(folder, content):
    recorded = content["acceptance"]
    measured = acceptance(folder.name)
    assert measured["weights_sha256"] == recorded["weights_sha256"]
    assert measured["limits"] == recorded["limits"]
    assert measured["corpus"]["tokens"] == recorded["corpus"]["tokens"]
    # Another processor may round a near tie between two targets the other way.
    for part in (measured["corpus"], recorded["corpus"]):
        assert part["texts"] >= 40
    for key in ("first_token", "previous_token"):
        assert measured["corpus"][key] == pytest.approx(recorded["corpus"][key], abs=2e-3)
    assert measured["induction"] == pytest.approx(recorded["induction"], abs=2e-3)
    assert measured["prompts"] == pytest.approx(recorded["prompts"], abs=2e-3)
