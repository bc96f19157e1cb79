"""BLOOM against loops in float64 and transformers' own attentions, which are right for it."""

import numpy as np
import pytest
import torch
from transformers import BloomConfig, BloomForCausalLM

from report.families import randomise
from report.measurements import decomposition
from report.models.attention.capture import attached
from report.models.attention.own import bloom
from tests.models.recording import (
    largest_score,
    plain,
    probabilities,
    recorded,
    relative_difference,
    require_same,
    require_terms_sum_to_scores,
    some_tokens,
    through_kernel,
    with_doubled,
)

pytestmark = pytest.mark.usefixtures("double")

VARIANTS = {
    "4 heads": {"hidden_size": 32, "n_head": 4},
    "6 heads, residual after the norm": {
        "hidden_size": 48,
        "n_head": 6,
        "apply_residual_connection_post_layernorm": True,
    },
}


def random_bloom(**options):
    model = BloomForCausalLM(BloomConfig(vocab_size=99, n_layer=3, **options)).eval()
    randomise(model, 2.0, torch.Generator().manual_seed(5))
    return model


def measured(model, token_ids, alibi_factor=1):
    return recorded(
        model,
        token_ids,
        lambda module, attention: bloom.measured_forward(module, attention, alibi_factor),
    )


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def model(request):
    return random_bloom(**request.param)


@pytest.mark.parametrize("length", [2, 31, 150])
def test_probabilities_and_logits_equal_those_of_transformers(model, length):
    token_ids = some_tokens(length)
    logits, recorder = measured(model, token_ids)
    output = plain(model, token_ids, output_attentions=True)
    expected = [attention[0] for attention in output.attentions]
    require_same(model, probabilities(recorder), expected, largest_score(recorder))
    require_same(model, logits, output.logits[0])
    require_terms_sum_to_scores(recorder)


def test_terms_of_the_first_layer_equal_loops(model):
    token_ids = some_tokens(20)
    _, recorder = measured(model, token_ids)
    found = decomposition.terms(recorder.factors[0])
    assert [term.name for term in found] == ["content", "bias", "position"]
    content, bias, position = (term.matrix().tril() for term in found)
    truth = first_layer(model, token_ids)
    for name, term in {"content": content, "bias": bias, "position": position}.items():
        require_same(model, term, truth[name])
        assert np.abs(truth[name]).max() > 0.5, name


def first_layer(model, token_ids):
    """The terms of every head of layer 0, [heads, T, T], computed token by token."""
    with torch.no_grad():
        embedded = model.transformer.word_embeddings_layernorm(
            model.transformer.word_embeddings(torch.tensor(token_ids))
        )
        normed = model.transformer.h[0].input_layernorm(embedded).double().numpy()
    projection = model.transformer.h[0].self_attention.query_key_value
    weight, fused_bias = (p.detach().double().numpy() for p in projection.parameters())
    heads, length = model.config.n_head, len(token_ids)
    size = model.config.hidden_size // heads
    terms = {name: np.zeros((heads, length, length)) for name in ("content", "bias", "position")}
    for head in range(heads):
        query_rows = slice(3 * head * size, (3 * head + 1) * size)
        key_rows = slice((3 * head + 1) * size, (3 * head + 2) * size)
        query, key = normed @ weight[query_rows].T, normed @ weight[key_rows].T
        for i in range(length):
            for j in range(i + 1):
                terms["content"][head, i, j] = query[i] @ key[j] / size**0.5
                terms["bias"][head, i, j] = fused_bias[query_rows] @ key[j] / size**0.5
                terms["position"][head, i, j] = slope(head, heads) * (j - i)
    return terms


def slope(head, heads):
    """Of Press et al.: for 6 heads those of 4, then the first two odd ones of 8."""
    powers = 4 if heads in (4, 6) else heads
    if head < powers:
        return 2.0 ** (-8 * (head + 1) / powers)
    return 2.0 ** (-8 * (2 * (head - powers) + 1) / (2 * powers))


def test_dropout_is_left_as_it_is_in_transformers(model):
    """In training mode the residual is added after dropout of the same projection."""
    token_ids = some_tokens(12)
    for module in model.modules():
        module.hidden_dropout = 0.5
    model.train()
    for layer in model.transformer.h:
        layer.self_attention.attention_dropout.p = 0.0
    torch.manual_seed(3)
    expected = plain(model, token_ids).logits[0]
    torch.manual_seed(3)
    logits, _ = measured(model, token_ids)
    require_same(model, logits, expected)
    model.eval()
    assert (logits - plain(model, token_ids).logits[0]).abs().max() > 0.1


def test_a_factor_multiplies_alibi_in_the_forward_pass(model):
    """As a model would whose slopes are twice as steep."""
    token_ids = some_tokens(24)
    once, twice = measured(model, token_ids), measured(model, token_ids, alibi_factor=2)
    assert torch.equal(twice[1].factors[0].position, 2 * once[1].factors[0].position)
    expected = with_doubled(model, token_ids, "alibi")
    require_same(model, twice[0], expected)
    assert relative_difference(once[0], expected) > 1e-2


def test_texts_longer_than_a_block_of_the_kernel(model):
    token_ids = some_tokens(150)
    found, expected = through_kernel(model, token_ids), plain(model, token_ids).logits[0]
    require_same(model, found, expected)


def test_the_model_is_as_before_after_an_exception(model):
    class Failing:
        updates = None

        def attention(self, layer, *_):
            assert model.config._attn_implementation == "report_unmasked", "a mask is built"
            raise KeyboardInterrupt(layer)

    token_ids = some_tokens(9)
    before = plain(model, token_ids).logits
    with pytest.raises(KeyboardInterrupt), attached(model, Failing()):
        plain(model, token_ids)
    assert model.config._attn_implementation == "eager"
    assert not any("forward" in module.__dict__ for module in model.modules())
    assert torch.equal(plain(model, token_ids).logits, before)
