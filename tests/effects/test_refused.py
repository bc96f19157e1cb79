"""What effects refuse, and that a model is afterwards as it was."""

import pytest
import torch

from report.effects.ablation import ablation
from report.effects.asked import Asked
from report.effects.direct import direct_effects
from report.effects.origins import origins_of_heads
from report.effects.replacing import means, of_text, zeros
from report.effects.sentence import by_target, logit_lens
from report.effects.writes import writes_of_heads
from report.errors import ReportError
from tests.effects.asking import BOTH_WAYS, REFUSED, entering, loaded, text

ASKED = [Asked(-1, 5, 7), Asked(9, 4)]
EFFECTS = {
    "direct effects": lambda model: direct_effects(model, text(), ASKED),
    "direct effects by target": lambda model: by_target(model, text(), ASKED),
    "writes": lambda model: writes_of_heads(model, text(), [(1, 0)]),
    "origins": lambda model: origins_of_heads(model, text(), 1, [0]),
    "logit lens": lambda model: logit_lens(model, text(), [-1]),
    "ablation": lambda model: ablation(model, text(), ASKED),
}
SCORES_ONLY = "show no more than their scores"
MODELS = [("direct effects", name, message) for name, message in REFUSED.items()]
MODELS += [(name, "bert/decoder", REFUSED["bert/decoder"]) for name in [*EFFECTS][1:5]]
MODELS += [("origins", name, SCORES_ONLY) for name in ("codegen", "gpt_neo", "gptj", "xglm")]
MODELS += [("origins", "mpt/clipped", "as where they are clipped")]
MODELS += [("ablation", "bert/encoder", BOTH_WAYS)]


@pytest.mark.parametrize(("effect", "name", "message"), MODELS)
def test_a_model_without_an_effect_is_refused_by_name(effect, name, message):
    with pytest.raises(ReportError, match=message):
        EFFECTS[effect](loaded(name))


def test_a_model_loaded_in_part_is_refused():
    model = loaded("llama")
    model.partial = object()
    with pytest.raises(ReportError, match="loaded in part"):
        direct_effects(model, text(), ASKED)


def direct_of(*asked):
    return lambda model: direct_effects(model, text(), asked)


def lens_of(*given):
    return lambda model: logit_lens(model, text(), *given)


def ablation_with(replacement):
    return lambda model: ablation(model, text(), ASKED, replacement(model))


NOT_THERE = [
    (direct_of(), "no logit is asked about"),
    (direct_of(Asked(24, 5)), "position 24 is asked about, the text has 24 tokens"),
    (direct_of(Asked(-25, 5)), "position -25"),
    (direct_of(Asked(0, 99)), "token 99 is asked about, the model's output has the tokens 0 to 98"),
    (direct_of(Asked(0, 5, -1)), "token -1"),
    (direct_of(Asked(0, 5, "median")), "token 'median'"),
    (lens_of([24]), "position 24"),
    (lens_of([0], [[99]]), "token 99"),
    (lens_of([]), "no logit"),
    (
        lambda model: writes_of_heads(model, text(), [(3, 0)]),
        "layer 3, head 0 is asked about; the model has",
    ),
    (lambda model: writes_of_heads(model, text(), [(0, 4)]), "layer 0, head 4"),
    (lambda model: origins_of_heads(model, text(), 3, [0]), "layer 3, head 0"),
    (lambda model: origins_of_heads(model, text(), 1, [0], 24), "position 24"),
    (lambda model: ablation(model, text()), "no logit is asked about"),
    (lambda model: means(model, [[5]]), "no text of the corpus has two tokens"),
    (
        ablation_with(lambda model: of_text(model, text()[:10])),
        "resampled from has 10 tokens, the text itself has 24",
    ),
    (
        ablation_with(lambda _: zeros(loaded("deepseek_v3"))),
        "layer 0: the replacement is of a model with other",
    ),
]


@pytest.mark.parametrize(("effect", "message"), NOT_THERE)
def test_what_is_not_there_is_refused_by_name(effect, message):
    with pytest.raises(ReportError, match=message):
        effect(loaded("llama"))


@pytest.mark.parametrize("effect", EFFECTS)
def test_the_model_is_left_as_it_was(effect):
    model = loaded("gpt_oss")
    _, before = entering(model.model, [], text())
    model.model.train()
    EFFECTS[effect](model)
    assert all(module.training for module in model.model.modules())
    model.model.eval()
    _, after = entering(model.model, [], text())
    assert torch.equal(before, after)
    for module in model.model.modules():
        assert "forward" not in module.__dict__
        assert not module._forward_pre_hooks and not module._forward_hooks
