"""The logit lens: its last state is the model's prediction, and the others what a norm makes."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch

from report.effects.replay import logits_from
from report.effects.sentence import logit_lens, states_of
from report.families.verify import in_float64
from report.models.attention.structure import structure
from tests.effects.asking import APART, entering, in_both, loaded, text

ROWS = [0, 9, 23]


@in_both(APART)
def test_the_last_state_gives_the_models_own_logits(name, double):
    most = 1e-10 if double else 1e-4
    with in_float64() if double else nullcontext():
        model = loaded(name)
        states = states_of(model, text(), ROWS)
        _, logits = entering(model.model, [], text())
        final = logits_from(model.model, states[-1])
    assert len(states) == 7
    np.testing.assert_allclose(final, logits[ROWS], rtol=0, atol=most)


@pytest.mark.parametrize("name", ["llama/default", "gemma2", "bert/decoder", "opt/norm-after"])
def test_what_comes_after_the_last_layer_needs_no_parts(name):
    """So models with a norm after each sum have it, too."""
    model = loaded(name).model
    last = []
    hook = structure(model)[-1].module.register_forward_hook(
        lambda _, __, output: last.append(output[0] if isinstance(output, tuple) else output)
    )
    _, logits = entering(model, [], text())
    hook.remove()
    found = logits_from(model, last[0][0])
    np.testing.assert_allclose(found, logits, rtol=0, atol=1e-4)
    assert "forward" not in structure(model)[0].module.__dict__


@pytest.mark.parametrize("name", ["llama/default", "gemma2", "gpt2/default"])
def test_states_and_their_logits_are_what_a_plain_loop_makes_of_them(name):
    with in_float64():
        model = loaded(name)
        found = logit_lens(model, text(), [9, -1], [(5, 7), (7, 5)])
        path = "transformer.ln_f" if name == "gpt2/default" else "model.norm"
        norm, parts = model.model.get_submodule(path), structure(model.model)
        second = {
            "llama/default": lambda part: part.module.post_attention_layernorm,
            "gemma2": lambda part: part.module.pre_feedforward_layernorm,
            "gpt2/default": lambda part: part.module.ln_2,
        }[name]  # what enters it is the state after the attention
        modules = [one for part in parts for one in (part.module, second(part))]
        states, _ = entering(model.model, [*modules, norm], text())
        head = model.model.get_output_embeddings().weight.detach()
        for place, state in enumerate(states):
            for row, position in enumerate([9, 23]):
                with torch.no_grad():
                    logits = head @ norm(state[position])
                if name == "gemma2":
                    logits = 30 * torch.tanh(logits / 30)
                logs = logits - torch.log(torch.exp(logits).sum())
                order = sorted(range(99), key=lambda token, logs=logs: -float(logs[token]))
                assert found.tokens[place, row].tolist() == order[:5]
                expected = [float(logs[token]) for token in order[:5]]
                np.testing.assert_allclose(found.log_probabilities[place, row], expected, atol=1e-9)
                about = [(5, 7), (7, 5)][row]
                np.testing.assert_allclose(found.asked[place, row], logs[[*about]], atol=1e-9)
                assert found.ranks[place, row].tolist() == [order.index(one) for one in about]
    assert found.positions == (9, 23)
    assert found.tokens.shape == (7, 2, 5)
