"""Empty layers see what a model calls its layers with, whatever layers return."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from report import families
from report.errors import ReportError
from report.models.attention.structure import structure
from report.models.partial.layers import layer_calls


class Layer(nn.Module):
    """Adds the mask, and returns in one of the styles of transformers."""

    def __init__(self, style):
        super().__init__()
        self.style = style

    def forward(self, hidden_states, mask=None, scale=1):
        raise AssertionError("an empty layer computes nothing")


class Toy(nn.Module):
    """Three layers, called by position or by name, whose output is taken as `style` has it."""

    def __init__(self, style, by_name=False, between=lambda hidden: hidden):
        super().__init__()
        self.layers = nn.ModuleList(Layer(style) for _ in range(3))
        self.style, self.by_name, self.between = style, by_name, between
        self.base_model = self
        self.config = SimpleNamespace(model_type="toy")
        self.device = torch.device("cpu")

    def forward(self, input_ids, use_cache):
        assert use_cache is False
        hidden = input_ids[..., None].float()
        for number, layer in enumerate(self.layers):
            mask = torch.ones(input_ids.shape[1]) * (number % 2)
            if self.by_name:
                output = layer(hidden_states=hidden, mask=mask, scale=number)
            else:
                output = layer(hidden, mask, scale=number)
            if self.style == "pair":
                hidden, _ = output
            else:
                hidden = output[0] if self.style == "tuple" else output
            hidden = self.between(hidden)
        raise AssertionError("the model is left at its last layer")


def calls_of(model, ids=(3, 4), shared=None):
    return layer_calls(model, model.layers, list(ids), {} if shared is None else shared)


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize("style", ["tensor", "tuple", "pair"])
def test_calls_are_seen_whatever_layers_return(style, by_name):
    model = Toy(style, by_name)
    hidden, calls = calls_of(model)
    assert torch.equal(hidden, torch.tensor([[[3.0], [4.0]]]))
    seen = []
    for call in calls:
        call.of(lambda *args, **named: seen.append((args, named)), "hidden")
    masks = [torch.zeros(2), torch.ones(2), torch.zeros(2)]
    for number, (args, named) in enumerate(seen):
        if by_name:
            assert args == ()
            assert named.pop("hidden_states") == "hidden"
            mask = named.pop("mask")
        else:
            assert args[0] == "hidden"
            mask = args[1]
        assert torch.equal(mask, masks[number % 2])
        assert named == {"scale": number}
    assert not any("forward" in vars(layer) for layer in model.layers)


def test_what_calls_have_in_common_is_kept_once():
    model, shared = Toy("tensor"), {}
    _, one = calls_of(model, (3, 4), shared)
    _, other = calls_of(model, (7, 8), shared)
    assert one[0].arguments[1] is one[2].arguments[1] is other[0].arguments[1]
    assert one[0].arguments[1] is not one[1].arguments[1]
    _, longer = calls_of(model, (7, 8, 9), shared)
    assert longer[0].arguments[1].shape == (3,)


def test_a_model_that_changes_hidden_states_between_layers_is_refused():
    model = Toy("tensor", between=lambda hidden: hidden * 2)
    with pytest.raises(ReportError, match=r"'toy' \(Toy\) cannot be run layer by layer \(it does"):
        calls_of(model)
    assert not any("forward" in vars(layer) for layer in model.layers)


def test_an_error_of_the_model_is_said():
    def broken(_):
        raise ValueError("no such thing")

    with pytest.raises(ReportError, match=r"layer by layer \(no such thing\); load the whole"):
        calls_of(Toy("tensor", between=broken))


def test_a_forward_that_somebody_else_put_in_place_comes_back():
    model = Toy("tensor")

    def wrapped(hidden):
        return hidden

    model.layers[1].forward = wrapped
    calls_of(model)
    assert model.layers[1].forward is wrapped
    assert "forward" not in vars(model.layers[0])


def test_a_model_whose_layers_hand_on_more_is_refused():
    class Handing(Toy):
        def forward(self, input_ids, use_cache):
            hidden, beside = input_ids[..., None].float(), None
            for layer in self.layers:
                hidden, beside = layer(hidden, beside)

    with pytest.raises(ReportError, match="hand on more than the hidden state"):
        calls_of(Handing("pair"))


def test_a_model_that_exchanges_parts_of_its_layers_is_refused():
    """As BigBird does for short texts: the layers that would be run later are others."""
    model = Toy("tensor")
    model.register_forward_pre_hook(lambda *_: setattr(model.layers[1], "inner", nn.Identity()))
    with pytest.raises(ReportError, match=r"exchanges parts of its layers.*load the whole model"):
        calls_of(model)
    assert not hasattr(model.layers[1], "inner")


def test_layers_of_gemma_3_get_the_masks_and_angles_of_their_kind():
    model = families.tiny("gemma3/text")
    modules = [part.module for part in structure(model)]
    with torch.no_grad():
        _, calls = layer_calls(model, modules, list(range(12)), {})
    local, other, everywhere = (call.named for call in calls)
    assert local["position_embeddings"][0] is other["position_embeddings"][0]
    assert not torch.equal(local["position_embeddings"][0], everywhere["position_embeddings"][0])
    assert local["attention_mask"] is other["attention_mask"]
    assert local["attention_mask"] is not None
    assert local["attention_mask"] is not everywhere["attention_mask"]
    assert model.config.layer_types[2] == "full_attention"
