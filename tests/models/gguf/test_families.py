"""Tiny models of many families, written as llama.cpp writes them, are the models they were."""

import re

import gguf
import pytest
import torch
import transformers
from safetensors.torch import load_file
from transformers import AutoConfig

from report.models.gguf.architectures import ARCHITECTURES, architecture_of
from report.models.load.load import load_model
from report.models.measure.passage import measure_passage
from report.models.partial.reader import GgufCheckpoint
from tests.close import require_close
from tests.documents import DOCS
from tests.fuzz.refusals import tried
from tests.models import tiny_tokenizers
from tests.models.gguf import written
from tests.models.gguf.written import Written, saved, tiny

IDS = [1, 5, 90, 41, 5, 7, 90, 300, 5, 6, 17, 33]

FAMILIES = {
    "bloom": {},
    "cohere": {},
    "cohere/qk-norm": {},
    "cohere2": {"num_hidden_layers": 4, "layer_types": None},
    "falcon/rotary-multi-query": {},
    "falcon/rotary-new-decoder": {},
    "gemma": {},
    "gemma2": {},
    "gemma3/text": {
        "num_hidden_layers": 6,
        "layer_types": None,
        "query_pre_attn_scalar": 16,
    },
    "gpt2": {},
    "gpt_neox": {},
    "granite": {},
    "llama/llama3-rope": {},
    "llama/yarn-rope": {},
    "llama/bias": {},
    "mistral": {"sliding_window": 10**6},
    "mixtral": {"sliding_window": 10**6},
    "mpt/alibi": {},
    "mpt/clipped": {},
    "nemotron": {},
    "olmo2": {},
    "phi": {},
    "phi3": {},
    "phi3/longrope": {},
    "qwen2": {},
    "qwen3": {},
    "qwen3_moe": {"norm_topk_prob": True},
    "smollm3": {"num_hidden_layers": 4, "no_rope_layers": None},
    "stablelm": {},
    "stablelm/bias": {},
    "stablelm/qk-layernorm": {},
    "starcoder2": {"sliding_window": 10**6},
}
"""A variant of a family -> what of its settings llama.cpp has no key for, and has in its code."""


def checkpoint(name, folder):
    """A folder with a tiny model of a family."""
    changes = {key: value for key, value in FAMILIES[name].items() if value is not None}
    left_out = {key for key, value in FAMILIES[name].items() if value is None}
    model = tiny(name, left_out=left_out, **changes)
    return saved(model, tiny_tokenizers.llama2(), folder)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_model_is_what_it_was(name, tmp_path):
    """Its logits in one format; in another its tensors, from which the same logits follow."""
    folder = checkpoint(name, tmp_path / "tiny")
    first, second = (Written(folder, kind) for kind in ("Q8_0", "Q4_1"))
    file = load_model(first.to(tmp_path / "first.gguf"), device="cpu").model
    with torch.no_grad():
        expected = model_of(first.twin(tmp_path / "first"))(torch.tensor([IDS])).logits
        require_close(file(torch.tensor([IDS])).logits, expected, 2**12)
    opened = GgufCheckpoint(second.to(tmp_path / "second.gguf"))
    stored = load_file(second.twin(tmp_path / "second") / "model.safetensors")
    assert opened.files.keys() == stored.keys()
    assert [one for one in stored if not torch.equal(opened.read(one), stored[one])] == []


LLAMA_CPP = {
    "gemma2.attention.sliding_window": {"sliding_window": 4096},
    "gemma2.attn_logit_softcapping": {"attn_logit_softcapping": 50.0},
    "gemma2.final_logit_softcapping": {"final_logit_softcapping": 30.0},
    "gemma3.attention.sliding_window": {
        "sliding_window": 64,  # the whole context
        "layer_types": ["full_attention"] * 6,
    },
    "granite.attention.scale": {"attention_multiplier": 16**-0.5},
    "granite.embedding_scale": {"embedding_multiplier": 1.0},
    "granite.residual_scale": {"residual_multiplier": 1.0},
    "llama.rope.scaling.type": {
        "rope_parameters": {"rope_theta": 5000.0, "rope_type": "linear", "factor": 4.0}
    },
    "mpt.attention.clamp_kqv": {
        "attn_config": {"alibi": True, "alibi_bias_max": 8, "clip_qkv": None}
    },
}
"""Keys for which its loader has a value of its own: that value, as transformers' setting
(`load_arch_hparams` in src/models/*.cpp). The files here say others."""


@pytest.mark.parametrize("name", FAMILIES)
def test_no_value_is_guessed_in_silence(name, tmp_path):
    """Of files that lack a key each: another model than the whole file's is refused, or said, or
    what llama.cpp makes of it."""
    whole = Written(checkpoint(name, tmp_path / "tiny"))
    usual = {"attn_logit_softcapping": 20.0, "final_logit_softcapping": 7.0}
    usual |= {"attention.scale": 0.3, "embedding_scale": 3.0, "residual_scale": 0.6}
    usual |= {"rope.freq_base": 5000.0}
    keys = [key for key in whole.to_file(tmp_path).values if key.startswith(f"{whole.name}.")]
    rotates = getattr(whole.config, "rope_parameters", None)
    others = {
        f"{whole.name}.{key}": value
        for key, value in usual.items()
        if f"{whole.name}.{key}" in keys or (rotates and key == "rope.freq_base")
    }
    first = architecture_of(whole.to_file(tmp_path, **others)).config
    refused = 0
    for key in {*keys, *others}:
        file = whole.to_file(tmp_path, **others | {key: None})
        found, sentence = tried(architecture_of, file)
        if found is None:
            assert key in sentence
            refused += 1
            continue
        said = any(phrase.startswith(f"{key}:") for phrase in found.defaults)
        changed = {name: value for name, value in found.config.items() if value != first.get(name)}
        if changed and not said and changed != LLAMA_CPP.get(key):
            assert tried(load_model, file.paths[0], device="cpu")[0] is None, (key, changed)
    assert refused > 4


def model_of(folder):
    """As transformers loads it."""
    config = AutoConfig.from_pretrained(folder)
    model_class = getattr(transformers, config.architectures[0])
    way = "sdpa" if model_class._supports_sdpa else "eager"
    return model_class.from_pretrained(folder, config=config, attn_implementation=way).eval()


@pytest.mark.parametrize("name", ["gpt2", "mixtral"])
def test_first_layers_are_measured_as_of_the_checkpoint(name, tmp_path):
    whole = Written(checkpoint(name, tmp_path / "tiny"), "Q5_0")
    paths = whole.to(tmp_path / "it.gguf"), whole.twin(tmp_path / "twin")
    part, other = (measure_passage(load_model(path, device="cpu", layers=1), IDS) for path in paths)
    for head in range(4):
        found, wanted = (one.probability(0, head) for one in (part, other))
        require_close(found, wanted, 2**12, dtype=torch.float32)
    require_close(part.magnitude, other.magnitude, 2**12, dtype=torch.float32)


def test_every_architecture_is_among_them():
    tried = {name.partition("/")[0] for name in FAMILIES}
    called = {written.ARCHITECTURES.get(name, name) for name in tried - {"gemma3"}} | {"gemma3"}
    assert called == set(ARCHITECTURES)
    assert len(ARCHITECTURES) >= 12
    assert set(ARCHITECTURES) <= set(gguf.MODEL_ARCH_NAMES.values())


def test_the_documentation_lists_the_architectures():
    text = (DOCS / "how-to" / "models.md").read_text("utf-8")
    (listed,) = re.findall(r"The architectures are (.+?)\. ", text)
    assert set(re.findall(r"`([\w-]+)`", listed)) == set(ARCHITECTURES)
