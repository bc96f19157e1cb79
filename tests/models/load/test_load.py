"""What is loaded is the checkpoint; what cannot be loaded says why."""

import hashlib
import json
import shutil
import socket
from dataclasses import replace

import pytest
import torch
from transformers.utils import logging

from report import __main__, families
from report.errors import TRACEBACK, ReportError
from report.models.attention import running
from report.models.load.load import load_model
from tests.models.checkpoints import change_config, change_weights, refused, save


def test_a_model_stored_in_bfloat16_is_measured_in_float32(folder):
    change_weights(folder, lambda tensors: {k: v.bfloat16() for k, v in tensors.items()})
    change_config(folder, dtype="bfloat16")
    loaded = load_model(folder)
    assert loaded.identity["dtype"] == "float32"
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.float32}
    assert not loaded.model.training


def test_bfloat16_is_only_used_when_asked_for(falcon_folder):
    loaded = load_model(falcon_folder, dtype="bfloat16")
    assert loaded.identity["dtype"] == "bfloat16"
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.bfloat16}
    refused(falcon_folder, "dtype 'int8' is not known; choose float32 or bfloat16", dtype="int8")


def test_weights_in_several_files_are_loaded_and_counted_whole(folder):
    expected = load_model(folder).model.state_dict()
    load_model(folder).model.save_pretrained(folder / "split", max_shard_size="40KB")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder / name, folder / "split" / name)
    files = sorted((folder / "split").glob("*.safetensors"))
    assert len(files) > 1
    loaded = load_model(folder / "split")
    assert all(torch.equal(expected[k], v) for k, v in loaded.model.state_dict().items())
    joined = b"".join(path.read_bytes() for path in files)
    assert loaded.weights_sha256 == hashlib.sha256(joined).hexdigest()
    files[1].unlink()
    refused(folder / "split", rf"lacks 1 of {len(files)} weight files, the first is model-00002")


def test_nothing_is_asked_of_the_network(falcon_folder, monkeypatch):
    asked = []  # what is raised here may be caught there

    def no_network(*to, **__):
        asked.append(to)
        raise OSError("there is no network")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    load_model(falcon_folder)
    assert asked == []


@pytest.mark.parametrize("way", [{}, {"layers": 1}])
def test_a_model_runs_with_sdpa_though_its_config_names_eager(folder, way):
    """Falcon's eager attention counts ALiBi twice."""
    change_config(folder, _attn_implementation="eager")
    assert load_model(folder, **way).model.config._attn_implementation == "sdpa"


def test_loading_leaves_the_settings_of_transformers_alone(falcon_folder, capfd):
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    load_model(falcon_folder)
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("layers", [0, 4])
def test_layers_that_are_not_there_are_refused(falcon_folder, layers):
    refused(
        falcon_folder,
        rf"model 'tiny-falcon' has 3 layers \(0 to 2\), asked for were the first {layers}; ask for",
        layers=layers,
    )


def test_of_first_layers_only_what_they_need_has_to_be_there(folder):
    whole = load_model(folder)
    checksum = whole.weights_sha256
    whole.model.save_pretrained(folder, max_shard_size="50KB")
    (folder / "model.safetensors").unlink()
    files = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    for name in {files[name] for name in files if name.startswith("transformer.h.2.")}:
        (folder / name).unlink()
    refused(folder, "model folder 'copy' lacks")
    change_config(folder, num_hidden_layers=2)
    refused(folder, r"leaves out, the first is 'transformer\.h\.2\.", layers=1)
    change_config(folder, num_hidden_layers=3)
    loaded = load_model(folder, layers=1)
    assert (loaded.measured_layers, loaded.identity["num_hidden_layers"]) == (1, 3)
    assert loaded.weights_sha256 != checksum
    ids = list(range(1, 20))
    runs = [running.Run(ids)]
    expected = replace(whole, identity=whole.identity | {"layers_measured": 1}).run(runs)
    assert torch.equal(loaded.run(runs)[0], expected[0])


def test_an_error_that_nothing_expects_is_one_sentence_that_names_its_place(folder, monkeypatch):
    """Of the library or of ours, while loading or while a text runs; with what came before it."""

    def fail(*_, **__):
        raise KeyError("lost")

    loaded = load_model(folder)
    loaded.model.base_model.forward = fail
    runs = (
        lambda: loaded.run([running.Run([1, 2])]),
        lambda: load_model(folder),
    )
    monkeypatch.setattr("report.models.load.load.read_settings", fail)
    for run in runs:
        with pytest.raises(ReportError, match=r"KeyError in .*test_load\.py, line \d+") as caught:
            run()
        assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.promise("terminal")
def test_the_command_shows_where_an_error_came_from_when_it_is_asked_to(monkeypatch, capsys):
    def fail():
        raise ReportError("one sentence") from KeyError("lost https://a:secret@b.c/?t=secret")

    for asked in ("", "1"):
        monkeypatch.setenv(TRACEBACK, asked)
        with pytest.raises(SystemExit):
            __main__.main(fail)
        said = capsys.readouterr().err
        assert "one sentence" in said
        assert ("Traceback" in said and "KeyError: 'lost https://b.c/?…'" in said) == bool(asked)
        assert "secret" not in said


@pytest.mark.parametrize(
    ("family", "prefix"),
    [
        ("qwen3_moe", "module._orig_mod."),
        ("llama/default", "_orig_mod."),
        ("bert/encoder", "module."),
    ],
)
def test_tensors_that_were_saved_of_a_wrapped_model_are_read(tmp_path, family, prefix):
    """By torch.compile and DistributedDataParallel; whole, in part, and layer by layer."""
    folder = save(families.tiny(family), tmp_path / "model")
    run = running.Run(list(range(3, 30)))
    options = {}, {"layers": 2}, {"layer_by_layer": True}
    expected = [load_model(folder, **each).run([run])[0] for each in options]
    change_weights(folder, lambda tensors: {prefix + name: one for name, one in tensors.items()})
    for each, output in zip(options, expected, strict=True):
        assert torch.equal(load_model(folder, **each).run([run])[0], output)
