"""Direct effects in two models over the same texts, beside a plain loop over hooked passes."""

import numpy as np
import pytest
import torch

from report import families
from report.effects.difference import EFFECT, compare_effects
from report.errors import ReportError
from report.families.verify import in_float64
from report.models.attention.structure import structure
from report.models.measure.difference import CHANGE, REFERENCE, halves
from tests.effects.asking import entering
from tests.models.recording import some_tokens

TEXTS = [some_tokens(length, seed) for seed, length in enumerate((9, 21, 14, 2, 5))]

NORMS = {
    "llama": ("model.norm", False),
    "gptj": ("transformer.ln_f", True),
}
"""The last norm, and whether it takes the mean away; no part of these has a value bias."""


def pair(family):
    """Two random models of one shape."""
    return families.loaded(family), families.loaded(family, seed=1)


def effects(loaded, family, text):
    """What each head adds to the logit of the token that comes next less the mean over the
    vocabulary, for every token but the first and the last: float64 [token, layer, head]."""
    path, centred = NORMS[family]
    norm, parts = loaded.model.get_submodule(path), structure(loaded.model)
    output = loaded.model.get_output_embeddings().weight.detach()
    modules = [norm, *(part.output_projection for part in parts)]
    (state, *contexts), _ = entering(loaded.model, modules, text)
    found = np.zeros((len(text) - 2, len(parts), parts[0].heads))
    for row, at in enumerate(range(1, len(text) - 1)):
        last = state[at] - (state[at].mean() if centred else 0)
        epsilon = getattr(norm, "eps", getattr(norm, "variance_epsilon", 1e-5))
        sigma = torch.sqrt((last**2).mean() + epsilon)
        asked = output[text[at + 1]] - output.mean(0)
        towards = norm.weight.detach() * asked / sigma
        for layer, part in enumerate(parts):
            weight = part.output_projection.weight.detach()
            size = weight.shape[1] // part.heads
            for head in range(part.heads):
                its = slice(head * size, (head + 1) * size)
                update = weight[:, its] @ contexts[layer][at, its]
                update = update - (update.mean() if centred else 0)
                found[row, layer, head] = float(towards @ update)
    return found


@pytest.mark.parametrize("family", NORMS)
def test_effects_and_changes_are_those_of_a_plain_loop(family):
    with in_float64():
        models = pair(family)
        found = compare_effects(*models, TEXTS)
        for half, number in zip(found, (0, 1), strict=True):
            texts = [text for text, at in zip(TEXTS, halves(TEXTS), strict=True) if at == number]
            before, now = (
                np.concatenate([effects(each, family, text) for text in texts]) for each in models
            )
            # a sum over a text is counted in units of 2**-32
            for name, values in {
                REFERENCE + EFFECT: before,
                EFFECT: now,
                CHANGE + EFFECT: now - before,
            }.items():
                np.testing.assert_allclose(half.mean(name), values.mean(0), atol=1e-8)
    assert np.abs(found[0].mean(CHANGE + EFFECT)).min() > 0


def test_a_model_beside_itself_has_no_change_and_two_turned_round_the_opposite():
    first, second = pair("llama")
    same = compare_effects(first, first, TEXTS)
    assert all((half.mean(CHANGE + EFFECT) == 0).all() for half in same)
    there, back = compare_effects(first, second, TEXTS), compare_effects(second, first, TEXTS)
    for one, other in zip(there, back, strict=True):
        assert (one.mean(CHANGE + EFFECT) == -other.mean(CHANGE + EFFECT)).all()
        assert (one.mean(REFERENCE + EFFECT) == other.mean(EFFECT)).all()


def test_models_of_other_shapes_or_that_predict_nothing_are_refused():
    first, second = pair("llama")
    second.model.model.layers = second.model.model.layers[:-1]
    second.model.config.num_hidden_layers -= 1
    with pytest.raises(ReportError, match="heads are compared one by one"):
        compare_effects(first, second, TEXTS)
    with pytest.raises(ReportError, match="predicts no next token"):
        compare_effects(*pair("bert"), TEXTS)
