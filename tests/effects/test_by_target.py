"""Direct effects by target: they sum to those of heads, and are what a plain loop makes of them."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from report.effects import sentence as module
from report.effects.asked import Asked
from report.effects.direct import direct_effects
from report.effects.sentence import by_target
from report.errors import ReportError
from report.families.verify import in_float64
from report.models.attention.structure import structure
from tests.effects.asking import APART, TOKENS, entering, in_both, loaded, text

ASKED = [Asked(-1, 5, 7), Asked(9, 4)]


@in_both(APART)
def test_they_sum_to_the_direct_effects(name, double):
    most = 1e-10 if double else 1e-4
    with in_float64() if double else nullcontext():
        model = loaded(name)
        found, direct = by_target(model, text(), ASKED), direct_effects(model, text(), ASKED)
    assert found.effects.shape == (2, 3, 4, TOKENS)
    np.testing.assert_allclose(found.effects.sum(-1), direct.heads, rtol=0, atol=most)
    np.testing.assert_allclose(found.direct.total, direct.total, rtol=0, atol=most)
    assert not found.effects[1, :, :, 10:].any()  # later tokens are not seen
    assert not found.probability[1, :, :, 10:].any()
    assert np.count_nonzero(found.effects[0]) > 12
    rows = found.probability.sum(-1)
    if name == "gpt_oss":  # a sink takes its share
        assert rows.max() <= 1 + 1e-5  # of some heads it takes less than float32 tells from 1
        assert rows.min() < 0.9
    else:
        np.testing.assert_allclose(rows, 1, atol=1e-5)


@pytest.mark.parametrize(("name", "shared"), [("llama/default", 2), ("gptj", 1), ("xglm", 1)])
def test_each_is_what_a_plain_loop_makes_of_it(name, shared):
    """Probabilities from transformers' eager code, values from the value projection itself."""
    with in_float64():
        model = loaded(name)
        found = by_target(model, text(), [Asked(-1, 5)])
        parts = structure(model.model)
        values = [part.attention.v_proj for part in parts]
        norm = model.model.get_submodule(
            {"llama/default": "model.norm", "gptj": "transformer.ln_f", "xglm": "model.layer_norm"}[
                name
            ]
        )
        (state, *inputs), _ = entering(model.model, [norm, *values], text())
        last, centred = state[-1], name != "llama/default"
        last = last - last.mean() if centred else last
        epsilon = getattr(norm, "eps", getattr(norm, "variance_epsilon", 1e-5))
        row = model.model.get_output_embeddings().weight[5] * norm.weight
        towards = row.detach() / torch.sqrt((last**2).mean() + epsilon)
        towards = towards - towards.mean() if centred else towards
        model.model.config._attn_implementation = "eager"
        with torch.no_grad():
            attentions = model.model(
                torch.tensor([text()]), use_cache=False, output_attentions=True
            ).attentions
        for layer, part in enumerate(parts):
            weight = part.output_projection.weight.detach()
            size = weight.shape[1] // 4
            for head in range(4):
                for target in range(TOKENS):
                    first = head // shared * size
                    matrix = values[layer].weight.detach()[first : first + size]
                    written = weight[:, head * size : (head + 1) * size] @ (
                        matrix @ inputs[layer][target]
                    )
                    share = float(attentions[layer][0, head, -1, target])
                    expected = share * float(towards @ written)
                    assert found.effects[0, layer, head, target] == pytest.approx(
                        expected, abs=1e-10
                    )


def test_values_that_are_not_seen_are_refused_by_name(monkeypatch):
    monkeypatch.setattr("report.effects.values.PRODUCTS", ())
    with pytest.raises(ReportError, match=r"'gptj' .* layer 0: .* not what they read there"):
        by_target(loaded("gptj"), text(), ASKED)


def test_effects_that_do_not_sum_are_noticed(monkeypatch):
    effects = module._weighed
    monkeypatch.setattr(module, "_weighed", lambda *given: 1.01 * effects(*given))
    with pytest.raises(ReportError, match="do not sum to heads' direct effects"):
        by_target(loaded("llama"), text(), ASKED)
