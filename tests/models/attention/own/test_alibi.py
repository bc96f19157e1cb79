"""BLOOM and MPT against loops in float64 and transformers' own attentions, right for both."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from transformers import BloomConfig, BloomForCausalLM, MptConfig, MptForCausalLM

from report.families import randomise
from report.measurements import decomposition
from report.models.attention.own import bloom, mpt
from report.models.attention.own.protocol import OwnForward
from tests.models.recording import (
    plain,
    probabilities,
    recorded,
    relative_difference,
    require_same,
    some_tokens,
    with_doubled,
)


@dataclass(frozen=True)
class Family:
    """What differs between the two.

    build: a random model of a variant's options
    alibi: what its attention modules call the ALiBi that they are passed
    first_layer: the terms of layer 0 of a model and token ids, dict of name to [heads, T, T],
        computed token by token
    """

    own: OwnForward
    build: Callable
    alibi: str
    first_layer: Callable


def random_bloom(**options):
    model = BloomForCausalLM(BloomConfig(vocab_size=99, n_layer=3, **options)).eval()
    randomise(model, 2.0, torch.Generator().manual_seed(5))
    return model


def random_mpt(**options):
    config = MptConfig(vocab_size=99, n_layers=3, **options)
    model = MptForCausalLM(config).eval()
    randomise(model, 2.0, torch.Generator().manual_seed(6))
    return model


def bloom_first_layer(model, token_ids):
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
                terms["position"][head, i, j] = bloom_slope(head, heads) * (j - i)
    return terms


def bloom_slope(head, heads):
    """Of Press et al.: for 6 heads those of 4, then the first two odd ones of 8."""
    powers = 4 if heads in (4, 6) else heads
    if head < powers:
        return 2.0 ** (-8 * (head + 1) / powers)
    return 2.0 ** (-8 * (2 * (head - powers) + 1) / (2 * powers))


def mpt_first_layer(model, token_ids):
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
        rows = slice(head * size, (head + 1) * size)
        for i in range(length):
            for j in range(i + 1):
                content[head, i, j] = scale * query[i, rows] @ key[j, rows]
                position[head, i, j] = mpt_slope(head, heads) * (j - i)
    return {"content": content, "position": position}


def mpt_slope(head, heads):
    """MPT's: of the next power of two of heads, 8 for 6, the odd ones first."""
    powers = 4 if heads == 4 else 8
    order = [*range(1, powers, 2), *range(0, powers, 2)] if powers != heads else range(heads)
    return 2.0 ** (-8 * (order[head] + 1) / powers)


BLOOM = Family(bloom.FAMILY, random_bloom, "alibi", bloom_first_layer)
MPT = Family(mpt.FAMILY, random_mpt, "position_bias", mpt_first_layer)
VARIANTS = {
    "bloom, 6 heads, residual after the norm": (
        BLOOM,
        {"hidden_size": 48, "n_head": 6, "apply_residual_connection_post_layernorm": True},
    ),
    "mpt, 4 heads": (MPT, {"d_model": 32, "n_heads": 4}),
    "mpt, 6 heads, clipped, with a scale of its own": (
        MPT,
        {"d_model": 48, "n_heads": 6, "attn_config": {"clip_qkv": 1.5, "softmax_scale": 0.7}},
    ),
}


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS)
def variant(request):
    """A variant's family, and a new random model of it."""
    family, options = request.param
    return family, family.build(**options)


def measured(own, model, token_ids, alibi_factor=1):
    return recorded(
        model,
        token_ids,
        lambda module, attention: own.measured_forward(module, attention, alibi_factor),
    )


@pytest.mark.usefixtures("double")
def test_terms_of_the_first_layer_equal_loops(variant):
    family, model = variant
    token_ids = some_tokens(20)
    _, recorder = measured(family.own, model, token_ids)
    terms = {t.name: t.matrix().tril() for t in decomposition.terms(recorder.factors[0])}
    truth = family.first_layer(model, token_ids)
    assert list(terms) == list(truth)
    for name, term in terms.items():
        require_same(model, term, truth[name])
        assert np.abs(truth[name]).max() > 0.5, name


@pytest.mark.usefixtures("double")
def test_a_factor_multiplies_alibi_in_the_forward_pass(variant):
    """As a model would whose slopes are twice as steep."""
    family, model = variant
    token_ids = some_tokens(24)
    once = measured(family.own, model, token_ids)
    twice = measured(family.own, model, token_ids, alibi_factor=2)
    assert torch.equal(twice[1].factors[0].position, 2 * once[1].factors[0].position)
    expected = with_doubled(model, token_ids, family.alibi)
    require_same(model, twice[0], expected)
    assert relative_difference(once[0], expected) > 1e-2


def test_alibi_of_mpt_stays_in_float32_where_the_weights_are_bfloat16():
    """As in transformers, which adds it to the scores unrounded."""
    token_ids = some_tokens(160)
    an_mpt = random_mpt(d_model=32, n_heads=4, max_seq_len=160).bfloat16()
    logits, recorder = measured(mpt.FAMILY, an_mpt, token_ids)
    assert {factors.position.dtype for factors in recorder.factors} == {torch.float32}
    output = plain(an_mpt, token_ids, output_attentions=True)
    found, expected = probabilities(recorder)[0], output.attentions[0][0].float()
    assert (found - expected).abs().max() < 0.03
    assert logits.dtype == torch.bfloat16
