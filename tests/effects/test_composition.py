"""Which heads read what others write: scores from the weights, beside a plain loop over d x d."""

import numpy as np
import pytest
import torch

from report.effects.composition import NAMES, composition
from report.errors import ReportError
from tests.effects.asking import APART, loaded


def centred(size):
    return torch.eye(size, dtype=torch.float64) - 1 / size


def llama(layer, heads, after=None):
    """Each head's W_Q, W_K, W_V [d, r] and W_O [r, d], as the file of the family has them."""
    attention, gain = layer.self_attn, layer.input_layernorm.weight.detach().double()
    size = attention.head_dim

    def of(module, head):
        shared = heads // (module.weight.shape[0] // size)
        rows = module.weight.detach().double()[head // shared * size :][:size]
        return (rows * gain).T

    for head in range(heads):
        read = [of(getattr(attention, f"{name}_proj"), head) for name in NAMES]
        output = attention.o_proj.weight.detach().double()[:, head * size : (head + 1) * size].T
        yield *read, output if after is None else output * after(layer)


def gemma2(layer, heads):
    """The gains of its norms are 1 + weight, and one follows the attention."""
    norm = layer.input_layernorm
    before = norm.weight.detach().clone()
    with torch.no_grad():
        norm.weight += 1
        try:
            yield from llama(
                layer, heads, lambda one: 1 + one.post_attention_layernorm.weight.double()
            )
        finally:
            norm.weight.copy_(before)


def gpt2(layer, heads):
    """LayerNorm takes the mean away; queries, keys and values are columns of one matrix."""
    gain, matrix = layer.ln_1.weight.detach().double(), layer.attn.c_attn.weight.detach().double()
    whole = centred(len(gain)) @ (gain[:, None] * matrix)
    size = len(gain) // heads
    for head in range(heads):
        cells = slice(head * size, (head + 1) * size)
        read = [part[:, cells] for part in whole.chunk(3, 1)]
        yield *read, layer.attn.c_proj.weight.detach().double()[cells]


def neox(layer, heads):
    """Queries, keys and values of a head lie beside each other."""
    gain = layer.input_layernorm.weight.detach().double()
    rows = layer.attention.query_key_value.weight.detach().double() * gain
    whole = (rows @ centred(len(gain))).T
    size = len(gain) // heads
    for head in range(heads):
        own = whole[:, 3 * head * size :][:, : 3 * size]
        output = layer.attention.dense.weight.detach().double()
        yield *own.chunk(3, 1), output[:, head * size : (head + 1) * size].T


BY_NAME = {"llama/default": llama, "gemma2": gemma2, "gpt2/default": gpt2, "gpt_neox": neox}


def plain(weights):
    """Name -> [layers, heads, layers, heads] by products of whole matrices."""
    layers, heads = len(weights), len(weights[0])
    scores = {name: np.full((layers, heads) * 2, np.nan) for name in NAMES}
    for layer, of_layer in enumerate(weights):
        for head, (query, key, value, output) in enumerate(of_layer):
            matrices = query @ key.T, key @ query.T, value @ output
            for below in range(layer):
                for other, (_, _, read, written) in enumerate(weights[below]):
                    writer = read @ written
                    for name, matrix in zip(NAMES, matrices, strict=True):
                        norm = (writer @ matrix).norm() / writer.norm() / matrix.norm()
                        scores[name][layer, head, below, other] = norm
    return scores


@pytest.mark.parametrize("name", BY_NAME)
def test_scores_are_those_of_whole_matrices_of_the_named_weights(name):
    model = loaded(name)
    found = composition(model)
    heads = model.structure[0].heads
    with torch.no_grad():
        expected = plain([[*BY_NAME[name](part.module, heads)] for part in model.structure])
    for each in NAMES:
        np.testing.assert_allclose(found[each], expected[each], atol=2e-5)
        assert np.isfinite(found[each][1:, :, 0]).all()


def test_chance_is_the_mean_over_writers_that_are_turned_at_random():
    generator = torch.Generator().manual_seed(0)
    size, times = 24, 3000
    writer, reader = (
        torch.randn(size, rank, generator=generator)
        @ torch.randn(rank, size, generator=generator).double().float()
        for rank in (3, 5)
    )
    turned = torch.linalg.qr(torch.randn(times, size, size, generator=generator)).Q
    scores = (writer @ turned @ reader).flatten(1).norm(dim=1) / writer.norm() / reader.norm()
    assert (scores**2).mean().item() == pytest.approx(1 / size, rel=0.05)


@pytest.mark.parametrize("name", ["qwen3", "gemma3"])
def test_a_norm_of_queries_leaves_no_matrix(name):
    with pytest.raises(ReportError, match="its queries are not linear in what it reads"):
        composition(loaded(name))


def test_attention_that_shows_scores_alone_is_refused():
    with pytest.raises(ReportError, match="show no more than their scores"):
        composition(loaded("gptj"))


@pytest.mark.parametrize("name", [name for name in APART if name not in BY_NAME])
def test_of_other_families_scores_are_possible_or_refused(name):
    try:
        found = composition(loaded(name))
    except ReportError as error:
        assert "layer 0: its" in str(error)
        return
    for scores in found.values():
        known = scores[~np.isnan(scores)]
        assert known.min() > 0
        assert known.max() <= 1
