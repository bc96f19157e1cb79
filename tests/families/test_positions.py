"""Positions that are added to embeddings, told apart in the first layer, against plain torch.

A model whose tables of positions hold zeros has the token's part of what its first layer reads, one
whose other tables and biases do has that of the place, if its norms divide by what they found of
the sum. Models are changed here by their weights, norms replaced by a line of their own.
"""

import numpy as np
import pytest
import torch
from torch import nn

from report import families
from report.models.attention.self_check import checked
from report.models.attention.structure import structure
from report.models.measure.passage import measure_passage
from tests.models.recording import some_tokens

ADDED = {
    "bert/encoder": ["position_embeddings"],
    "bert/decoder": ["position_embeddings"],
    "distilbert": ["position_embeddings"],
    "electra": ["position_embeddings"],
    "gpt2/default": ["wpe"],
    "gpt_bigcode": ["wpe"],
    "opt/norm-before": ["embed_positions"],
    "opt/norm-after": ["embed_positions"],
    "roberta": ["position_embeddings"],
}
PLACED = ["content", "content_position", "position_content", "position_position"]


class Frozen(nn.Module):
    """A norm that divides by a standard deviation that is given."""

    def __init__(self, norm, deviation):
        super().__init__()
        self.weight, self.bias, self.deviation = norm.weight, norm.bias, deviation

    def forward(self, values):
        return self.weight * (values - values.mean(-1, keepdim=True)) / self.deviation + self.bias


def read_by_attention(model, token_ids):
    """What the first attention reads, and what each norm on the way divides by."""
    attention, found, deviations = structure(model)[0].attention, [], {}

    def watch(norm, args, _):
        deviations.setdefault(norm, (args[0].var(-1, correction=0, keepdim=True) + norm.eps) ** 0.5)

    for norm in model.modules():
        if isinstance(norm, nn.LayerNorm):
            norm.register_forward_hook(watch)
    attention.register_forward_pre_hook(
        lambda _, args, kwargs: found.append(args[0] if args else kwargs["hidden_states"]),
        with_kwargs=True,
    )
    with torch.no_grad():
        model(input_ids=torch.tensor([token_ids]))
    return found[0][0], deviations


def part_of(name, token_ids, of_places):
    """One of the two parts of what the first attention reads, [T, hidden_size]."""
    model = families.tiny(name)
    _, deviations = read_by_attention(model, token_ids)
    inside = {id(module) for module in structure(model)[0].attention.modules()}
    for path, module in list(model.named_modules()):
        if module in deviations:
            owner, _, own = path.rpartition(".")
            setattr(model.get_submodule(owner), own, Frozen(module, deviations[module]))
    with torch.no_grad():
        for path, parameter in model.named_parameters():
            *_, module, kind = path.split(".")
            is_place = module in ADDED[name]
            table = "project" not in module and ("emb" in module or module == "wte")
            other = id(model.get_submodule(path.rpartition(".")[0])) not in inside
            if is_place != of_places and other and (is_place or table or kind == "bias"):
                parameter.zero_()
    return read_by_attention(model, token_ids)[0]


def projected(name, hidden):
    """Query and key of the first layer without their biases, [heads, T, d], of what is read."""
    attention = structure(families.tiny(name))[0].attention
    linear = {path.split(".")[-1]: module for path, module in attention.named_modules()}
    heads = structure(families.tiny(name))[0].heads
    size = hidden.shape[-1] // heads
    if "c_attn" in linear:
        weight = linear["c_attn"].weight
        weight = weight if isinstance(linear["c_attn"], nn.Linear) else weight.T
        query, key = weight[: hidden.shape[-1]], weight[hidden.shape[-1] :]
        key = key[: size if name == "gpt_bigcode" else hidden.shape[-1]]
    else:
        names = [("query", "key"), ("q_proj", "k_proj"), ("q_lin", "k_lin")]
        query, key = next((linear[q].weight, linear[k].weight) for q, k in names if q in linear)
    return [(hidden @ w.T).unflatten(-1, (-1, size)).transpose(0, 1) for w in (query, key)]


@pytest.mark.parametrize("name", ADDED)
def test_the_four_terms_are_those_of_models_without_the_one_or_the_other(name):
    token_ids = some_tokens(11)
    with torch.no_grad():
        token, place = (
            projected(name, part_of(name, token_ids, of_places)) for of_places in (False, True)
        )
    loaded = families.loaded(name)
    measured = measure_passage(loaded, token_ids)
    seen = measured.visible(0).mask().numpy()
    for head in range(structure(loaded.model)[0].heads):
        found = {term.name: term.values for term in measured.terms(0, head)}
        expected = [
            q[head] @ k[head % len(k)].T for q in (token[0], place[0]) for k in (token[1], place[1])
        ]
        scale = token[0].shape[-1] ** -0.5
        largest = max(float(one.abs().max()) for one in expected) * scale
        for term, product in zip(PLACED, expected, strict=True):
            true = scale * product.numpy()
            assert np.abs(found[term] - true)[seen].max() < 1e-5 * largest, (name, term)
    assert measured.terms(1, 0)[0].name == "mixed"


@pytest.mark.parametrize(("name", "first"), [("llama/default", "content"), ("bloom", "content")])
def test_a_model_that_adds_no_positions_has_content(name, first):
    assert checked(families.loaded(name))["capabilities"]["terms"][0] == first
