"""The model that ships: small, of the stated architecture, and as good as its card says."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import report.embedded
from report.embedded.acceptance import acceptance
from report.embedded.card import card
from report.embedded.recipe import Recipe
from report.embedded.verdict import require_accepted

NAME = "falcon-8x8"


@pytest.fixture(scope="module")
def folder():
    """Where the model lies in the package."""
    return Path(report.embedded.__file__).parent / NAME


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


def test_the_folder_is_at_most_12_megabytes(folder):
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 12_000_000


def test_the_weights_are_finite_bfloat16(folder):
    for name, tensor in load_file(folder / "model.safetensors").items():
        assert tensor.dtype == torch.bfloat16, name
        assert tensor.isfinite().all(), name


def test_the_architecture_is_that_of_falcon_rw(content):
    config = content["config"]
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


def test_it_was_trained_by_the_recipe_in_the_repository(content):
    recorded = Recipe(**content["training"]["recipe"])  # with what recipes learnt to say since
    assert json.loads(json.dumps(asdict(recorded))) == json.loads(json.dumps(asdict(Recipe())))


def test_no_path_of_a_machine_is_in_it(folder):
    for name in ("config.json", "training.json", "acceptance.json", "tokenizer_config.json"):
        text = (folder / name).read_text("utf-8")
        assert '"/' not in text, name
        assert ":\\\\" not in text, name


def test_it_is_accepted(content):
    require_accepted(content["acceptance"])


def test_the_card_is_what_its_numbers_make_it(folder, content):
    size = (folder / "model.safetensors").stat().st_size
    expected = card(NAME, content["training"], content["acceptance"], content["config"], size)
    assert (folder / "README.md").read_text("utf-8") == expected


def test_the_head_numbers_come_out_again(content):
    recorded = content["acceptance"]
    measured = acceptance(NAME)
    assert measured["weights_sha256"] == recorded["weights_sha256"]
    assert measured["limits"] == recorded["limits"]
    assert measured["corpus"]["tokens"] == recorded["corpus"]["tokens"]
    # Another processor may round a near tie between two targets the other way.
    for part in (measured["corpus"], recorded["corpus"]):
        assert part["texts"] >= 40
    for key in ("first_token", "previous_token"):
        assert measured["corpus"][key] == pytest.approx(recorded["corpus"][key], abs=2e-3)
    assert measured["induction"] == pytest.approx(recorded["induction"], abs=2e-3)
