"""The layers of a model and what is asked of them."""

import pytest
import torch
from torch import nn

from report import families
from report.errors import ReportError
from report.models.attention.structure import require_layers, route_of, structure
from tests.models.recording import plain, some_tokens
from tests.models.remote_code import random_remote

pytestmark = pytest.mark.usefixtures("double")


@pytest.mark.parametrize("name", ["llama/default", "gpt2/default", "bert/encoder", "falcon/alibi"])
def test_the_output_weight_is_what_the_projection_multiplies_by(name):
    model = families.tiny(name)
    parts = structure(model)
    assert [part.module for part in parts] == list(model.get_submodule(LAYERS[name]))
    part = parts[1]
    context = torch.randn(5, part.output_weight().shape[1])
    bias = part.output_projection.bias
    expected = context @ part.output_weight().T + (0 if bias is None else bias)
    torch.testing.assert_close(part.output_projection(context), expected)


LAYERS = {
    "llama/default": "model.layers",
    "gpt2/default": "transformer.h",
    "bert/encoder": "bert.encoder.layer",
    "falcon/alibi": "transformer.h",
}


@pytest.mark.parametrize("name", ["gemma2", "gemma3/text", "olmo2", "glm4"])
def test_the_norm_after_is_its_scale_times_its_weight(name):
    for part in structure(families.tiny(name)):
        output = 3 * torch.randn(7, len(part.norm_weight()))
        scaled = part.norm_scale(output)[:, None] * part.norm_weight() * output
        torch.testing.assert_close(scaled, part.norm_after(output))
        assert part.norm_weight().std() > 0.05  # the weights are random: 1 would not do


@pytest.mark.parametrize("name", ["llama/default", "bert/encoder", "gpt_oss", "phi/qk-layernorm"])
def test_other_norms_come_after_nothing(name):
    """Before attention, of queries and keys, or (BERT) of the sum with the hidden state."""
    assert all(part.norm_after is None for part in structure(families.tiny(name)))


def test_granite_multiplies_what_its_attention_adds():
    model = families.tiny("granite")
    assert model.config.residual_multiplier != 1
    assert structure(model)[0].residual_multiplier == model.config.residual_multiplier
    assert structure(families.tiny("llama/default"))[0].residual_multiplier == 1


@pytest.mark.parametrize(
    "name", ["falcon/alibi", "falcon/rotary-multi-query", "bloom", "mpt/alibi"]
)
def test_families_with_a_file_are_reached_by_their_own_forward(name):
    assert route_of(families.tiny(name)) == "own forward"


def test_a_model_is_looked_at_once():
    model = families.tiny("llama/default")
    assert structure(model) is structure(model)
    assert structure(model) is not structure(families.tiny("llama/default"))


def test_layers_after_one_without_attention_are_not_measured():
    model = random_remote()
    model.blocks[1].mixer = nn.Linear(32, 32)
    assert len(structure(model)) == 1
    require_layers(model, 1)
    with pytest.raises(
        ReportError,
        match=r"architecture 'remote' \(RemoteModel\): layer 1 has no 'mixer.wo' as the layers "
        r"before it have, so only these can be measured; ask for the layers 0-0",
    ):
        require_layers(model, 2)


def test_a_sum_of_layers_is_all_that_the_model_computes():
    """The hidden state that a layer leaves is what the next takes: no layer is missing."""
    model = families.tiny("llama/default")
    entered = []
    for part in structure(model):
        part.module.register_forward_pre_hook(lambda _, args: entered.append(args[0]))
    output = plain(model, some_tokens(6), output_hidden_states=True)
    assert len(entered) == len(output.hidden_states) - 1
    for one, other in zip(entered, output.hidden_states, strict=False):
        assert torch.equal(one, other)
