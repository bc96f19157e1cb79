"""What is changed about a model while it runs comes back."""

import pytest
import torch
from torch import nn
from transformers import AttentionInterface, AttentionMaskInterface

from report import families
from report.models.attention.modes import evaluating, interface, run_base


def names(model):
    """The attention implementation of every config, those of the parts of a wrapper included."""
    config = model.config
    return [
        one._attn_implementation
        for one in (config, *(getattr(config, name) for name in config.sub_configs))
    ]


@pytest.mark.parametrize("failing", [False, True])
def test_the_interface_is_registered_with_a_mask_and_forgotten_afterwards(failing):
    model = families.tiny("gemma3/multimodal")
    before = names(model), list(AttentionInterface._global_mapping)
    masks = list(AttentionMaskInterface._global_mapping)
    seen = []

    def function(module, query, key, value, mask, **_):
        seen.append(mask)
        if failing:
            raise ZeroDivisionError
        return torch.zeros_like(query).transpose(1, 2), None

    try:
        with interface(model, function):
            assert len(set(names(model))) == 1
            run_base(model, list(range(1, 13)))
    except ZeroDivisionError:
        assert failing
    assert (names(model), list(AttentionInterface._global_mapping)) == before
    assert list(AttentionMaskInterface._global_mapping) == masks
    sliding = seen[0]  # its window is 8 of 12 tokens: a function without a mask would not know
    assert sliding.dtype == torch.bool
    assert not sliding[0, 0, 11, 3]


def test_two_interfaces_at_once_have_names_of_their_own():
    models = [families.tiny("llama/default"), families.tiny("gpt2/default")]
    with interface(models[0], print), interface(models[1], print):
        assert names(models[0]) != names(models[1])


def test_every_mode_comes_back():
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout())).train()
    model[1].eval()
    with evaluating(model):
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == [True, True, False, False]


class Plain(nn.Module):
    """A model of somebody's own, whose forward knows no cache."""

    device = torch.device("cpu")

    @property
    def base_model(self):
        return self

    def forward(self, input_ids):
        return input_ids


def test_a_forward_without_a_cache_is_not_asked_for_one():
    assert run_base(Plain(), [4, 5]).tolist() == [[4, 5]]
