"""The forward passes of our own: what is peculiar about them; their variants are compared in
test_parity.py."""

import math

import numpy as np
import pytest
import torch
from transformers import BloomConfig, BloomForCausalLM, MptConfig, MptForCausalLM

from report.errors import ReportError
from report.families import randomise
from report.measurements import decomposition
from report.models.attention.capture import attached
from report.models.attention.own_forwards import OWN_FORWARDS, of_falcon
from tests.close import require_close
from tests.models.recording import (
    DenseRecorder,
    eager,
    largest_score,
    plain,
    probabilities,
    recorded,
    require_same,
    require_terms_sum_to_scores,
    some_tokens,
    with_doubled,
)
from tests.tiny_falcon import random_falcon

GROUPED = {"new_decoder_architecture": True, "num_kv_heads": 2, "parallel_attn": True}


def bfloat16(value):
    """Round to 8 significant bits, ties to even."""
    step = 2.0 ** (math.floor(math.log2(abs(value) or 1)) - 7)
    return round(value / step) * step  # Python rounds halves to even


def rotate(vector, place, theta):
    """Turn dimension n and n + half by place * theta^(-2n / size), as one complex number."""
    half = len(vector) // 2
    angle = place * theta ** (-np.arange(half) / half)
    turned = (vector[:half] + 1j * vector[half:]) * np.exp(1j * angle)
    return np.concatenate([turned.real, turned.imag])


def measured(model, token_ids, alibi_factor=1):
    own = OWN_FORWARDS[model.config.model_type]
    return recorded(
        model,
        token_ids,
        lambda module, attention: own(module, attention, alibi_factor),
    )


@pytest.mark.usefixtures("double")
def test_the_distance_term_is_that_of_the_rotated_biases():
    """A function of the distance alone: b_q turned by i times b_k turned by j."""
    model = random_falcon(alibi=False, **GROUPED)
    _, recorder = measured(model, some_tokens(24))
    for layer, factors in enumerate(recorder.factors):
        bias = model.transformer.h[layer].self_attention.query_key_value.bias.detach().numpy()
        bias = bias.reshape(2, 4, 8)  # two queries, then the key and the value that they share
        found = decomposition.rotary_terms(factors)["distance"]
        for head in range(4):
            query_bias, key_bias = bias[head // 2, head % 2], bias[head // 2, 2]
            for i, j in ((0, 0), (5, 0), (11, 6), (23, 2)):
                turned = rotate(query_bias, i, 1e4) @ rotate(key_bias, j, 1e4)
                require_close(found[head, i, j], turned / math.sqrt(8), summed=8)
        assert found.abs().max() > 0.1


def test_alibi_is_the_bfloat16_one_that_the_model_passes():
    """Past position 256 it goes in steps; recomputed from slopes it would not."""
    length = 300
    _, recorder = measured(random_falcon(), [1] * length)
    position = recorder.factors[0].position * math.sqrt(8)
    for head in range(4):
        slope = bfloat16(2.0 ** (-2 * (head + 1)))
        expected = [bfloat16(slope * bfloat16(j)) for j in range(length)]
        require_close(position[head], expected, summed=2)  # scaled, and back
    steps = position.diff(dim=1)[:, 257:]
    assert (steps == 0).any()
    assert (steps != 0).any()


def test_a_factor_is_refused_where_positions_are_rotary():
    module = random_falcon(alibi=False).transformer.h[0].self_attention
    with pytest.raises(ReportError, match=r"alibi_factor=2 is for models with ALiBi.*are rotary"):
        of_falcon(module, None, alibi_factor=2)


@pytest.mark.usefixtures("double")
def test_the_factor_acts_on_the_model_only_while_attached(token_ids):
    model = random_falcon()
    before = plain(model, token_ids).logits
    returned = plain(eager(model), token_ids, output_attentions=True)
    recorder = DenseRecorder()
    with attached(model, recorder, alibi_factor=2):
        require_same(model, plain(model, token_ids).logits, returned.logits)
    found = [attention[0] for attention in returned.attentions]
    require_same(model, probabilities(recorder), found, largest_score(recorder))
    assert torch.equal(plain(model, token_ids).logits, before)


def random_bloom(**options):
    model = BloomForCausalLM(BloomConfig(vocab_size=99, n_layer=3, **options)).eval()
    randomise(model, 2.0, torch.Generator().manual_seed(5))
    return model


def random_mpt(**options):
    config = MptConfig(vocab_size=99, n_layers=3, **options)
    model = MptForCausalLM(config).eval()
    randomise(model, 2.0, torch.Generator().manual_seed(6))
    return model


VARIANTS = {
    "bloom, 6 heads, residual after the norm": lambda: random_bloom(
        hidden_size=48, n_head=6, apply_residual_connection_post_layernorm=True
    ),
    "mpt, 4 heads": lambda: random_mpt(d_model=32, n_heads=4),
    "mpt, 6 heads, clipped, with a scale of its own": lambda: random_mpt(
        d_model=48, n_heads=6, attn_config={"clip_qkv": 1.5, "softmax_scale": 0.7}
    ),
}


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("build", VARIANTS.values(), ids=VARIANTS)
def test_a_factor_multiplies_alibi_in_the_forward_pass(build):
    """As a model would whose slopes are twice as steep; once, scores and logits are its own."""
    model, token_ids = build(), some_tokens(24)
    alibi = "alibi" if model.config.model_type == "bloom" else "position_bias"
    once, twice = (measured(model, token_ids, alibi_factor=factor) for factor in (1, 2))
    require_same(model, once[0], plain(model, token_ids).logits[0])
    require_terms_sum_to_scores(once[1])
    assert torch.equal(twice[1].factors[0].position, 2 * once[1].factors[0].position)
    expected = with_doubled(model, token_ids, alibi)
    require_same(model, twice[0], expected)
    assert (once[0] - expected).abs().max() > 1e-2 * expected.abs().max()


def test_alibi_of_mpt_stays_in_float32_where_the_weights_are_bfloat16():
    """As in transformers, which adds it to the scores unrounded."""
    token_ids = some_tokens(160)
    an_mpt = random_mpt(d_model=32, n_heads=4, max_seq_len=160).bfloat16()
    logits, recorder = measured(an_mpt, token_ids)
    assert {factors.position.dtype for factors in recorder.factors} == {torch.float32}
    output = plain(an_mpt, token_ids, output_attentions=True)
    found, expected = probabilities(recorder)[0], output.attentions[0][0].float()
    assert (found - expected).abs().max() < 0.03
    assert logits.dtype == torch.bfloat16
