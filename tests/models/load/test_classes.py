"""Every architecture is loaded by the class that saved it; code of a checkpoint only by name."""

from pathlib import Path

import pytest
import torch
from transformers import (
    MambaConfig,
    MambaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
    dynamic_module_utils,
)

from report import families
from report.models.attention import running
from report.models.load.load import load_model
from tests.models import remote_code
from tests.models.checkpoints import change_config, change_weights, refused, save


@pytest.mark.parametrize("layers", [None, 2])
def test_names_without_the_model_s_prefix_are_known_as_gpt_2_has_them_on_the_hub(tmp_path, layers):
    model = families.tiny("gpt2")
    folder = save(model, tmp_path / "tiny")

    def as_on_the_hub(tensors):
        masks = {f"h.{layer}.attn.bias": torch.ones(1, 1, 64, 64).tril() for layer in range(3)}
        return {k.removeprefix("transformer."): v for k, v in tensors.items()} | masks

    runs = [running.Run(list(range(3, 30)))]
    expected = load_model(folder, layers=layers).run(runs)[0]
    change_weights(folder, as_on_the_hub)
    assert torch.equal(load_model(folder, layers=layers).run(runs)[0], expected)


def test_of_gemma_3_with_images_only_the_text_model_is_read(tmp_path):
    whole = families.tiny("gemma3/multimodal")
    loaded = load_model(save(whole, tmp_path / "gemma"))
    assert type(loaded.model).__name__ == "Gemma3ForCausalLM"
    assert not any("vision" in name for name, _ in loaded.model.named_parameters())
    ids = torch.arange(1, 25)[None]
    with torch.no_grad():
        assert torch.equal(loaded.model(ids).logits, whole(ids).logits)
    first = load_model(tmp_path / "gemma", layers=1)
    assert first.weights_sha256 != loaded.weights_sha256


def test_an_encoder_with_a_decoder_is_refused(tmp_path):
    sizes = {"d_model": 16, "d_ff": 16, "d_kv": 8, "num_heads": 2, "num_layers": 1}
    model = T5ForConditionalGeneration(T5Config(vocab_size=99, **sizes))
    refused(
        save(model, tmp_path / "tiny"),
        "model 'tiny' is a T5ForConditionalGeneration, an encoder and a decoder; measured are",
    )


@pytest.mark.parametrize("layers", [None, 1])
def test_a_model_without_attention_is_refused_by_name_and_nothing_else_is_broken(
    tmp_path, falcon_folder, layers
):
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "state_size": 4}
    folder = save(MambaForCausalLM(MambaConfig(vocab_size=99, **sizes)), tmp_path / "tiny")
    said = r"'mamba' \(MambaForCausalLM\) is not supported"
    refused(folder, said, layers=layers)
    assert len(load_model(falcon_folder).structure) == 3


@pytest.fixture
def remote(tmp_path, monkeypatch):
    """A checkpoint that brings its own code, which leaves a trace when it is run."""
    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder = save(remote_code.random_remote(), tmp_path / "own-code")
    code = Path(remote_code.__file__).read_text()
    trace = f"open({str(tmp_path / 'ran')!r}, 'a').close()\n"
    (folder / "remote.py").write_text(f"{code}\n\n{trace}")
    classes = {"AutoConfig": "remote.RemoteConfig", "AutoModel": "remote.RemoteModel"}
    change_config(folder, auto_map=classes, architectures=["RemoteModel"])
    return folder


@pytest.mark.parametrize("name", [None, "own-code2"])
def test_code_of_a_model_is_refused_unless_it_is_named(remote, tmp_path, name):
    said = (
        r"model 'own-code' \(remote\) brings its own code \(remote\.RemoteConfig\), which would "
        rf"run on this machine{', given for ' + repr(name) if name else ''}; read it, then "
        "allow it by name: --trust-remote-code own-code, or trust_remote_code: own-code in the fr"
    )
    refused(remote, said, trust_remote_code=name)
    assert not (tmp_path / "ran").exists()


def test_code_of_a_model_that_is_named_runs(remote, tmp_path):
    loaded = load_model(remote, trust_remote_code="own-code")
    assert (tmp_path / "ran").exists()
    assert type(loaded.model).__name__ == "RemoteModel"
    assert loaded.identity["family"] == "remote"
    assert loaded.identity["vocabulary"] == 99
    assert len(loaded.structure) == 3


def test_a_model_that_hides_its_embedding_is_loaded_whole_or_not_at_all(remote):
    said = "model 'own-code' does not say which of its parts is the embedding of tokens, so it can"
    refused(remote, said, trust_remote_code="own-code", layers=2)
