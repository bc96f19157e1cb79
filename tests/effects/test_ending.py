"""The last tokens read alone: attention of a plain pass, and ablation of these tokens alone."""

import numpy as np
import pytest
import torch

from report.effects.ending import Ending
from report.effects.replacing import zeros
from report.errors import ReportError
from report.families.verify import in_float64
from report.models.attention.structure import structure
from tests.effects.asking import BOTH_WAYS, TOKENS, loaded, text

START = 5
SETS = [[], [(0, 1)], [(0, 0), (1, 2)]]
NAMES = ("llama/default", "gpt2/default", "gemma2", "bloom")


def whole(model, ids):
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    with torch.no_grad():
        output = model(torch.tensor([ids]), output_attentions=True, use_cache=False)
    model.set_attn_implementation(before)
    return torch.cat(output.attentions).double().numpy(), output.logits[0].double()


@pytest.mark.parametrize("name", NAMES)
def test_shares_are_those_of_a_plain_loop_over_a_whole_pass(name):
    ids, groups = text(), [[TOKENS - 2, TOKENS - 1], [START]]
    targets = np.zeros((TOKENS, 2))
    targets[1:3, 0], targets[START, 1] = 1, 1
    with in_float64():
        of = loaded(name)
        read = Ending(of, ids, START)
        read.require_right()
        shares = read.shares(groups, targets)
        attention, _ = whole(of.model, ids)
    for layer, head in np.ndindex(shares.shape[:2]):
        for at, rows in enumerate(groups):
            for to, keys in enumerate(([1, 2], [START])):
                loop = sum(attention[layer, head, q, k] for q in rows for k in keys) / len(rows)
                assert shares[layer, head, at, to] == pytest.approx(loop, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_heads_are_replaced_at_the_last_tokens_alone(name):
    ids, asked = text(), [START + 1, TOKENS - 1]
    with in_float64():
        of = loaded(name)
        logs = Ending(of, ids, START).log_probabilities(SETS, zeros(of), asked)
        for places, of_set in zip(SETS, logs, strict=True):
            hooks = []
            for layer, part in enumerate(structure(of.model)):

                def hook(_, args, layer=layer, heads=part.heads, places=places):
                    context = args[0].clone()
                    cells = context.view(*context.shape[:2], heads, -1)
                    for at, head in places:
                        if at == layer:
                            cells[:, START:, head] = 0
                    return (context,)

                hooks.append(part.output_projection.register_forward_pre_hook(hook))
            logits = whole(of.model, ids)[1]
            for each in hooks:
                each.remove()
            plain = [float(logits[at - 1].log_softmax(-1)[ids[at]]) for at in asked]
            np.testing.assert_allclose(of_set, plain, rtol=0, atol=1e-9)
    assert not np.allclose(logs[0], logs[1])


def test_an_encoder_is_refused():
    with pytest.raises(ReportError, match=f"{BOTH_WAYS}|does not keep the keys"):
        Ending(loaded("bert/encoder"), text(), START).require_right()
