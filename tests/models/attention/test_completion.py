"""What is filled in while a model runs: at no cost but what it must, and without a trace."""

import pytest
import torch

from report import families
from report.errors import ReportError
from report.models.attention import completion, rotation
from report.models.attention.capture import attached
from report.models.attention.modes import run_base
from report.models.attention.structure import structure
from tests.models.attention.test_rotation import LENGTH, recorded
from tests.models.recording import DenseRecorder, some_tokens

# Tokens projected beyond those of the text, for what is recorded in addition.
EXTRA = {
    "llama/default": 0,
    "gpt2/default": LENGTH,  # of positions alone, in the first layer
    "qwen2/default": 1,  # rotated biases, from zeros of one token
    "phi/default": 1 + LENGTH,  # where only a part is rotated, then of every token
}


@pytest.mark.parametrize("name", EXTRA)
def test_what_was_learned_costs_nothing_again(name):
    model, tokens = families.tiny(name), []
    recorded(model)
    attention = structure(model)[0].attention
    projection = attention.c_attn if "gpt2" in name else attention.k_proj
    projection.register_forward_hook(lambda _, args, __: tokens.append(args[0].shape[1]))
    factors = recorded(model)[0]
    assert sum(tokens) == LENGTH + EXTRA[name]
    assert (factors.rotated_key_bias is None) == (name in ("llama/default", "gpt2/default"))


@pytest.mark.parametrize("name", ["qwen2/default", "gpt2/default"])
def test_biases_that_were_changed_are_learned_again(name):
    model = families.tiny(name)
    before = recorded(model)
    attention = structure(model)[1].attention
    projection = attention.c_attn if "gpt2" in name else attention.q_proj
    with torch.no_grad():
        projection.bias.mul_(2)
    after = recorded(model)
    assert torch.equal(after[1].query_bias, 2 * before[1].query_bias)
    assert torch.equal(after[0].query_bias, before[0].query_bias)


def test_numbers_that_are_not_numbers_are_left_for_the_kernel_to_name():
    model = families.tiny("llama/default")
    recorded(model)
    model.model.layers[1].self_attn.q_proj.weight.data[5] = torch.nan
    assert recorded(model)[1].unrotated_query.isnan().any()


def test_a_rotation_that_is_no_longer_found_is_named(monkeypatch):
    model = families.tiny("llama/default")
    recorded(model)
    monkeypatch.setattr(completion, "POSITIONS", ())
    monkeypatch.setattr(rotation, "unrotated_beside", lambda factors, rotated: None)
    with pytest.raises(ReportError, match="layer 0: the rotation of its queries and keys cannot"):
        recorded(model)


def test_a_module_that_answers_without_attention_is_named():
    model = families.tiny("llama/default")
    module = structure(model)[0].attention
    own, calls = module.forward, []

    def once(*args, **kwargs):
        calls.append(1)
        return own(*args, **kwargs) if len(calls) == 1 else (kwargs["hidden_states"], None)

    module.forward = once
    with (
        pytest.raises(ReportError, match="type LlamaAttention did not compute its attention when"),
        attached(model, DenseRecorder()),
    ):
        run_base(model, some_tokens(LENGTH))
