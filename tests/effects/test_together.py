"""Several heads replaced at once equal hooks on a plain model; single ones, `ablation`."""

import numpy as np
import pytest

from report.effects import together as module
from report.effects.ablation import ablation
from report.effects.replacing import means, zeros
from report.effects.together import log_probabilities
from report.errors import ReportError
from report.families.verify import in_float64
from report.models.attention.structure import structure
from tests.effects.asking import BOTH_WAYS, PREDICTING, TOKENS, entering, loaded, text

SETS = [[], [(0, 1)], [(2, 3)], [(0, 0), (0, 2), (2, 3)], [(1, 1), (2, 0)]]
ASKED = [5, 6, TOKENS - 1]


def by_hooks(model, ids, places, values):
    hooks = []
    for layer, part in enumerate(structure(model)):

        def hook(_, args, layer=layer, heads=part.heads):
            context = args[0].clone()
            size = context.shape[-1] // heads
            for at, head in places:
                if at == layer:
                    replaced = values.of(layer)[0, head].to(context)
                    context[..., head * size : (head + 1) * size] = replaced
            return (context,)

        hooks.append(part.output_projection.register_forward_pre_hook(hook))
    try:
        logits = entering(model, [], ids)[1]
    finally:
        for each in hooks:
            each.remove()
    return [float(logits[at - 1].log_softmax(-1)[ids[at]]) for at in ASKED]


@pytest.mark.parametrize("name", PREDICTING)
@pytest.mark.parametrize("few", [10_000, 1])
def test_sets_of_heads_equal_hooks_on_a_plain_model(name, few, monkeypatch):
    monkeypatch.setattr(module, "TOKENS", few)
    ids = text()
    with in_float64():
        of = loaded(name)
        for values in (zeros(of), means(of, [ids[:7], ids[3:]])):
            logs = log_probabilities(of, ids, SETS, values, ASKED)
            plain = [by_hooks(of.model, ids, places, values) for places in SETS]
            np.testing.assert_allclose(logs, plain, rtol=0, atol=1e-9)
            single = ablation(of, ids, (), values, loss=True)
            for place, ((layer, head),) in ((1, SETS[1]), (2, SETS[2])):
                drops = single.log_probability_drop[layer, head][[at - 1 for at in ASKED]]
                np.testing.assert_allclose(logs[0] - logs[place], drops, rtol=0, atol=1e-9)


def test_an_encoder_has_no_next_token():
    of = loaded("bert/encoder")
    with pytest.raises(ReportError, match=BOTH_WAYS):
        log_probabilities(of, text(), SETS, zeros(of), ASKED)
