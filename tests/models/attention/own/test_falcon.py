"""What is peculiar about Falcon's ALiBi and biases; its variants are in test_parity.py."""

import math

import numpy as np
import pytest
import torch

from report.errors import ReportError
from report.measurements import decomposition
from report.models.attention.capture import attached
from report.models.attention.own import falcon
from tests.close import require_close
from tests.models.recording import (
    DenseRecorder,
    eager,
    largest_score,
    plain,
    probabilities,
    recorded,
    require_same,
    some_tokens,
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
    return recorded(
        model,
        token_ids,
        lambda module, attention: falcon.measured_forward(module, attention, alibi_factor),
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
        falcon.measured_forward(module, None, alibi_factor=2)


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
