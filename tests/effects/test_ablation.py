"""Ablation equals hooks on a plain model, run once a head, for every model that predicts."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from report.effects import ablation as module
from report.effects import replay
from report.effects.ablation import ablation
from report.effects.asked import Asked
from report.effects.replacing import means, of_text, zeros
from report.families.verify import in_float64
from report.measurements.precision import summed_by, tolerance
from report.models.attention.structure import structure
from tests.effects.asking import PREDICTING, TOKENS, entering, in_both, loaded, text

ASKED = [Asked(-1, 5, 7), Asked(9, 4)]


def by_hooks(model, token_ids, layer, head, values):
    """The logits, float64 [T, vocabulary], with the context of one head replaced, run alone.

    values: float [T, value_dim]; 0 for zeros
    """
    projection = structure(model)[layer].output_projection

    def replace(_, args):
        context = args[0].clone()
        size = context.shape[-1] // 4
        context[..., head * size : (head + 1) * size] = values
        return (context,)

    hook = projection.register_forward_pre_hook(replace)
    try:
        return entering(model, [], token_ids)[1]
    finally:
        hook.remove()


def read(logits, token_ids):
    """What ASKED asks, and the log probability of each next token."""
    asked = [float(logits[-1, 5] - logits[-1, 7]), float(logits[9, 4])]
    logs = logits.log_softmax(-1)
    return asked, [float(logs[place, token]) for place, token in enumerate(token_ids[1:])]


def require_equal(found, model, token_ids, values_of, most):
    """Compare with hooks, head by head."""
    asked, logs = read(entering(model, [], token_ids)[1], token_ids)
    np.testing.assert_allclose(found.before, asked, rtol=0, atol=most)
    np.testing.assert_allclose(found.log_probability, logs, rtol=0, atol=most)
    for layer in range(3):
        for head in range(4):
            values = values_of(layer, head)
            without = read(by_hooks(model, token_ids, layer, head, values), token_ids)
            drop = np.subtract(asked, without[0])
            np.testing.assert_allclose(found.drop[:, layer, head], drop, rtol=0, atol=most)
            drop = np.subtract(logs, without[1])
            measured = found.log_probability_drop[layer, head]
            np.testing.assert_allclose(measured, drop, rtol=0, atol=most)
            mean = sum(drop) / (len(token_ids) - 1)
            np.testing.assert_allclose(found.loss_rise[layer, head], mean, rtol=0, atol=most)


@in_both(PREDICTING)
def test_zeroed_heads_are_those_of_hooks_on_a_plain_model(name, double):
    """In float64 to ten digits; in float32 up to the rounding of a sum in another order, as a batch
    of texts adds up: by report/measurements/precision.py, some ten thousandths of a logit at most.
    """
    with in_float64() if double else nullcontext():
        model = loaded(name)
        found = ablation(model, text(), ASKED, zeros(model), loss=True)
        dtype = torch.float64 if double else torch.float32
        size = 2 * float(entering(model.model, [], text())[1].abs().max())
        most = tolerance(summed_by([model.model], TOKENS), size, dtype)
        assert most < (1e-10 if double else 1e-1)
        require_equal(found, model.model, text(), lambda *_: 0, most)
    assert found.kind == "zero"
    assert found.drop.shape == (2, 3, 4)
    assert found.loss_rise.shape == (3, 4)
    assert np.abs(found.drop[0]).min() > 1e-9  # of float32, many more
    assert not found.log_probability_drop[0, 0, :0].any()


@pytest.mark.parametrize("name", ["llama/default", "gpt2/default", "gpt_oss"])
def test_mean_and_resampled_contexts_are_those_of_plain_loops(name):
    with in_float64():
        model = loaded(name)
        projections = [part.output_projection for part in structure(model.model)]
        corpus = [text(2), text(3)[:10], text(4)[:1]]
        contexts = [entering(model.model, projections, one)[0] for one in corpus]
        size = contexts[0][0].shape[1] // 4

        def mean(layer, head):
            cells = slice(head * size, (head + 1) * size)
            rows = [row[cells] for one in contexts for row in one[layer][1:]]
            assert len(rows) == 23 + 9
            return sum(rows) / len(rows)

        found = ablation(model, text(), ASKED, means(model, corpus), loss=True)
        assert found.kind == "mean"
        require_equal(found, model.model, text(), mean, 1e-10)

        by_default = ablation(model, corpus[0], ASKED, loss=True)
        own = ablation(model, corpus[0], ASKED, means(model, corpus[:1]), loss=True)
        assert by_default.kind == "mean"
        assert np.array_equal(by_default.log_probability_drop, own.log_probability_drop)

        def other(layer, head):
            return contexts[0][layer][:, head * size : (head + 1) * size]

        found = ablation(model, text(), ASKED, of_text(model, corpus[0]), loss=True)
        assert found.kind == "resample"
        require_equal(found, model.model, text(), other, 1e-10)


def test_batches_of_any_size_give_the_same(monkeypatch):
    with in_float64():
        model, done = loaded("bloom"), []
        whole = ablation(model, text(), ASKED, loss=True, progress=lambda *at: done.append(at))
        monkeypatch.setattr(module, "TOKENS", 3 * TOKENS)
        monkeypatch.setattr(module, "NUMBERS", 99 * 7)
        monkeypatch.setattr(replay, "NUMBERS", 99 * 3)
        parts = ablation(model, text(), ASKED, loss=True)
    np.testing.assert_allclose(parts.drop, whole.drop, rtol=0, atol=1e-12)
    logs = parts.log_probability_drop, whole.log_probability_drop
    np.testing.assert_allclose(*logs, rtol=0, atol=1e-12)
    assert done == [(1, 3), (2, 3), (3, 3)]


def test_layers_before_the_ablated_one_are_not_computed():
    model = loaded("llama")
    calls = []
    first = structure(model.model)[0].attention
    hook = first.register_forward_hook(lambda *_: calls.append(1))
    found = ablation(model, text(), ASKED, zeros(model))
    hook.remove()
    assert len(calls) == 4  # the text, another to see what it is, what layers return, layer 0
    assert found.log_probability_drop is None and found.loss_rise is None
    only = ablation(model, text(), loss=True)
    assert only.drop.shape == (0, 3, 4) and only.log_probability_drop.shape == (3, 4, TOKENS - 1)
