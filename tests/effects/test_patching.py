"""Patching equals hooks on a plain model, run once a head and token, for models that predict."""

import numpy as np
import pytest

from report.effects import patching as module
from report.effects.ablation import ablation
from report.effects.asked import Asked
from report.effects.patching import first_difference, pair, patched
from report.effects.replacing import of_text
from report.errors import ReportError
from report.families.verify import in_float64
from report.models.attention.structure import structure
from tests.effects.asking import PREDICTING, TOKENS, entering, loaded, text

ASKED = Asked(-1, 5, 7)
START = 17
LAYERS, HEADS = 3, 4


def two(start=START):
    """A text, and the same with other tokens from `start` on, every second one."""
    clean = list(text())
    corrupted = [t if n < start or (n - start) % 2 else (t + 3) % 60 for n, t in enumerate(clean)]
    assert clean[start] != corrupted[start]
    return clean, corrupted


def opened(model, start=START):
    found = pair(model, *two(start), ASKED)
    assert (found.start, found.tokens) == (start, TOKENS)
    return found


def plain(model, token_ids, donors, layer, head, places):
    """The difference of logits with a head's context at some tokens put in from another run, run
    alone; donors: what entered that run's output projections, a layer each."""

    def replace(_, args):
        context = args[0].clone().view(1, TOKENS, HEADS, -1)
        context[0, places, head] = donors[layer].view(TOKENS, HEADS, -1)[places, head]
        return (context.view_as(args[0]),)

    projection = structure(model)[layer].output_projection
    with projection.register_forward_pre_hook(replace):
        logits = entering(model, [], token_ids)[1]
    return float(logits[-1, 5] - logits[-1, 7])


def require_equal(found, model, start, most=1e-9):
    """Compare with hooks, head by head and token by token."""
    clean, corrupted = two(start)
    modules = [part.output_projection for part in structure(model)]
    (kept, logits), (others, of_others) = (entering(model, modules, ids) for ids in two(start))
    first, second = (float(one[-1, 5] - one[-1, 7]) for one in (logits, of_others))
    for layer, head in np.ndindex(LAYERS, HEADS):
        for place in (*range(start - 1, TOKENS), slice(None)):
            here = place if isinstance(place, int) else slice(start, None)
            told = (layer, head, here) if isinstance(place, int) else (layer, head)
            restored = found.restored if isinstance(place, int) else found.all_restored
            lost = found.lost if isinstance(place, int) else found.all_lost
            value = plain(model, corrupted, kept, layer, head, here)
            assert restored[told] == pytest.approx((value - second) / (first - second), abs=most)
            value = plain(model, clean, others, layer, head, here)
            assert lost[told] == pytest.approx((first - value) / (first - second), abs=most)


@pytest.mark.parametrize("name", PREDICTING)
def test_patched_heads_are_those_of_hooks_on_a_plain_model(name):
    with in_float64():
        model = loaded(name)
        found = patched(opened(model))
        require_equal(found, model.model, START)
    assert found.restored.shape == found.lost.shape == (LAYERS, HEADS, TOKENS)
    assert not found.restored[..., :START].any()
    assert np.abs(found.all_restored).min() > 1e-12


@pytest.mark.parametrize("name", ["llama/default", "gpt2/default", "falcon/alibi", "gemma2"])
def test_the_tokens_before_the_difference_are_read_once(name):
    """Where a model goes on from its own cache, and where two logits are computed alone, that gives
    what whole texts and all logits give."""
    with in_float64():
        model = loaded(name)
        quick = opened(model)
        assert quick.prefix is not None
        assert quick.columns
        for changed in ({"prefix": None}, {"columns": False}):
            slow = module.replace(quick, **changed)
            for each, other in zip(*map(patched_values, (quick, slow)), strict=True):
                np.testing.assert_allclose(each, other, rtol=0, atol=1e-9)


def patched_values(of):
    found = patched(of)
    return found.restored, found.lost, found.all_restored, found.all_lost


def test_texts_that_differ_at_once_and_batches_of_few(monkeypatch):
    monkeypatch.setattr(module, "TOKENS", 3 * TOKENS)
    with in_float64():
        model = loaded("llama/default")
        started = opened(model, 0)
        assert started.first(0) == 0
        require_equal(patched(started), model.model, 0)


@pytest.mark.parametrize("name", ["llama/default", "gpt2/default", "gemma2", "bert/decoder"])
def test_everything_is_1_and_nothing_is_0(name):
    with in_float64():
        of = opened(loaded(name))
        for run, donor in ((of.corrupted, of.clean), (of.clean, of.corrupted)):
            for layer in range(LAYERS):
                own = run.contexts[layer][None, START:]
                assert of.shares(run, of.of(run, layer, own)) == pytest.approx([0], abs=1e-10)
            assert of.shares(run, np.array([donor.value])) == pytest.approx([1], abs=1e-12)
            everything(of, run, donor)


def everything(of, run, donor):
    """All that another run has in a layer, put into the text of this one, is the other run."""
    for layer in range(1, LAYERS):
        mixed = module.replace(donor, token_ids=run.token_ids)
        value = of.of(mixed, layer, donor.contexts[layer][None, START:])
        assert of.shares(run, value) == pytest.approx([1], abs=1e-10)


@pytest.mark.parametrize("name", ["llama/default", "gpt2/default", "olmo2"])
def test_a_whole_head_is_what_resampling_it_is(name):
    with in_float64():
        model = loaded(name)
        clean, corrupted = two()
        of = opened(model)
        found = patched(of)
        lost = ablation(model, clean, [ASKED], of_text(model, corrupted)).drop[0]
        np.testing.assert_allclose(found.all_lost, lost / of.gap, rtol=0, atol=1e-9)
        risen = ablation(model, corrupted, [ASKED], of_text(model, clean)).drop[0]
        np.testing.assert_allclose(found.all_restored, -risen / of.gap, rtol=0, atol=1e-9)


def test_progress_is_told_layer_by_layer():
    told = []
    patched(opened(loaded("llama/default")), lambda *where: told.append(where))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_prompts_that_do_not_fit_are_refused_by_the_token_where_they_part():
    model = loaded("llama/default")
    clean, corrupted = two()
    with pytest.raises(ReportError, match=r"has 24 tokens .* 23; from token 17 on .* exchange"):
        first_difference(model, clean, corrupted[:-1])
    with pytest.raises(ReportError, match=r"from token 23 on .* has “\d+”, .* one no more"):
        first_difference(model, clean, clean[:-1])
    with pytest.raises(ReportError, match="the same tokens"):
        pair(model, clean, clean, ASKED)


def test_what_cannot_be_told_apart_is_refused(monkeypatch):
    model = loaded("llama/default")
    with pytest.raises(ReportError, match="reads in both directions"):
        pair(loaded("bert/encoder"), *two(), ASKED)
    of = opened(model)
    changed = module.replace(of, clean=module.replace(of.clean, value=of.clean.value + 1))
    with pytest.raises(ReportError, match="rounding does not explain"):
        changed.of(changed.clean, 0, changed.clean.contexts[0][None, START:])
    monkeypatch.setattr(module, "LEAST", 1e9)
    with pytest.raises(ReportError, match="answers both prompts alike"):
        opened(model)
