"""The filler study on checkpoints like those of its three models, of whose files some are read.

Settings are written as their makers publish them, with the real numbers of heads, kinds of
rotation, norms and windows; widths, vocabularies and the number of layers are small, and weights
random.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

from report import families
from report.datasets import store
from report.datasets.read.study import open_study
from report.inputs.prompts import prompts
from report.inputs.specs import ConditionSpec
from report.kinds.conditions import measure as kind
from report.kinds.conditions.findings import Findings
from report.measuring import run
from report.models.find import hub, names
from report.models.find.weights import INDEX, first_layers
from report.models.load.load import load_model
from report.models.measure.conditions import measure_conditions
from report.project import project as project_in
from report.study.study import read_study
from tests.models import tiny_tokenizers
from tests.models.hub_server import Repository, hub_in_place
from tests.small import write_publication

LAYERS = 7
COMMIT = "5" * 40
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "eos_token_id": [2, 3],
    "head_dim": 4,
    "hidden_act": "silu",
    "hidden_size": 128,
    "intermediate_size": 96,
    "max_position_embeddings": 131072,
    "mlp_bias": False,
    "num_attention_heads": 32,
    "num_hidden_layers": LAYERS,
    "num_key_value_heads": 8,
    "pretraining_tp": 1,
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
    "use_cache": True,
}
QWEN = {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "attention_dropout": 0.0,
    "bos_token_id": 1,
    "eos_token_id": 1,
    "hidden_act": "silu",
    "hidden_size": 112,
    "intermediate_size": 96,
    "max_position_embeddings": 4096,
    "max_window_layers": 28,
    "num_attention_heads": 28,
    "num_hidden_layers": LAYERS,
    "num_key_value_heads": 4,
    "rms_norm_eps": 1e-06,
    "rope_theta": 10000,
    "sliding_window": 4096,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "use_mrope": False,
    "use_sliding_window": False,
}
GEMMA = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "boi_token_index": 97,
    "eoi_token_index": 96,
    "eos_token_id": [1, 106],
    "image_token_index": 98,
    "initializer_range": 0.02,
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
    "meta-llama/Llama-3.1-8B-Instruct": (LLAMA, tiny_tokenizers.llama3, 32),
    "Qwen/Qwen2.5-Math-7B": (QWEN, tiny_tokenizers.normalised_byte_level, 28),
    "google/gemma-3-4b-it": (GEMMA, tiny_tokenizers.gemma, 8),
}
ARTICLE = """---
title: Fillers
date: 2026-01-02
author: Ann
summary: What it says.
models: [{models}]
prompts: {prompts}
conditions:
  - {{name: none, label: without}}
  - {{name: filler, before: question, text: "/", times: 55}}
  - {{name: sentence, before: question, kind: sentence, like: filler}}
layers: 0-2
cover: x
---
"""
PROMPTS = """---
title: Sums
source: made up
licence: CC0-1.0
language: en
system: Read the question and find it out.
---

How many are 3 and 4?
How many stood on the hill, 12 or 30?
"""


def checkpoint(name, folder, read=None):
    """A random checkpoint in bfloat16 with the settings of a real one, in many files.

    read: its tokenizer; default: a tiny one of its kind
    """
    config, tokenizer, _ = REAL[name]
    read = read or tokenizer()
    read.save_pretrained(folder)
    config = json.loads(json.dumps(config))
    config.get("text_config", config)["vocab_size"] = len(read) + 8
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    made = AutoModelForImageTextToText if "text_config" in config else AutoModelForCausalLM
    model = made.from_config(AutoConfig.from_pretrained(folder))
    families.randomise(model, 1.6, torch.Generator().manual_seed(len(name)))
    model.to(torch.bfloat16).save_pretrained(folder, max_shard_size="60KB")
    path.write_text(json.dumps(config))  # as published, not as this version would write it
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """dict of the real models' names to folders with everything."""
    root = tmp_path_factory.mktemp("whole")
    return {name: checkpoint(name, root / name.split("/")[1]) for name in REAL}


@pytest.fixture(scope="module")
def part(whole, tmp_path_factory):
    """The same with the weight files of three layers only; the index still lists all of them."""
    root, found = tmp_path_factory.mktemp("part"), {}
    for name, folder in whole.items():
        index = json.loads((folder / INDEX).read_text())["weight_map"]
        needed = {index[tensor] for tensor in first_layers(list(index), 3)}
        assert 3 <= len(needed) < len(set(index.values())) - 3
        copy = root / folder.name
        copy.mkdir()
        for path in folder.iterdir():
            if path.suffix != ".safetensors" or path.name in needed:
                (copy / path.name).write_bytes(path.read_bytes())
        found[name] = copy
    return found


def written(root, models):
    """A project with the study of these models."""
    folder = write_publication(root / "project")
    (folder / "sums.md").write_text(PROMPTS)
    listed = ", ".join(f'"{model}"' for model in models)
    path = folder / "templates" / "articles" / "fillers.md.j2"
    path.write_text(ARTICLE.format(models=listed, prompts=folder / "sums.md"))
    return project_in(folder), read_study(path)


def measured(root, models, said=None):
    where, study = written(root, models)
    announce = (said if said is not None else []).append
    found = run.datasets(study, where, lambda *_: None, announce=announce)
    return open_study([each.folder for each in found])


@pytest.fixture(scope="module")
def study(part, tmp_path_factory):
    return measured(tmp_path_factory.mktemp("of part"), part.values())


def test_the_study_needs_no_more_than_the_files_of_the_first_layers(study, part):
    for model, (name, folder) in zip(study.models, part.items(), strict=True):
        manifest = model.manifest["model"]
        assert (manifest["name"], manifest["family"]) == (folder.name, manifest["family"])
        assert (model.layers, manifest["num_hidden_layers"]) == (3, LAYERS)
        assert model.heads == REAL[name][2]
        assert model.manifest["self_check"]["layers_called"] == 3
        heads = {path.name for path in (model.path / "received" / "2").iterdir()}
        assert len(heads) == REAL[name][2]


def test_its_numbers_are_those_of_the_whole_models(study, whole, tmp_path):
    other = measured(tmp_path, whole.values())
    for one, two in zip(study.models, other.models, strict=True):
        for name in ("conditions.json", "effects.json"):
            assert (one.path / name).read_bytes() == (two.path / name).read_bytes()
        for path in (one.path / "received").rglob("*.json"):
            same = two.path / path.relative_to(one.path)
            assert path.read_bytes() == same.read_bytes()


@pytest.mark.parametrize("name", REAL)
def test_reading_a_part_says_so_and_is_the_whole_model_in_every_bit(name, whole, part):
    loaded = load_model(part[name], layers=3)
    assert loaded.partial is not None
    plain = load_model(whole[name])
    plain.identity["layers_measured"] = 3
    specs = ConditionSpec(name="none"), ConditionSpec(name="filler", before="question", times=9)
    read = prompts("arithmetic")
    inputs = kind.Inputs(replace(read, questions=read.questions[:2]), specs)
    found = [measure_conditions(each, kind.conditions(each, inputs)) for each in (loaded, plain)]
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one.received.mean, two.received.mean)
        if one.compared is not None:
            np.testing.assert_array_equal(one.compared.mean, two.compared.mean)


def test_every_panel_of_the_study_exists_in_them(study):
    """Qwen, Llama and Gemma have the heads that the study shows."""
    find = Findings(study)
    places = [(0, 0, 19), (0, 0, 24), (0, 0, 25), (0, 0, 26), (2, 0, 7)]
    places += [(1, 0, 0), (1, 0, 1), (1, 0, 7), (1, 0, 21), (1, 1, 21), (1, 2, 21)]
    assert find.there(places) == places
    (llama,), (gemma,) = (find.panels([place], {"none": ""}).places for place in places[::4][:2])
    assert llama.title == "Llama-3.1-8B-Instruct L0H19"
    assert gemma.title == "gemma-3-4b-it L0H7"
    assert find.missing([(2, 0, 8)]) == [
        "gemma-3-4b-it has 8 heads, counted from 0, so there is no head 8"
    ]


def test_what_sets_each_apart_is_there(whole):
    """A rotation that is scaled, biases, norms on queries, windows: or this would test less."""
    loaded = {name.split("/")[1]: load_model(folder).model for name, folder in whole.items()}
    llama, qwen, gemma = loaded.values()
    assert llama.config.rope_parameters["rope_type"] == "llama3"
    assert llama.config.rope_parameters["rope_theta"] == 500000
    assert qwen.model.layers[0].self_attn.k_proj.bias.abs().max() > 0.1
    text = gemma.config
    assert text.model_type == "gemma3_text"
    assert text.layer_types == ["sliding_attention"] * 5 + ["full_attention", "sliding_attention"]
    assert text.sliding_window == 32
    assert text.rope_parameters["full_attention"]["rope_type"] == "linear"
    assert hasattr(gemma.model.layers[0].self_attn, "q_norm")


def test_a_window_hides_the_filler_from_the_end_of_the_question(study):
    """Gemma's first layers see 32 tokens here, fewer than its questions have."""
    find, gemma = Findings(study), study.models[2]
    text = gemma.condition("filler")
    assert len(text.counts) - text.new.stop > 32
    last = find.layer(2, 0, "taken", rows="last")
    assert last.value == 0
    assert find.layer(2, 0, "taken").value > 0
    assert find.layer(0, 0, "taken", rows="last").value > 0


def test_they_come_from_the_hub_s_cache_where_the_first_layers_are_there(
    whole, tmp_path, monkeypatch
):
    """What an article asks for first is measured if it is here, and nothing is downloaded."""
    with hub_in_place(monkeypatch, tmp_path / "home") as server:
        for name, folder in whole.items():
            server.repositories[name] = Repository({COMMIT: folder}, {"main": COMMIT})
        models = [f"{name}@{COMMIT} or falcon-8x8" for name in REAL]
        lacking, fetched = models[1:], models[0]
        found = [names.find_first(each, layers=3).name for each in models]
        assert found == ["falcon-8x8"] * 3
        name = next(iter(REAL))
        hub.fetch_weights(
            name, COMMIT, lambda tensors: first_layers(tensors, 3), announce=lambda _: None
        )
        server.requests.clear()
        said = []
        study = measured(tmp_path, [fetched], said)
        assert server.asked("GET", "/storage/") == []
        [model] = study.models
        assert model.manifest["model"]["name"] == name
        assert model.manifest["model"]["revision"] == COMMIT
        assert model.name == "Llama-3.1-8B-Instruct"
        assert said[0].startswith("Llama 3.1 8B Instruct (Llama 3.1 Community License, to be")
        assert said[1].startswith("Reading ")
        planned, total = (float(n) for n in said[1].split(" MB")[0].split()[1::2])
        assert planned < 0.7 * total
        assert [names.find_first(each, layers=3).name for each in lacking] == ["falcon-8x8"] * 2
        command = store.read(model.path / "manifest.json")["command"]
        assert f"--models {name}@{COMMIT} --layers 0-2" in command
