"""Empty layers see what a model calls its layers with, and refuse what they cannot stand for."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from report.errors import ReportError
from report.models.partial.layers import layer_calls


class Toy(nn.Module):
    """Three layers, called with masks of two kinds; `between` is computed after each."""

    def __init__(self, between=lambda hidden: hidden):
        super().__init__()
        self.layers = nn.ModuleList(nn.Identity() for _ in range(3))
        self.between, self.base_model, self.device = between, self, torch.device("cpu")
        self.config = SimpleNamespace(model_type="toy")

    def forward(self, input_ids, use_cache):
        hidden = input_ids[..., None].float()
        for number, layer in enumerate(self.layers):
            hidden = self.between(layer(hidden, torch.ones(input_ids.shape[1]) * (number % 2)))


class Naming(Toy):
    """A model that calls its layers by the names of their arguments."""

    def forward(self, input_ids, use_cache):
        hidden = input_ids[..., None].float()
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden_states=hidden, number=number)


class Handing(Toy):
    """A model whose layers hand on two values."""

    def forward(self, input_ids, use_cache):
        hidden, beside = input_ids[..., None].float(), None
        for layer in self.layers:
            hidden, beside = layer(hidden, beside)


class Exchanging(Toy):
    """As BigBird for short texts: the layers that would be run later are others."""

    def forward(self, input_ids, use_cache):
        self.layers[1].inner = nn.Identity()
        super().forward(input_ids, use_cache)


def fail(_):
    raise ValueError("no such thing")


def calls_of(model, ids=(3, 4), shared=None):
    return layer_calls(model, model.layers, list(ids), {} if shared is None else shared)


def test_what_calls_have_in_common_is_there_once():
    model, shared = Toy(), {}
    first, other, longer = (calls_of(model, ids, shared)[1] for ids in ([3, 4], [7, 8], [7, 8, 9]))
    assert first[0].arguments[1] is first[2].arguments[1] is other[0].arguments[1]
    assert first[0].arguments[1] is not first[1].arguments[1]
    assert longer[0].arguments[1].shape == (3,)


def test_layers_that_are_called_by_name_are_called_so_again():
    _, calls = calls_of(Naming())
    seen = []
    for call in calls:
        call.of(lambda **named: seen.append(named), "hidden")
    assert seen == [{"hidden_states": "hidden", "number": number} for number in range(3)]


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (Toy(lambda hidden: hidden * 2), r"'toy' \(Toy\) cannot be run layer by layer \(it does"),
        (Toy(fail), r"layer by layer \(no such thing\); load the whole"),
        (Handing(), "hand on more than the hidden state"),
        (Exchanging(), r"exchanges parts of its layers.*load the whole model"),
    ],
)
def test_a_model_that_does_more_than_to_hand_on_the_hidden_state_is_refused(model, sentence):
    with pytest.raises(ReportError, match=sentence):
        calls_of(model)
    assert not any("forward" in vars(layer) for layer in model.layers)


def test_a_forward_that_somebody_else_put_in_place_comes_back():
    model = Toy()
    model.layers[1].forward = fail
    calls_of(model)
    assert model.layers[1].forward is fail
    assert "forward" not in vars(model.layers[0])
