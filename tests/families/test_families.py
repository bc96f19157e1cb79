"""Tiny random models of every family: large scores, nothing left at zero or one, own configs."""

import shutil

import pytest
import torch
import torch.nn.functional
from torch.overrides import TorchFunctionMode

from report import families
from report.errors import ReportError
from report.families import overview
from tests.documents import blocks

EVERY_VARIANT = [
    name
    for family in families.names()
    if not families.read(family).get("unsupported")
    for name in families.variants(family)
]
# fmt: off
PROMISED = {
    "falcon", "bloom", "mpt", "llama", "qwen2", "qwen3", "gemma2", "gemma3", "mistral",
    "mixtral", "phi", "phi3", "gpt2", "gpt_neox", "opt", "starcoder2", "olmo2", "granite",
    "glm4", "gpt_oss", "smollm3", "deepseek_v3", "stablelm", "cohere", "gptj", "codegen",
    "gpt_neo", "xglm", "bert", "roberta", "distilbert", "modernbert",
}
# fmt: on


class LargestScore(TorchFunctionMode):
    """The largest |score| that any softmax over 24 targets meets, unmasked ones only."""

    value = 0.0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is torch.nn.functional.scaled_dot_product_attention:
            query, key = args[:2]
            key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
            scale = kwargs.get("scale") or query.shape[-1] ** -0.5
            self._see(scale * query @ key.transpose(-1, -2))
        softmax = (torch.softmax, torch.Tensor.softmax, torch.nn.functional.softmax)
        if function in softmax and args[0].shape[-1] >= 24:  # a router of experts has fewer
            self._see(args[0][args[0] > -1e4])
        return function(*args, **kwargs)

    def _see(self, scores):
        self.value = max(self.value, float(scores.abs().max()))


def logits(model):
    with torch.no_grad():
        return model(input_ids=torch.arange(3, 27)[None], use_cache=False).logits


def test_every_family_that_must_be_measured_has_a_file():
    assert set(families.names()) >= PROMISED


@pytest.mark.parametrize("name", EVERY_VARIANT)
def test_a_tiny_model_has_large_scores_and_only_random_parameters(name):
    model = families.tiny(name)
    assert not model.training
    with LargestScore() as largest:
        assert torch.isfinite(logits(model)).all()
    assert 6 < largest.value < 60
    for path, parameter in model.named_parameters():
        assert parameter.dtype == torch.float32, path
        assert len(parameter.unique()) > parameter.numel() // 2, f"{path} is not random"


def test_models_of_one_family_share_nothing_and_depend_on_the_seed_only():
    first, torch_state = families.tiny("llama", seed=1), torch.get_rng_state()
    same, other = families.tiny("llama", seed=1), families.tiny("llama", seed=2)
    assert torch.equal(torch_state, torch.get_rng_state())
    assert torch.equal(logits(first), logits(same))
    assert not torch.equal(logits(first), logits(other))
    first.config.num_hidden_layers = 99
    assert same.config.num_hidden_layers == families.tiny("llama").config.num_hidden_layers == 3


def test_a_variant_changes_the_config_of_its_family():
    assert families.variants("bloom") == ["bloom"]
    assert families.tiny("llama/yarn-rope").config.rope_parameters["rope_type"] == "yarn"
    assert families.tiny("llama").config.rope_parameters["rope_type"] == "default"
    assert families.tiny("gemma3/multimodal").config.text_config.hidden_size == 64


@pytest.mark.parametrize("name", ["lama", "llama/7b", "../llama", ""])
def test_an_unknown_family_or_variant_is_an_error_that_lists_the_known(name):
    with pytest.raises(ReportError, match=r"unknown .*; known: .*"):
        families.tiny(name)


def test_a_new_family_is_one_new_file(tmp_path, monkeypatch):
    text = (families.FOLDER / "llama.toml").read_text(encoding="utf-8")
    (tmp_path / "brandnew.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(families, "FOLDER", tmp_path)
    assert families.names() == ["brandnew"]
    assert type(families.tiny("brandnew/bias")).__name__ == "LlamaForCausalLM"


def test_the_family_of_the_documentation_is_right(tmp_path, monkeypatch):
    folder = shutil.copytree(families.FOLDER, tmp_path / "families")
    (folder / "arcee.toml").write_text(blocks("how-to/families", "toml")[0])
    monkeypatch.setattr(families, "FOLDER", folder)
    lines = list(overview.overview("arcee"))
    assert [line.split()[0] for line in lines[1:3]] == ["arcee/own-keys", "arcee/grouped-query"]
    *_, verdict = overview.parity("arcee")  # raises if a number is off
    assert verdict.startswith("All 2 models are within")
