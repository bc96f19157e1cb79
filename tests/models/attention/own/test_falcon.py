"""Every variant of Falcon against loops in float64, and what is peculiar about its ALiBi."""

import math

import numpy as np
import pytest
import torch

from report.errors import ReportError
from report.families.verify import in_float64
from report.measurements import decomposition
from report.models.attention.capture import attached
from report.models.attention.own import falcon
from tests.close import require_close
from tests.models.falcon_reference import bfloat16, reference, rotate, rows_of
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
)
from tests.tiny_falcon import random_falcon

GROUPED = {"new_decoder_architecture": True, "num_kv_heads": 2, "parallel_attn": True}
ROTARY = {"alibi": False}
VARIANTS = {
    "alibi, as falcon-rw-1b": {},
    "alibi, no biases": {"bias": False},
    "alibi, one key head": {"multi_query": True},
    "alibi, two key heads": GROUPED,
    "rotary": ROTARY,
    "rotary, one key head, as falcon-7b": ROTARY
    | {"bias": False, "multi_query": True, "parallel_attn": True},
    "rotary, two key heads, as falcon-40b": ROTARY | {"bias": False, **GROUPED},
    "rotary, two key heads and biases": ROTARY | GROUPED,
}


def measured(model, token_ids, alibi_factor=1):
    return recorded(
        model,
        token_ids,
        lambda module, attention: falcon.measured_forward(module, attention, alibi_factor),
    )


@pytest.fixture(scope="module", params=VARIANTS.values(), ids=VARIANTS)
def in_advance(request):
    """A variant's model, what was recorded of it, and the reference, on 27 tokens, in float64."""
    with in_float64():
        model = random_falcon(**request.param)
        token_ids = some_tokens(27)
        return model, token_ids, measured(model, token_ids), reference(model, token_ids)


@pytest.fixture
def compared(in_advance, double):
    """The same, and what a test computes of it is computed in float64 too."""
    return in_advance


def of_heads(truth, name):
    return [np.stack([getattr(head, name) for head in layer]) for layer in truth.layers]


def test_probabilities_equal_the_reference(compared):
    model, _, (_, recorder), truth = compared
    found = probabilities(recorder)
    require_same(model, found, of_heads(truth, "probability"), largest_score(recorder))
    largest = [layer.max(2) for layer in of_heads(truth, "probability")]
    assert np.mean(largest) > 0.4, "heads that spread evenly would prove little"


def test_terms_equal_the_reference(compared):
    model, _, (_, recorder), truth = compared
    names = ["content", "bias", "position"] if model.config.bias else ["content", "position"]
    found = [decomposition.terms(factors) for factors in recorder.factors]
    for place, name in enumerate(names):
        terms = [layer[place] for layer in found]
        assert {term.name for term in terms} == {name}
        values = [term.values if name == "bias" else term.matrix().tril() for term in terms]
        require_same(model, values, of_heads(truth, name))


def test_logits_equal_those_of_the_sdpa_forward_and_of_the_reference(compared):
    model, token_ids, (logits, _), truth = compared
    assert model.config._attn_implementation == "sdpa"
    require_same(model, logits, plain(model, token_ids).logits[0])
    require_same(model, logits, truth.logits)


@pytest.mark.usefixtures("double")
def test_the_distance_term_is_that_of_the_rotated_biases():
    """A function of the distance alone: b_q turned by i times b_k turned by j."""
    model = random_falcon(alibi=False, **GROUPED)
    _, recorder = measured(model, some_tokens(24))
    for layer, factors in enumerate(recorder.factors):
        bias = model.transformer.h[layer].self_attention.query_key_value.bias.detach().numpy()
        found = decomposition.rotary_terms(factors)["distance"]
        for head in range(4):
            query_bias, key_bias, _ = (bias[rows] for rows in rows_of(model.config, head))
            for i, j in ((0, 0), (5, 0), (11, 6), (23, 2)):
                turned = rotate(query_bias, i, 1e4) @ rotate(key_bias, j, 1e4)
                require_close(found[head, i, j], turned / math.sqrt(8), summed=8)
        assert found.abs().max() > 0.1


@pytest.mark.usefixtures("double")
def test_a_factor_of_the_rotation_is_part_of_content_and_bias():
    """With yarn, cosine and sine carry one: rotating by nothing keeps it, in queries and keys."""
    yarn = {
        "rope_type": "yarn",
        "rope_theta": 1e4,
        "factor": 8.0,
        "original_max_position_embeddings": 64,
    }
    model = random_falcon(alibi=False, rope_parameters=yarn, **GROUPED)
    factor = model.transformer.rotary_emb.attention_scaling
    assert factor > 1.1
    token_ids = some_tokens(40)
    logits, recorder = measured(model, token_ids)
    require_same(model, logits, plain(model, token_ids).logits[0])
    require_terms_sum_to_scores(recorder)
    first, truth = recorder.factors[0], reference(model, token_ids)
    found = decomposition.content(first).tril(), decomposition.bias(first)
    for term, name in zip(found, ("content", "bias"), strict=True):
        expected = factor**2 * of_heads(truth, name)[0]
        require_same(model, term, expected)


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
