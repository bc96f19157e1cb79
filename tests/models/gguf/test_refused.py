"""What is not understood of a GGUF file is refused by name, before its numbers come out wrong."""

import re
import sys

import numpy as np
import pytest

from report.models.gguf import formats
from report.models.load.load import load_model
from tests.fuzz.refusals import tried
from tests.models import tiny_tokenizers
from tests.models.gguf.written import Written, saved, tiny

pytestmark = pytest.mark.promise("gguf")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama")
    return Written(saved(tiny("llama"), tiny_tokenizers.llama2(), folder / "tiny"))


KEYS = {
    "architecture 'mamba'": {"general.architecture": "mamba"},
    "holds no model but 'adapter'": {"general.type": "adapter"},
    r"'llama.attention.sliding_window' \(7\)": {"llama.attention.sliding_window": 7},
    r"'llama.expert_weights_scale'": {"llama.expert_weights_scale": 2.5},
    "does not say llama.block_count": {"llama.block_count": None},
    "llama.block_count is '3'": {"llama.block_count": "3"},
    "llama.block_count is 0": {"llama.block_count": 0},
    "llama.attention.head_count is 7": {
        "llama.attention.head_count": 7,
        "llama.attention.key_length": None,
        "llama.attention.value_length": None,
        "llama.attention.head_count_kv": None,
    },
    "llama.attention.head_count_kv is 3": {"llama.attention.head_count_kv": 3},
    "llama.attention.value_length is 8": {"llama.attention.value_length": 8},
    "llama.rope.dimension_count is 8": {"llama.rope.dimension_count": 8},
    "llama.rope.scaling.type is 'longrope'": {
        "llama.rope.scaling.type": "longrope",
        "llama.rope.scaling.factor": 2.0,
    },
    "llama.rope.scaling.factor is None": {"llama.rope.scaling.type": "yarn"},
    "llama.rope.scaling.attn_factor is 1.5": {"llama.rope.scaling.attn_factor": 1.5},
    "llama.attention.layer_norm_rms_epsilon is 0.0": {
        "llama.attention.layer_norm_rms_epsilon": 0.0
    },
    "llama.rope.freq_base is 0.0": {"llama.rope.freq_base": 0.0},
    "does not say llama.rope.freq_base": {
        "llama.rope.freq_base": None,
        "llama.context_length": 32768,
    },
    "asks for": {"llama.feed_forward_length": 64},
    "has no place": {"llama.block_count": 2},
    "lack": {"llama.block_count": 4},
    "says 9,999 layers": {"llama.block_count": 9999},
    "allowed is a whole number from 1 to 10,000": {"llama.block_count": 10**6},
    "the tokenizer has 999 tokens": {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": ["t", "1", *(f"t{number}" for number in range(997))],
        "tokenizer.ggml.token_type": None,
        "tokenizer.ggml.merges": ["t 1"],
    },
    "tokenizer.ggml.pre": {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "jais-2",
    },
}


@pytest.mark.parametrize("said", KEYS)
def test_settings_are_refused_by_name(said, whole, tmp_path):
    path = whole.to(tmp_path / "it.gguf", **KEYS[said])
    for way in ({}, {"layers": 1}):
        found, refused = tried(load_model, path, device="cpu", **way)
        if found is None:
            break
    assert found is None
    assert re.search(said, refused), refused
    assert str(tmp_path) not in refused


def test_a_granite_that_rotates_nothing_is_refused(tmp_path):
    granite = Written(saved(tiny("granite"), tiny_tokenizers.llama2(), tmp_path / "tiny"))
    for rotates in (True, False):
        file = granite.to_file(tmp_path, **{"granite.rope.scaling.finetuned": rotates})
        assert (tried(load_model, file.paths[0], device="cpu")[0] is not None) is rotates


def test_what_a_stablelm_does_side_by_side_its_norms_tell(tmp_path):
    """The converter writes true where a checkpoint says nothing, as that of StableLM 3B."""
    model = tiny("stablelm", use_parallel_residual=False)
    whole = Written(saved(model, tiny_tokenizers.llama2(), tmp_path / "tiny"))
    file = whole.to_file(tmp_path, **{"stablelm.use_parallel_residual": True})
    found = load_model(file.paths[0], device="cpu").model
    assert found.config.use_parallel_residual is False


class Other(Written):
    """A file with other tensors than the converter writes."""

    def __init__(self, whole, change):
        super().__init__(whole.folder)
        self.change = change

    def stored(self):
        for name, content, kind in super().stored():
            yield from self.change(name, content, kind)


def without(left_out):
    return lambda name, content, kind: () if name == left_out else [(name, content, kind)]


def with_another(added, like="blk.0.attn_norm.weight"):
    def change(name, content, kind):
        yield name, content, kind
        if name == like:
            yield added, content, kind

    return change


TENSORS = {
    "'blk.0.attn_norm_2.weight', which is not known": with_another("blk.0.attn_norm_2.weight"),
    "'blk.0.attn_norm.scale', which is not known": with_another("blk.0.attn_norm.scale"),
    "'nextn.weight', which is not known": with_another("nextn.weight"),
    "model.layers.3.input_layernorm.weight, for which": with_another("blk.3.attn_norm.weight"),
    "model.layers.0.input_layernorm.bias, for which": with_another("blk.0.attn_norm.bias"),
    "as \\[16, 4\\], and there are 8 frequencies|as \\[64\\], and there are 8 frequencies": (
        with_another("rope_freqs.weight")
    ),
    "lacks the tensor token_embd.weight": without("token_embd.weight"),
    "lack.*input_layernorm": without("blk.0.attn_norm.weight"),
    "lack.*down_proj": without("blk.2.ffn_down.weight"),
}


@pytest.mark.parametrize("said", TENSORS)
def test_tensors_are_refused_by_name(said, whole, tmp_path):
    path = Other(whole, TENSORS[said]).to(tmp_path / "it.gguf")
    found, refused = tried(load_model, path, device="cpu")
    assert found is None
    assert re.search(said, refused), refused


def test_parts_that_read_no_text_are_left_out(whole, tmp_path):
    added = with_another("v.blk.0.attn_norm.weight")
    path = Other(whole, added).to(tmp_path / "it.gguf", **{"llama.vision.block_count": 5})
    assert load_model(path, device="cpu").identity["num_hidden_layers"] == 3


def test_numbers_that_are_none_are_told(whole, tmp_path):
    def change(name, content, kind):
        yield (
            name,
            np.full_like(content, np.nan) if name == "blk.1.attn_q.weight" else content,
            kind,
        )

    path = Other(whole, change).to(tmp_path / "it.gguf")
    _, said = tried(load_model, path, device="cpu")
    assert "the weight 'model.layers.1.self_attn.q_proj.weight' holds numbers from nan" in said


def test_what_is_missing_to_read_it_is_said(whole, tmp_path, monkeypatch):
    path = whole.to(tmp_path / "it.gguf")
    formats.package.cache_clear()
    monkeypatch.setitem(sys.modules, "gguf", None)
    try:
        found, refused = tried(load_model, path, device="cpu")
    finally:
        formats.package.cache_clear()
    assert found is None
    assert "needs the package 'gguf'" in refused
    assert "make setup" in refused
