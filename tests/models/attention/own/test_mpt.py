"""MPT against loops in float64 and transformers' own attentions, which are right for it."""

import math

import numpy as np
import pytest
import torch
from transformers import MptConfig, MptForCausalLM

from report.families import randomise
from report.measurements import decomposition
from report.models.attention.own import mpt
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

VARIANTS = {
    "4 heads": {"d_model": 32, "n_heads": 4},
    "6 heads, clipped, with a scale of its own": {
        "d_model": 48,
        "n_heads": 6,
        "attn_config": {"clip_qkv": 1.5, "softmax_scale": 0.7},
    },
}


def random_mpt(**options):
    config = MptConfig(vocab_size=99, n_layers=3, max_seq_len=160, **options)
    model = MptForCausalLM(config).eval()
    randomise(model, 2.0, torch.Generator().manual_seed(6))
    return model


def measured(model, token_ids, alibi_factor=1):
    return recorded(
        model,
        token_ids,
        lambda module, attention: mpt.measured_forward(module, attention, alibi_factor),
    )


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def model(request):
    return random_mpt(**request.param)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("length", [2, 31, 160])
def test_probabilities_and_logits_equal_those_of_transformers(model, length):
    """Also for a text of all 160 tokens that the model takes."""
    token_ids = some_tokens(length)
    logits, recorder = measured(model, token_ids)
    output = plain(model, token_ids, output_attentions=True)
    expected = [attention[0] for attention in output.attentions]
    require_same(model, probabilities(recorder), expected, largest_score(recorder))
    require_same(model, logits, output.logits[0])
    require_terms_sum_to_scores(recorder)


@pytest.mark.usefixtures("double")
def test_terms_of_the_first_layer_equal_loops(model):
    token_ids = some_tokens(20)
    _, recorder = measured(model, token_ids)
    found = decomposition.terms(recorder.factors[0])
    assert [term.name for term in found] == ["content", "position"]
    for term, truth in zip(found, first_layer(model, token_ids), strict=True):
        require_same(model, term.matrix().tril(), truth)
        assert np.abs(truth).max() > 0.5, term.name


def first_layer(model, token_ids):
    """Content and position of every head of layer 0, [heads, T, T], computed token by token."""
    block, options = model.transformer.blocks[0], model.config.attn_config
    with torch.no_grad():
        normed = block.norm_1(model.transformer.wte(torch.tensor(token_ids))).double().numpy()
    fused = normed @ block.attn.Wqkv.weight.detach().double().numpy().T
    if options.clip_qkv:
        assert np.abs(fused).max() > options.clip_qkv, "nothing would be clipped"
        fused = fused.clip(-options.clip_qkv, options.clip_qkv)
    query, key, _ = np.split(fused, 3, axis=1)
    heads, length = model.config.n_heads, len(token_ids)
    size = model.config.d_model // heads
    scale = options.softmax_scale or 1 / math.sqrt(size)
    content, position = np.zeros((2, heads, length, length))
    for head in range(heads):
        own = slice(head * size, (head + 1) * size)
        for i in range(length):
            for j in range(i + 1):
                content[head, i, j] = scale * query[i, own] @ key[j, own]
                position[head, i, j] = slope(head, heads) * (j - i)
    return content, position


def slope(head, heads):
    """MPT's: of the next power of two of heads, 8 for 6, the odd ones first."""
    powers = 4 if heads == 4 else 8
    order = [*range(1, powers, 2), *range(0, powers, 2)] if powers != heads else range(heads)
    return 2.0 ** (-8 * (order[head] + 1) / powers)


@pytest.mark.usefixtures("double")
def test_a_factor_multiplies_alibi_in_the_forward_pass(model):
    """As a model would whose slopes are twice as steep."""
    token_ids = some_tokens(24)
    once, twice = measured(model, token_ids), measured(model, token_ids, alibi_factor=2)
    assert torch.equal(twice[1].factors[0].position, 2 * once[1].factors[0].position)
    expected = with_doubled(model, token_ids, "position_bias")
    require_same(model, twice[0], expected)
    assert relative_difference(once[0], expected) > 1e-2


def test_alibi_stays_in_float32_where_the_weights_are_bfloat16(model):
    """As in transformers, which adds it to the scores unrounded."""
    token_ids = some_tokens(160)
    model.bfloat16()
    logits, recorder = measured(model, token_ids)
    assert {factors.position.dtype for factors in recorder.factors} == {torch.float32}
    output = plain(model, token_ids, output_attentions=True)
    found, expected = probabilities(recorder)[0], output.attentions[0][0].float()
    assert (found - expected).abs().max() < 0.03
    assert logits.dtype == torch.bfloat16


@pytest.mark.usefixtures("double")
def test_texts_longer_than_a_block_of_the_kernel(model):
    token_ids = some_tokens(150)
    found, expected = through_kernel(model, token_ids), plain(model, token_ids).logits[0]
    require_same(model, found, expected)
