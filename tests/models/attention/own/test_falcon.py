"""Every variant of Falcon against loops in float64, and what is peculiar about its ALiBi."""

import math

import numpy as np
import pytest
import torch

from report import families
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
    largest_difference,
    largest_score,
    plain,
    probabilities,
    recorded,
    require_same,
    require_terms_sum_to_scores,
    some_tokens,
    through_kernel,
)
from tests.tiny_falcon import random_falcon

GROUPED = {"new_decoder_architecture": True, "num_kv_heads": 2, "parallel_attn": True}
VARIANTS = {
    "alibi, as falcon-rw-1b": {},
    "alibi, no biases": {"bias": False},
    "alibi, one key head": {"multi_query": True},
    "alibi, two key heads": GROUPED,
    "rotary": {"alibi": False},
    "rotary, no biases": {"alibi": False, "bias": False},
    "rotary, one key head, as falcon-7b": {
        "alibi": False,
        "bias": False,
        "multi_query": True,
        "parallel_attn": True,
    },
    "rotary, one key head and biases": {"alibi": False, "multi_query": True},
    "rotary, two key heads, as falcon-40b": {"alibi": False, "bias": False, **GROUPED},
    "rotary, two key heads and biases": {"alibi": False, **GROUPED},
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


@pytest.mark.parametrize("name", ["content", "position"])
def test_terms_equal_the_reference(compared, name):
    model, _, (_, recorder), truth = compared
    found = []
    for factors in recorder.factors:
        (term,) = [term for term in decomposition.terms(factors) if term.name == name]
        found.append(term.matrix().tril())
    require_same(model, found, of_heads(truth, name))


def test_the_bias_term_equals_the_reference_and_is_missing_without_biases(compared):
    model, _, (_, recorder), truth = compared
    found = [decomposition.bias(factors) for factors in recorder.factors]
    require_same(model, found, of_heads(truth, "bias"))
    for factors, bias in zip(recorder.factors, found, strict=True):
        named = "bias" in [term.name for term in decomposition.terms(factors)]
        assert named == model.config.bias == bool(bias.any())


def test_terms_sum_to_scores(compared):
    require_terms_sum_to_scores(compared[2][1])


def test_logits_equal_those_of_the_sdpa_forward_and_of_the_reference(compared):
    model, token_ids, (logits, _), truth = compared
    assert model.config._attn_implementation == "sdpa"
    require_same(model, logits, plain(model, token_ids).logits[0])
    require_same(model, logits, truth.logits)


def test_keys_are_kept_once_for_the_heads_that_share_them(compared):
    model, _, (_, recorder), _ = compared
    expected = {True: 2, False: 1 if model.config.multi_query else 4}
    key_heads = expected[model.config.new_decoder_architecture]
    for factors, value in zip(recorder.factors, recorder.values, strict=True):
        assert factors.key.shape == value.shape == (key_heads, 27, 8)
        assert factors.query.shape == (4, 27, 8)


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


@pytest.mark.parametrize("seed", [7, 8])
def test_attentions_of_transformers_still_have_alibi_twice(token_ids, seed):
    """The day this fails, transformers was mended: see the messages."""
    model = random_falcon(seed).double()  # no rounding: any difference is one of meaning
    returned = plain(eager(model), token_ids, output_attentions=True)
    truth, once = measured(model, token_ids)
    logits, twice = measured(model, token_ids, alibi_factor=2)
    mended = largest_difference(probabilities(once), [a[0] for a in returned.attentions]) < 1e-3
    assert not mended, (
        "transformers' eager Falcon now counts ALiBi once, as its sdpa forward does: say in the "
        "documentation from which version on, and that alibi_factor=2 is only for older figures"
    )
    found = [attention[0] for attention in returned.attentions]
    require_same(model, probabilities(twice), found, largest_score(twice))  # eager is factor 2
    require_same(model, logits, returned.logits[0])
    sdpa = plain(model, token_ids).logits[0]
    require_same(model, truth, sdpa)  # the sdpa forward is factor 1
    assert (sdpa - logits).abs().max() > 1e-2


@pytest.mark.usefixtures("double")
def test_attentions_asked_of_an_sdpa_model_have_alibi_twice_too(token_ids):
    model = random_falcon()
    returned = plain(model, token_ids, output_attentions=True)
    _, twice = measured(model, token_ids, alibi_factor=2)
    found = [attention[0] for attention in returned.attentions]
    require_same(model, probabilities(twice), found, largest_score(twice))


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", [n for n in families.variants("falcon") if "rotary" in n])
def test_rotary_attentions_of_transformers_are_right(name):
    model = families.tiny(name, seed=3)
    token_ids = some_tokens(60)
    returned = plain(eager(model), token_ids, output_attentions=True)
    _, recorder = measured(model, token_ids)
    found = [attention[0] for attention in returned.attentions]
    require_same(model, probabilities(recorder), found, largest_score(recorder))


def test_a_factor_is_refused_where_positions_are_rotary():
    module = random_falcon(alibi=False).transformer.h[0].self_attention
    with pytest.raises(ReportError, match=r"alibi_factor=2 is for models with ALiBi.*are rotary"):
        falcon.measured_forward(module, None, alibi_factor=2)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_texts_longer_than_a_block_of_the_kernel(changes):
    model = random_falcon(**changes)
    token_ids = some_tokens(150)
    found, expected = through_kernel(model, token_ids), plain(model, token_ids).logits[0]
    require_same(model, found, expected)


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
