"""Scores by origin: pairs of parts sum to the score, and are what a plain loop makes of them."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from report.effects.origins import origins_of_heads
from report.effects.parts import Part
from report.families.verify import in_float64
from report.models.attention.structure import structure
from tests.effects.asking import APART, entering, in_both, loaded, text
from tests.models.recording import DenseRecorder

WITH_ORIGINS = [name for name in APART if name not in ("gptj", "xglm", "mpt/clipped")]


def scores_of(model, token_ids, layer):
    """The scores of a layer, float [heads, T, T], of a pass of the whole model."""
    from report.measurements.decomposition import score
    from report.models.attention.capture import attached

    recorder = DenseRecorder()
    with attached(model, recorder):
        entering(model, [], token_ids)
    return score(recorder.factors[layer]).double().numpy()


@in_both(WITH_ORIGINS)
def test_pairs_sum_to_the_score(name, double):
    most = 1e-10 if double else 1e-3
    with in_float64() if double else nullcontext():
        model = loaded(name)
        found = origins_of_heads(model, text(), 2, [1])[0]
        scores = scores_of(model.model, text(), 2)[1, 23]
    assert len(found.parts) == 2 + 2 * 6
    assert found.parts[0] == Part("embedding") and found.parts[-1] == Part("biases")
    assert found.parts[3] == Part("head", 0, 2) and found.parts[6] == Part("feed-forward", 0)
    assert found.targets.stop == 24
    for place, target in enumerate(found.targets):
        total = found.pairs(target).sum() + found.position[place]
        assert total == pytest.approx(scores[target], abs=most)
        assert found.score[place] == pytest.approx(scores[target], abs=most)
        by_query, by_key = found.by_query[:, place], found.by_key[:, place]
        np.testing.assert_allclose(by_query, found.pairs(target).sum(1), rtol=0, atol=most)
        np.testing.assert_allclose(by_key, found.pairs(target).sum(0), rtol=0, atol=most)
    assert np.abs(found.query[:-1]).max(1).min() > 0 or "bias" not in name


@pytest.mark.parametrize("name", ["llama/default", "qwen3"])
def test_pairs_are_what_a_plain_loop_makes_of_them(name):
    """Layer 1, head 3, from the last token to token 7: parts from hooks, norms and rotation written
    out, with the scales that the norms have for the whole hidden state."""
    with in_float64():
        model = loaded(name)
        found = origins_of_heads(model, text(), 1, [3])[0]
        first, second = structure(model.model)[:2]
        modules = [first.module, first.output_projection, second.module, first.module.mlp]
        (embedding, contexts, state, _), _ = entering(model.model, modules, text())
        weight = first.output_projection.weight.detach()
        cells = [slice(16 * head, 16 * head + 16) for head in range(4)]
        heads = [contexts[:, one] @ weight[:, one].T for one in cells]
        forward = state - embedding - sum(heads)
        written = [embedding, *heads, torch.zeros_like(forward), forward]
        norm, attention = second.module.input_layernorm, second.attention
        angles = model.model.model.rotary_emb(state[None], torch.arange(24)[None])
        cos, sin = (one[0] for one in angles)

        def made(part, token, matrix, cells, own_norm):
            sigma = torch.sqrt((state[token] ** 2).mean() + norm.variance_epsilon)
            rows = matrix.weight.detach()[cells]
            vector = rows @ (norm.weight.detach() * part[token] / sigma)
            if own_norm is not None:
                whole = rows @ (norm.weight.detach() * state[token] / sigma)
                scale = torch.sqrt((whole**2).mean() + own_norm.variance_epsilon)
                vector = own_norm.weight.detach() * vector / scale
            turned = torch.cat([-vector[8:], vector[:8]])
            return vector * cos[token] + turned * sin[token]

        of_query, of_key = (getattr(attention, one, None) for one in ("q_norm", "k_norm"))
        pairs = found.pairs(7)
        for a, one in enumerate(written):
            query = made(one, 23, attention.q_proj, slice(48, 64), of_query)
            for b, other in enumerate(written):
                key = made(other, 7, attention.k_proj, slice(16, 32), of_key)
                assert pairs[a, b] == pytest.approx(float(query @ key) / 4, abs=1e-10)
        assert not pairs[-1].any() and not pairs[:, -1].any()


def test_biases_are_a_part_of_their_own():
    """GPT-2: of the norm's shift and the projection, the same for every token."""
    with in_float64():
        model = loaded("gpt2/default")
        found = origins_of_heads(model, text(), 1, [2])[0]
        part = structure(model.model)[1]
        shift = part.module.ln_1.bias.detach()
        matrix = part.attention.c_attn
        made = shift @ matrix.weight.detach() + matrix.bias.detach()
    np.testing.assert_allclose(found.query[-1], made[32:48] / 4, atol=1e-12)
    np.testing.assert_allclose(found.key[-1], made[64 + 32 : 64 + 48].expand(24, -1), atol=1e-12)


def test_windows_leave_out_what_is_not_seen():
    found = origins_of_heads(loaded("mistral"), text(), 1, [0])[0]
    assert found.targets == range(17, 24)
    with pytest.raises(ValueError, match="3 is not in range"):
        found.pairs(3)
