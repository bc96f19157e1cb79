"""Tiny models of many families, written as llama.cpp writes them, are the models they were."""

import gguf
import pytest
import torch

from report.models.gguf.architectures import ARCHITECTURES
from report.models.load.load import load_model
from report.models.measure.passage import measure_passage
from tests.close import require_close
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
    "qwen3_moe": {},
    "smollm3": {"num_hidden_layers": 4, "no_rope_layers": None},
    "stablelm": {},
    "stablelm/bias": {},
    "stablelm/qk-layernorm": {},
    "starcoder2": {"sliding_window": 10**6},
}
"""A variant of a family -> what of its settings llama.cpp has no key for, and has in its code."""


@pytest.fixture(scope="module", params=FAMILIES)
def family(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("family")
    changes = {key: value for key, value in FAMILIES[request.param].items() if value is not None}
    left_out = {key for key, value in FAMILIES[request.param].items() if value is None}
    model = tiny(request.param, left_out=left_out, **changes)
    return saved(model, tiny_tokenizers.llama2(), folder / "tiny")


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_1"])
def test_weights_and_logits_are_those_of_the_checkpoint(family, kind, tmp_path):
    whole = Written(family, kind)
    file = load_model(whole.to(tmp_path / "tiny.gguf"), device="cpu").model
    folder = load_model(whole.twin(tmp_path / "twin"), device="cpu").model
    ours, theirs = file.state_dict(), folder.state_dict()
    for name, tensor in theirs.items():
        if name in ours or name != "lm_head.weight":
            assert torch.equal(ours[name], tensor), name
    with torch.no_grad():
        found, expected = (one(torch.tensor([IDS])).logits for one in (file, folder))
    require_close(found, expected, 2**12)


def test_measurements_are_those_of_the_checkpoint(family, tmp_path):
    whole = Written(family, "F16")
    paths = whole.to(tmp_path / "tiny.gguf"), whole.twin(tmp_path / "twin")
    file, folder = load_model(paths[0], device="cpu", layers=2), load_model(paths[1], device="cpu")
    found, expected = (measure_passage(loaded, IDS) for loaded in (file, folder))
    for layer in range(2):
        for head in (0, 3):
            require_close(
                found.probability(layer, head),
                expected.probability(layer, head),
                2**12,
                dtype=torch.float32,
            )
    if expected.magnitude is not None:
        require_close(found.magnitude, expected.magnitude[:2], 2**12, dtype=torch.float32)


def test_every_architecture_is_among_them():
    tried = {name.partition("/")[0] for name in FAMILIES}
    called = {written.ARCHITECTURES.get(name, name) for name in tried - {"gemma3"}} | {"gemma3"}
    assert called == set(ARCHITECTURES)
    assert len(ARCHITECTURES) >= 12
    assert set(ARCHITECTURES) <= set(gguf.MODEL_ARCH_NAMES.values())
