"""Direct effects: they sum to the logit, and each is what a plain loop makes of it."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch

from report.effects import direct
from report.effects.anatomy import anatomy
from report.effects.asked import Asked
from report.effects.direct import direct_effects
from report.errors import ReportError
from report.families.verify import in_float64
from report.models.attention.structure import structure
from tests.effects.asking import APART, entering, in_both, loaded, text

ASKED = [Asked(-1, 5), Asked(-1, 7, 9), Asked(10, 4, "mean"), Asked(0, 4)]


def logits_asked(logits):
    """What ASKED asks of logits [T, vocabulary], written out."""
    rows = [logits[-1, 5], logits[-1, 7] - logits[-1, 9], logits[10, 4] - logits[10].mean()]
    return np.array([float(row) for row in [*rows, logits[0, 4]]])


@in_both(APART)
def test_they_sum_to_the_models_own_logits(name, double):
    most = 1e-10 if double else 1e-4
    with in_float64() if double else nullcontext():
        model = loaded(name)
        found = direct_effects(model, text(), ASKED)
        _, logits = entering(model.model, [], text())
    if found.cap is not None:
        logits = found.cap * torch.atanh(logits / found.cap)
    np.testing.assert_allclose(found.total, logits_asked(logits), rtol=0, atol=most)
    assert found.off <= most
    assert found.heads.shape == (4, 3, 4)
    assert np.abs(found.heads).min() > 0


NORMS = {
    "llama/default": ("model.norm", lambda norm: norm.weight, False),
    "gemma2": ("model.norm", lambda norm: 1 + norm.weight, False),
    "granite": ("model.norm", lambda norm: norm.weight, False),
    "qwen2/default": ("model.norm", lambda norm: norm.weight, False),
    "gpt2/default": ("transformer.ln_f", lambda norm: norm.weight, True),
    "gptj": ("transformer.ln_f", lambda norm: norm.weight, True),
    "cohere/default": ("model.norm", lambda norm: norm.weight, True),
    "falcon/rotary-new-decoder": ("transformer.ln_f", lambda norm: norm.weight, True),
}
"""Last norm, what it multiplies by, and whether it takes the mean away: as the families have it."""
SCALES = {"granite": 1 / 4, "cohere/default": 0.0625}


@pytest.mark.parametrize("name", NORMS)
def test_a_heads_effect_is_what_a_plain_loop_makes_of_it(name):
    """At the last token; without value biases, which these parts of these models leave at 0 or
    which are taken away by hand."""
    with in_float64():
        model = loaded(name)
        found = direct_effects(model, text(), [Asked(-1, 5)])
        path, gain_of, centred = NORMS[name]
        norm, parts = model.model.get_submodule(path), structure(model.model)
        projections = [part.output_projection for part in parts]
        (state, *contexts), _ = entering(model.model, [norm, *projections], text())
        last = state[-1] - (state[-1].mean() if centred else 0)
        epsilon = getattr(norm, "eps", getattr(norm, "variance_epsilon", 1e-5))
        sigma = float(torch.sqrt((last**2).mean() + epsilon))
        row = model.model.get_output_embeddings().weight[5] * SCALES.get(name, 1.0)
        towards = gain_of(norm).detach() * row.detach() / sigma
        for layer, part in enumerate(parts):
            weight = part.output_projection.weight.detach()
            weight = weight.T if type(part.output_projection).__name__ == "Conv1D" else weight
            for head in range(4):
                size = weight.shape[1] // 4
                update = torch.zeros(64)
                for place in range(head * size, (head + 1) * size):
                    number = contexts[layer][-1, place] - value_bias(name, part, place)
                    update += weight[:, place] * number
                update = 0.22 * update if name == "granite" else update
                if name == "gemma2":
                    update = through_norm(part, contexts[layer][-1], weight, update)
                update = update - (update.mean() if centred else 0)
                assert found.heads[0, layer, head] == pytest.approx(
                    float(towards @ update), abs=1e-10
                )


def value_bias(name, part, place):
    """The bias of a number of the joined values."""
    if name == "gpt2/default":
        return float(part.attention.c_attn.bias[128 + place])
    if name == "qwen2/default":
        size = 16  # two heads share a key head
        return float(part.attention.v_proj.bias[place // size // 2 * size + place % size])
    return 0.0


def through_norm(part, context, weight, update):
    """An update after Gemma 2's norm, with the scale that it had for the whole of them."""
    norm = part.norm_after
    scale = torch.sqrt(((weight @ context) ** 2).mean() + norm.eps)
    return (1 + norm.weight.detach()) * update / scale


def test_biases_are_parts_of_their_own():
    with in_float64():
        model = loaded("gptj")
        found = direct_effects(model, text(), [Asked(-1, 5), Asked(-1, 5, 6)])
        head = model.model.get_output_embeddings()
        shift = model.model.transformer.ln_f.bias
    assert found.output_bias[0] == pytest.approx(head.bias[5].item(), abs=1e-12)
    assert found.output_bias[1] == pytest.approx((head.bias[5] - head.bias[6]).item(), abs=1e-12)
    assert found.norm_bias[0] == pytest.approx((head.weight[5] @ shift).item(), abs=1e-12)


def test_a_part_that_is_wrong_is_noticed(monkeypatch):
    model = loaded("llama")
    right = anatomy(model)
    layers = [replace(layer, factor=1.001) for layer in right.layers]
    monkeypatch.setattr(direct, "anatomy", lambda _: replace(right, layers=layers))
    with pytest.raises(ReportError, match="do not sum to the logit"):
        direct_effects(model, text(), ASKED)


def test_a_multiplier_that_is_not_known_is_refused():
    model = loaded("granite")
    for part in structure(model.model):
        part.residual_multiplier = 1.0
    with pytest.raises(ReportError, match="layer 0: what leaves it is not the sum"):
        direct_effects(model, text(), ASKED)


def test_a_model_whose_weights_change_is_looked_at_again():
    model = loaded("qwen2")
    before = anatomy(model)
    assert anatomy(model) is before
    with torch.no_grad():
        structure(model.model)[0].attention.v_proj.bias.mul_(2)
    after = anatomy(model)
    assert torch.equal(after.layers[0].value_bias, 2 * before.layers[0].value_bias)
