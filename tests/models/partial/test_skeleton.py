"""A skeleton has the shapes and the own buffers of a model, and nothing that could be random."""

import copy

import pytest
import torch
from torch import nn

from report import families
from report.errors import ReportError
from report.models.partial.model import assign, skeleton

NAMES = [
    "llama/llama3-rope",
    "llama/yarn-rope",
    "gemma3/text",
    "gemma3/multimodal",
    "phi3/longrope",
    "deepseek_v3/yarn-rope",
    "gpt2/default",
    "gpt_neo",
    "bert/encoder",
    "roberta",
    "opt/norm-after",
    "xglm",
    "falcon/rotary-multi-query",
]


def skeleton_of(model, **options):
    return skeleton(type(model), copy.deepcopy(model.config), **options)


@pytest.mark.parametrize("name", NAMES)
def test_shapes_are_all_there_is_and_own_buffers_are_those_of_a_loaded_model(name, tmp_path):
    families.tiny(name).save_pretrained(tmp_path)
    model = type(families.tiny(name)).from_pretrained(tmp_path)
    empty = skeleton_of(model)
    assert not empty.training
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    assert {name: tensor.shape for name, tensor in empty.state_dict().items()} == shapes
    assert all(parameter.is_meta for parameter in empty.parameters())
    assert len(list(empty.parameters())) == len(list(model.parameters()))  # what is tied is tied
    buffers = dict(empty.named_buffers())
    for name, buffer in model.named_buffers():
        if name in shapes and buffer.is_floating_point():
            assert buffers[name].is_meta
        else:
            assert buffers[name].dtype == buffer.dtype
            assert torch.equal(buffers[name], buffer)


def test_a_buffer_that_checkpoints_store_is_no_more_made_up_than_a_parameter():
    empty = skeleton_of(families.tiny("deepseek_v3/default"))
    stored = [name for name, _ in empty.named_buffers() if "e_score_correction_bias" in name]
    assert stored
    assert all(empty.get_buffer(name).is_meta for name in stored)


def test_frequencies_stay_in_float32_where_weights_are_bfloat16(tmp_path):
    families.tiny("llama/default").save_pretrained(tmp_path)
    model = type(families.tiny("llama/default")).from_pretrained(tmp_path, dtype=torch.bfloat16)
    empty = skeleton_of(model, dtype=torch.bfloat16)
    assert {parameter.dtype for parameter in empty.parameters()} == {torch.bfloat16}
    for name, buffer in model.named_buffers():
        assert empty.get_buffer(name).dtype == buffer.dtype == torch.float32
        assert torch.equal(empty.get_buffer(name), buffer)


def test_what_is_never_rounded_is_not_rounded(monkeypatch):
    model = families.tiny("llama/default")
    monkeypatch.setattr(type(model), "_keep_in_fp32_modules_strict", ["input_layernorm"])
    empty = skeleton_of(model, dtype=torch.bfloat16)
    for name, parameter in empty.named_parameters():
        assert (parameter.dtype == torch.float32) == ("input_layernorm" in name)


@pytest.mark.parametrize("model_class", [nn.Linear, None])
def test_modules_made_afterwards_have_memory_again(model_class):
    model = families.tiny("llama/default")
    if model_class is None:
        skeleton_of(model)
    else:
        with pytest.raises(AttributeError):
            skeleton(model_class, model.config)
    assert not nn.Linear(2, 2).weight.is_meta


def test_what_has_no_weights_cannot_run_and_is_named():
    empty = skeleton_of(families.tiny("llama/default"))
    layer = empty.model.layers[1]
    with pytest.raises(ReportError, match=r"'model.layers.1.mlp.gate_proj.weight' is needed but"):
        layer.mlp(torch.zeros(1, 2, 64))
    with pytest.raises(ReportError, match=r"measure fewer layers, or load the whole model"):
        layer.input_layernorm(torch.zeros(1, 2, 64))
    layer.input_layernorm.forward = lambda hidden: hidden + 1  # computed by somebody else
    assert layer.input_layernorm(torch.zeros(1)).item() == 1


def test_a_tensor_is_put_in_place_and_what_was_there_is_returned():
    empty = skeleton_of(families.tiny("deepseek_v3/default"))
    norm = torch.ones(64)
    before = assign(empty, "model.norm.weight", norm)
    assert before.is_meta
    assert empty.model.norm.weight.data_ptr() == norm.data_ptr()
    assert not empty.model.norm.weight.requires_grad
    assign(empty, "model.norm.weight", before)
    assert empty.model.norm.weight is before
    name = "model.layers.1.mlp.gate.e_score_correction_bias"
    assign(empty, name, torch.zeros(4))
    assert torch.equal(empty.get_buffer(name), torch.zeros(4))
