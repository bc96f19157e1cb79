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
    "qwen3_moe": {"norm_topk_prob": True},
    "smollm3": {"num_hidden_layers": 4, "no_rope_layers": None},
    "stablelm": {},
    "stablelm/bias": {},
    "stablelm/qk-layernorm": {},
    "starcoder2": {"sliding_window": 10**6},
}
"""A variant of a family -> what of its settings llama.cpp has no key for, and has in its code."""


@pytest.mark.parametrize("name", FAMILIES)
def test_a_model_is_what_it_was(name, tmp_path):
    """Weights and logits of the whole in two formats, and what is measured of its first layers."""
    changes = {key: value for key, value in FAMILIES[name].items() if value is not None}
    left_out = {key for key, value in FAMILIES[name].items() if value is None}
    model = tiny(name, left_out=left_out, **changes)
    folder = saved(model, tiny_tokenizers.llama2(), tmp_path / "tiny")
    for kind in ("Q8_0", "Q4_1"):
        whole = Written(folder, kind)
        path, twin = whole.to(tmp_path / f"{kind}.gguf"), whole.twin(tmp_path / kind)
        file, expected = (load_model(one, device="cpu") for one in (path, twin))
        ours, theirs = file.model.state_dict(), expected.model.state_dict()
        assert [own for own in theirs if not torch.equal(ours[own], theirs[own])] == []
        with torch.no_grad():
            logits = [one.model(torch.tensor([IDS])).logits for one in (file, expected)]
        require_close(*logits, 2**12)
    part = measure_passage(load_model(path, device="cpu", layers=1), IDS)
    whole = measure_passage(expected, IDS)
    for head in (0, 3):
        found, wanted = (one.probability(0, head) for one in (part, whole))
        require_close(found, wanted, 2**12, dtype=torch.float32)
    if whole.magnitude is not None:
        require_close(part.magnitude, whole.magnitude[:1], 2**12, dtype=torch.float32)


def test_every_architecture_is_among_them():
    tried = {name.partition("/")[0] for name in FAMILIES}
    called = {written.ARCHITECTURES.get(name, name) for name in tried - {"gemma3"}} | {"gemma3"}
    assert called == set(ARCHITECTURES)
    assert len(ARCHITECTURES) >= 12
    assert set(ARCHITECTURES) <= set(gguf.MODEL_ARCH_NAMES.values())
