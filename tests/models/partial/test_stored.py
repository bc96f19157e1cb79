"""Tensors are found under the names of any checkpoint of their family."""

import copy

import pytest
import torch
from safetensors.torch import load_file
from transformers import MixtralConfig, MixtralForCausalLM

from report.errors import ReportError
from report.models.partial.model import skeleton
from report.models.partial.stored import converted, stored_names


def skeleton_of(model):
    return skeleton(type(model), copy.deepcopy(model.config))


@pytest.fixture
def mixtral(tmp_path):
    """A model with more than nine experts, and its checkpoint, which stores each on its own."""
    torch.manual_seed(5)
    config = MixtralConfig(
        vocab_size=20,
        hidden_size=8,
        intermediate_size=12,
        num_attention_heads=2,
        num_key_value_heads=1,
        num_hidden_layers=1,
        num_local_experts=11,
    )
    model = MixtralForCausalLM(config)
    model.save_pretrained(tmp_path)
    return model, load_file(tmp_path / "model.safetensors")


def test_experts_are_joined_in_the_order_of_their_numbers(mixtral):
    model, tensors = mixtral
    assert len([name for name in tensors if ".experts." in name]) == 33
    empty = skeleton_of(model)
    found = stored_names(empty, reversed(list(tensors)))
    assert set(found) == set(model.state_dict())
    joined = [name for name, stored in found.items() if stored.converter is not None]
    assert len(joined) == 2
    for name in joined:
        parts = [tensors[source] for source in found[name].names]
        made = converted(empty, name, found[name], parts)
        assert torch.equal(made[name], model.state_dict()[name])


@pytest.mark.parametrize(
    "twice",
    [
        lambda name: name.removeprefix("model."),
        lambda name: f"model.{name}",
        lambda name: "model.layers.0.mlp.experts.down_proj",
    ],
)
def test_an_expert_that_is_there_twice_is_refused(twice, mixtral):
    model, tensors = mixtral
    expert = next(name for name in tensors if ".experts.3.w2" in name)
    with pytest.raises(
        ReportError, match=r"hold 'model.*experts\.down_proj' twice, as '.*' and as"
    ):
        stored_names(skeleton_of(model), [*tensors, twice(expert)])


def test_pieces_that_do_not_fit_together_are_said(mixtral):
    model, tensors = mixtral
    empty = skeleton_of(model)
    name = "model.layers.0.mlp.experts.down_proj"
    stored = stored_names(empty, tensors)[name]
    parts = [torch.zeros(number + 1, 2) for number in range(len(stored.names))]
    with pytest.raises(ReportError, match=f"'{name}' is stored as 11 tensors that transformers"):
        converted(empty, name, stored, parts)
