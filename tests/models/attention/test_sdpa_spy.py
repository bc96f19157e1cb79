"""Calls of sdpa are taken over as they are meant, whichever way a model makes them."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from report.errors import ReportError
from report.measurements import decomposition
from report.measurements.decomposition import Factors, Scores
from report.models.attention import sdpa_spy
from report.models.attention.capture import attached
from report.models.attention.structure import route_of
from tests.close import require_close
from tests.models.recording import (
    DenseRecorder,
    largest_score,
    plain,
    probabilities,
    require_same,
    some_tokens,
)
from tests.models.remote_code import random_remote

LENGTH, HEADS, SIZE = 24, 4, 8
CAUSAL = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
DISTANCE = (torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)).float()  # i - j
SLOPES = 2.0 ** (-8 * torch.arange(1, HEADS + 1) / 6)  # no powers of two: products are rounded


def random(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape) + shape[-3]))


def hidden(added, mask=CAUSAL, value=-torch.inf):
    return added.expand(*added.shape[:-2], LENGTH, LENGTH).masked_fill(~mask, value)


QUERY, KEY = 3 * random(1, HEADS, LENGTH, SIZE), random(1, 2, LENGTH, SIZE)
ALL_KEYS = KEY.repeat_interleave(2, 1)
ALIBI = SLOPES[:, None, None] * torch.arange(LENGTH)
# name: (key, keyword arguments of the call, what is expected of position, what is visible)
CALLS = {
    "causal flag": (ALL_KEYS, {"is_causal": True}, None, CAUSAL),
    "no mask at all": (ALL_KEYS, {}, None, torch.ones_like(CAUSAL)),
    "keys shared by sdpa": (KEY, {"is_causal": True, "enable_gqa": True}, None, CAUSAL),
    "one key head, broadcast": (KEY[:, :1], {"attn_mask": CAUSAL}, None, CAUSAL),
    "own scale": (ALL_KEYS, {"is_causal": True, "scale": 0.7}, None, CAUSAL),
    "bool mask": (ALL_KEYS, {"attn_mask": CAUSAL[None, None]}, None, CAUSAL),
    "window": (ALL_KEYS, {"attn_mask": CAUSAL.triu(-5)}, None, CAUSAL.triu(-5)),
    "float mask": (ALL_KEYS, {"attn_mask": hidden(torch.zeros(1, 1))}, None, CAUSAL),
    "mild float mask": (
        ALL_KEYS,
        {"attn_mask": hidden(torch.zeros(1, 1), value=-1e4)},
        None,
        CAUSAL,
    ),
    "ALiBi": (ALL_KEYS, {"attn_mask": hidden(ALIBI)[None]}, ALIBI[:, 0], CAUSAL),
    "ALiBi by distance": (
        ALL_KEYS,
        {"attn_mask": hidden(-SLOPES[:, None, None] * DISTANCE)[None]},
        ALIBI[:, 0],
        CAUSAL,
    ),
    "ALiBi and a constant of each row": (
        ALL_KEYS,
        {"attn_mask": hidden(ALIBI + random(1, LENGTH, 1))[None]},
        ALIBI[:, 0],
        CAUSAL,
    ),
    "ALiBi in a window": (
        ALL_KEYS,
        {"attn_mask": hidden(ALIBI, CAUSAL.triu(-5), -1e9)[None]},
        ALIBI[:, 0],
        CAUSAL.triu(-5),
    ),
    "ALiBi of an encoder that grows": (
        ALL_KEYS,
        {"attn_mask": ALIBI[None]},
        ALIBI[:, 0],
        CAUSAL | True,
    ),
}


class Caller(nn.Module):
    def forward(self, *args, **kwargs):
        return functional.scaled_dot_product_attention(*args, **kwargs)


def spied(*args, **kwargs):
    """What a module that makes this call returns while it is spied on, and what was recorded."""
    recorder = DenseRecorder()
    forward = sdpa_spy.measured_forward(Caller(), lambda *given: recorder.attention(0, *given))
    return forward(*args, **kwargs), recorder


def probability_of(query, key, **arguments):
    """sdpa's own: the context of values that are 1 at one token each."""
    values = torch.eye(LENGTH).expand(*key.shape[:-2], LENGTH, LENGTH)
    return functional.scaled_dot_product_attention(query, key, values, **arguments)[0]


@pytest.mark.parametrize(("key", "arguments", "position", "mask"), CALLS.values(), ids=CALLS)
def test_a_call_becomes_factors(key, arguments, position, mask):
    value = random(*key.shape[:-1], 6)
    context, recorder = spied(QUERY, key, value, **arguments)
    (factors,) = recorder.factors
    assert isinstance(factors, Factors)
    assert factors.key.shape == key.shape[1:], "keys are kept once"
    assert torch.equal(factors.range().mask(), mask)
    assert (factors.visible is None) == torch.equal(mask, CAUSAL)
    if position is None:
        assert factors.position is None
    else:
        found = factors.position - factors.position[:, :1]
        added = arguments["attn_mask"]
        largest = added.expand(1, HEADS, LENGTH, LENGTH)[0][:, mask].abs().max()
        require_close(found, position - position[:, :1], LENGTH, largest)
    expected = functional.scaled_dot_product_attention(QUERY, key, value, **arguments)
    size = largest_score(recorder)
    require_close(context, expected, SIZE + LENGTH, size * value.abs().max())
    truth = probability_of(QUERY, key, **arguments)
    require_close(probabilities(recorder)[0], truth, SIZE + LENGTH, size)
    assert truth.amax(2).mean() > 0.5


def test_alibi_is_the_mask_itself_where_it_is_a_function_of_the_target():
    _, recorder = spied(QUERY, ALL_KEYS, ALL_KEYS, attn_mask=hidden(ALIBI + 1)[None])
    require_close(recorder.factors[0].position, ALIBI[:, 0] + 1, summed=2)


@pytest.mark.parametrize(
    "added",
    [hidden(-SLOPES[:, None, None] * DISTANCE**2), -SLOPES[:, None, None] * DISTANCE.abs()],
    ids=["by squared distance", "both directions"],
)
def test_a_mask_that_adds_anything_else_leaves_the_scores_in_one_piece(added):
    context, recorder = spied(QUERY, ALL_KEYS, ALL_KEYS, attn_mask=added[None])
    (scores,) = recorder.factors
    assert isinstance(scores, Scores)
    assert recorder.values == [None]
    truth = probability_of(QUERY, ALL_KEYS, attn_mask=added[None])
    require_close(probabilities(recorder)[0], truth, SIZE + LENGTH, largest_score(recorder))
    seen = scores.visible.mask()
    expected = QUERY[0] @ ALL_KEYS[0].transpose(1, 2) / SIZE**0.5 + added
    require_close(scores.score[:, seen], expected[:, seen], SIZE + 1)
    expected = functional.scaled_dot_product_attention(QUERY, ALL_KEYS, ALL_KEYS, added[None])
    assert torch.equal(context, expected)


def test_arguments_may_be_positional_named_and_without_a_batch():
    expected, _ = spied(QUERY, ALL_KEYS, ALL_KEYS, CAUSAL)
    by_name, _ = spied(query=QUERY, key=ALL_KEYS, value=ALL_KEYS, attn_mask=CAUSAL)
    flat, _ = spied(QUERY[0], ALL_KEYS[0], ALL_KEYS[0], None, 0.0, True)
    assert torch.equal(by_name, expected)
    assert torch.equal(flat, expected[0])


def test_other_functions_and_those_that_the_recorder_calls_are_left_alone():
    def attention(factors, value):
        dense = functional.scaled_dot_product_attention(
            factors.query, factors.key, value, is_causal=True
        )
        return dense + torch.softmax(dense, -1)

    forward = sdpa_spy.measured_forward(Caller(), attention)
    found = forward(QUERY, ALL_KEYS, ALL_KEYS, is_causal=True)
    largest = (QUERY @ ALL_KEYS.transpose(2, 3)).abs().max() * ALL_KEYS.abs().max()
    dense = functional.scaled_dot_product_attention(QUERY, ALL_KEYS, ALL_KEYS, is_causal=True)
    require_close(found, dense + dense.softmax(-1), SIZE + LENGTH, 2 * largest)


def test_the_spy_is_gone_after_an_exception():
    def attention(*_):
        raise KeyboardInterrupt

    forward = sdpa_spy.measured_forward(Caller(), attention)
    with pytest.raises(KeyboardInterrupt):
        forward(QUERY, ALL_KEYS, ALL_KEYS)
    functional.scaled_dot_product_attention(QUERY, ALL_KEYS, ALL_KEYS)


def test_attention_to_another_text_is_refused():
    with pytest.raises(ReportError, match=r"attention from 24 tokens to 25 is not measured"):
        spied(QUERY, random(1, 4, 25, SIZE), random(1, 4, 25, SIZE))


def test_masks_that_differ_from_head_to_head_are_refused():
    mask = CAUSAL.repeat(HEADS, 1, 1)
    mask[2] = CAUSAL.triu(-3)
    for given in (mask[None], hidden(torch.zeros(1, HEADS, 1, 1), mask)):
        with pytest.raises(ReportError, match="heads of a layer see different targets"):
            spied(QUERY, ALL_KEYS, ALL_KEYS, attn_mask=given)


def test_masks_with_holes_are_refused():
    mask = CAUSAL.clone()
    mask[9, 4] = False
    with pytest.raises(ReportError, match="mask of token 9 is not one unbroken range"):
        spied(QUERY, ALL_KEYS, ALL_KEYS, attn_mask=mask)


@pytest.mark.parametrize("lowest", [-torch.inf, torch.finfo(torch.float32).min])
def test_scores_may_be_as_far_apart_as_they_like_beside_a_strong_mask(lowest):
    scores = (
        torch.linspace(-110_000, 110_000, 2 * 5 * 5)
        .view(2, 5, 5)
        .masked_fill(~CAUSAL[:5, :5], lowest)
    )
    assert sdpa_spy.seen_targets(scores).is_causal


@pytest.mark.parametrize("broken", [torch.nan, torch.inf])
def test_a_broken_score_hides_nothing_so_that_its_head_can_be_named(broken):
    scores = torch.zeros(2, 5, 5)
    scores[1, 3, 2] = broken
    assert sdpa_spy.seen_targets(scores).mask().all()


@pytest.mark.parametrize(("alibi", "window"), [(False, 7), (True, None)])
def test_remote_code_is_reached_by_this_route_without_being_asked(alibi, window):
    model = random_remote(alibi=alibi, window=window).double()  # any mistake is large in float64
    token_ids = some_tokens(70)
    assert route_of(model) == "sdpa"
    expected = plain(model, token_ids).last_hidden_state
    recorder = DenseRecorder()
    with torch.no_grad(), attached(model, recorder) as calls:
        found = model(torch.tensor([token_ids])).last_hidden_state
    assert calls == [0, 1, 2], "one call a layer, and not the one after the layers"
    require_same(model, found, expected)
    assert torch.equal(plain(model, token_ids).last_hidden_state, expected)
    for factors in recorder.factors:
        # rotated in a way that nobody knows, scores are not split
        assert isinstance(factors, Factors if alibi else Scores)
        assert factors.range().mask()[60].sum() == (window or 61)
        names = [term.name for term in decomposition.terms(factors)]
        assert names == (["content", "bias", "position"] if alibi else ["score"])
        if alibi:
            assert factors.key.shape == (2, 70, 8)
    assert np.mean([layer.amax(2).mean() for layer in probabilities(recorder)]) > 0.4
