"""What is loaded is identified exactly; what cannot be loaded is refused with the reason."""

import hashlib
import json
import shutil
import socket

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast
from transformers.utils import logging

from report.errors import ReportError
from report.models import load
from report.models.load import load_model


@pytest.fixture
def folder(falcon_folder, tmp_path):
    """A copy of the model's folder that a test may damage."""
    return shutil.copytree(falcon_folder, tmp_path / "copy")


def change_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_weights(folder, change):
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


def refused(folder, message):
    with pytest.raises(ReportError, match=message):
        load_model(folder)


def test_identity_says_what_was_loaded(falcon_folder):
    loaded = load_model(falcon_folder)
    identity = loaded.identity
    assert identity["name"] == "tiny-falcon"
    assert identity["family"] == "falcon"
    assert identity["revision"] is None
    weights = (falcon_folder / "model.safetensors").read_bytes()
    assert identity["weights_sha256"] == hashlib.sha256(weights).hexdigest()
    tokenizer = (falcon_folder / "tokenizer.json").read_bytes()
    assert identity["tokenizer_sha256"] == hashlib.sha256(tokenizer).hexdigest()
    numbers = ("num_hidden_layers", "num_attention_heads", "hidden_size", "head_dim", "context")
    assert [identity[name] for name in numbers] == [3, 4, 32, 8, 512]
    # tied embeddings are counted once
    assert identity["parameters"] == sum(p.numel() for p in set(loaded.model.parameters()))
    assert identity["special_tokens_added"] == ["<|begin_of_text|>"]
    assert str(falcon_folder.parent) not in json.dumps(identity)


def test_a_model_stored_in_bfloat16_is_measured_in_float32(folder):
    change_weights(folder, lambda tensors: {k: v.bfloat16() for k, v in tensors.items()})
    change_config(folder, dtype="bfloat16")
    loaded = load_model(folder)
    assert loaded.identity["dtype"] == "float32"
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.float32}
    assert not loaded.model.training


def test_weights_are_those_of_the_file(falcon_folder):
    stored = load_file(falcon_folder / "model.safetensors")
    parameters = dict(load_model(falcon_folder).model.named_parameters())
    assert stored.keys() <= parameters.keys() | {"lm_head.weight"}
    for name, tensor in stored.items():
        assert torch.equal(parameters[name], tensor)


def test_an_embedded_model_is_found_by_its_name(falcon_folder, tmp_path, monkeypatch):
    shutil.copytree(falcon_folder, tmp_path / "little-reader")
    monkeypatch.setattr(load, "EMBEDDED", tmp_path)
    assert load.embedded_models() == ["little-reader"]
    assert load_model("little-reader").identity["name"] == "little-reader"
    with pytest.raises(ReportError, match="unknown model 'littel'; known: little-reader; or give"):
        load_model("littel")


def test_weights_in_shards_are_loaded_and_counted_whole(folder):
    expected = load_model(folder).model.state_dict()
    load_model(folder).model.save_pretrained(folder / "shards", max_shard_size="40KB")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder / name, folder / "shards" / name)
    shards = sorted((folder / "shards").glob("*.safetensors"))
    assert len(shards) > 1
    loaded = load_model(folder / "shards")
    assert all(torch.equal(expected[k], v) for k, v in loaded.model.state_dict().items())
    joined = b"".join(path.read_bytes() for path in shards)
    assert loaded.identity["weights_sha256"] == hashlib.sha256(joined).hexdigest()
    shards[1].unlink()
    refused(folder / "shards", rf"lacks 1 of {len(shards)} weight files, the first is model-00002")


@pytest.mark.parametrize("index", ["{", "[]", '{"weight_map": 3}'])
def test_an_index_that_lists_nothing_is_refused(folder, index):
    (folder / "model.safetensors.index.json").write_text(index)
    refused(folder, "'copy/model.safetensors.index.json' has no weight_map")


def test_nothing_is_asked_of_the_network(falcon_folder, monkeypatch):
    def no_network(*_, **__):
        raise AssertionError("a connection was attempted")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    load_model(falcon_folder)


def test_loading_leaves_the_settings_of_transformers_alone(falcon_folder, capfd):
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    load_model(falcon_folder)
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
    assert capfd.readouterr() == ("", "")


def test_a_folder_without_config_is_refused(folder):
    (folder / "config.json").unlink()
    refused(folder, "model folder 'copy' has no config.json")


def test_a_config_that_is_no_config_is_refused(folder):
    (folder / "config.json").write_text("{")
    refused(folder, "'copy/config.json' is not JSON")
    (folder / "config.json").write_text("[]")
    refused(folder, "'copy/config.json' names no model_type; supported: falcon")


def test_a_folder_without_weights_is_refused(folder):
    (folder / "model.safetensors").unlink()
    refused(folder, "model folder 'copy' has no weights")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt"])
def test_weights_only_in_pickle_are_refused(folder, name):
    (folder / "model.safetensors").rename(folder / name)
    refused(folder, rf"has weights only as pickle \({name}\).*convert them to safetensors")


def test_damaged_weights_are_refused(folder):
    (folder / "model.safetensors").write_bytes(b"not safetensors at all")
    refused(folder, "model 'copy': its weights cannot be loaded")


def test_missing_tensors_are_never_random(folder):
    name = "transformer.h.1.mlp.dense_4h_to_h.weight"
    change_weights(folder, lambda tensors: {k: v for k, v in tensors.items() if k != name})
    refused(folder, rf"lack 1 tensors, the first is {name}")


def test_tensors_of_another_shape_are_refused(folder):
    change_config(folder, ffn_hidden_size=64)
    refused(folder, "model 'copy': its weights cannot be loaded")


@pytest.mark.parametrize(
    ("model_type", "architecture"),
    [("falcon", "FalconForSequenceClassification"), ("bert", "BertForMaskedLM")],
)
def test_a_model_that_does_not_predict_the_next_token_is_refused(folder, model_type, architecture):
    change_config(folder, model_type=model_type, architectures=[architecture])
    refused(folder, f"model 'copy' is a {architecture}, not a causal language model")


@pytest.mark.parametrize(
    ("model_type", "architecture"),
    [("llama", "LlamaForCausalLM"), ("home_made", "HomeMadeForCausalLM")],
)
def test_another_architecture_is_refused_with_the_supported_ones(folder, model_type, architecture):
    change_config(folder, model_type=model_type, architectures=[architecture])
    refused(folder, f"has the architecture '{model_type}', which is not supported; supported: fa")


def test_a_variant_that_is_not_measured_is_refused(folder):
    change_config(folder, multi_query=True)
    refused(folder, "multi_query=True, which is not measured yet")


def test_code_in_the_folder_is_not_run(folder, tmp_path):
    (folder / "modeling_evil.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Evil: pass\n"
    )
    change_config(folder, auto_map={"AutoModelForCausalLM": "modeling_evil.Evil"})
    assert load_model(folder).identity["family"] == "falcon"
    assert not (tmp_path / "ran").exists()


def test_a_folder_without_tokenizer_is_refused(folder):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    refused(folder, "model folder 'copy' has no tokenizer; it needs tokenizer.json")


def test_a_damaged_tokenizer_is_refused(folder):
    (folder / "tokenizer.json").write_text('{"model": 3}')
    refused(folder, "model 'copy': its tokenizer cannot be loaded")


def test_a_tokenizer_that_is_not_byte_level_is_refused(folder):
    words = Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(folder)
    refused(folder, "the tokenizer of 'copy' is not byte-level")


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(folder):
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    tokenizer.add_tokens([f"<{number}>" for number in range(321 - len(tokenizer))])
    tokenizer.save_pretrained(folder)
    refused(folder, "the tokenizer has 321 tokens, the model 320")
