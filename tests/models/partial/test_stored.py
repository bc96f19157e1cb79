"""Tensors are found under the names of any checkpoint of their family."""

import copy

import pytest
import torch
from safetensors.torch import load_file
from transformers import MixtralConfig, MixtralForCausalLM

from report import families
from report.errors import ReportError
from report.models.load.settings import TEXT_PART
from report.models.partial.model import skeleton
from report.models.partial.stored import converted, stored_names


def skeleton_of(model):
    return skeleton(type(model), copy.deepcopy(model.config))


def names_of(model, change=lambda name: name, renamed=None):
    """dict of the model's names to those in a checkpoint that spells them differently."""
    empty = skeleton_of(model)
    found = stored_names(empty, [change(name) for name in empty.state_dict()], renamed)
    return {name: stored.names for name, stored in found.items()}


@pytest.mark.parametrize("name", ["llama/default", "gpt2/default", "bert/encoder", "falcon/alibi"])
def test_a_checkpoint_has_the_names_of_the_model_with_its_head_or_without(name):
    model = families.tiny(name)
    prefix = model.base_model_prefix + "."
    every = list(model.state_dict())
    assert names_of(model) == {one: [one] for one in every}
    bare = names_of(model, lambda one: one.removeprefix(prefix))
    assert bare == {one: [one.removeprefix(prefix)] for one in every}


def test_a_model_without_a_head_finds_itself_in_one_with_a_head():
    model = families.tiny("gpt2/default").transformer
    found = names_of(model, lambda one: f"transformer.{one}")
    assert found == {one: [f"transformer.{one}"] for one in model.state_dict()}


def test_names_of_old_norms_are_understood():
    model = families.tiny("bert/encoder")

    def old(name):
        name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        return name.replace("LayerNorm.bias", "LayerNorm.beta")

    found = names_of(model, old)
    assert found["bert.embeddings.LayerNorm.weight"] == ["bert.embeddings.LayerNorm.gamma"]
    assert set(found) == set(model.state_dict())


@pytest.mark.parametrize("prefix", ["language_model.model.", "model.language_model."])
def test_the_text_part_of_a_larger_model(prefix):
    model = families.tiny("gemma3/text")
    _, renamed = TEXT_PART["Gemma3ForConditionalGeneration"]
    found = names_of(model, lambda name: name.replace("model.", prefix, 1), dict(renamed))
    norm = "layers.2.input_layernorm.weight"
    assert found["model." + norm] == [prefix + norm]


def test_tensors_that_the_model_does_not_have_are_left_aside():
    empty = skeleton_of(families.tiny("llama/default"))
    found = stored_names(empty, ["model.layers.0.rotary_emb.inv_freq", "vision.weight"])
    assert found == {}


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
