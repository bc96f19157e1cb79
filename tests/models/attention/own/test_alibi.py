"""The ALiBi of BLOOM and MPT; their variants are compared in test_parity.py."""

import pytest
import torch
from transformers import BloomConfig, BloomForCausalLM, MptConfig, MptForCausalLM

from report.families import randomise
from report.models.attention.own import bloom, mpt
from tests.models.recording import (
    plain,
    probabilities,
    recorded,
    require_same,
    require_terms_sum_to_scores,
    some_tokens,
    with_doubled,
)


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


def measured(own, model, token_ids, alibi_factor=1):
    return recorded(
        model,
        token_ids,
        lambda module, attention: own.measured_forward(module, attention, alibi_factor),
    )


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("build", VARIANTS.values(), ids=VARIANTS)
def test_a_factor_multiplies_alibi_in_the_forward_pass(build):
    """As a model would whose slopes are twice as steep; once, scores and logits are its own."""
    model, token_ids = build(), some_tokens(24)
    own, alibi = (bloom, "alibi") if model.config.model_type == "bloom" else (mpt, "position_bias")
    once = measured(own.FAMILY, model, token_ids)
    twice = measured(own.FAMILY, model, token_ids, alibi_factor=2)
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
    logits, recorder = measured(mpt.FAMILY, an_mpt, token_ids)
    assert {factors.position.dtype for factors in recorder.factors} == {torch.float32}
    output = plain(an_mpt, token_ids, output_attentions=True)
    found, expected = probabilities(recorder)[0], output.attentions[0][0].float()
    assert (found - expected).abs().max() < 0.03
    assert logits.dtype == torch.bfloat16
