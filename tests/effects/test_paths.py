"""Paths into heads, beside hooks on transformers' own modules, and sums that must come out."""

import numpy as np
import pytest
import torch

from report.effects import paths
from report.effects.parts import Part
from report.effects.patching import patched
from report.effects.paths import CHANNELS
from report.families.verify import in_float64
from report.models.attention.structure import structure
from tests.effects.asking import TOKENS, entering, loaded
from tests.effects.test_patching import HEADS, LAYERS, opened, two


class NoNorm(torch.nn.Identity):
    """Stands in the place of a norm, by whose name it is found."""


PROJECTIONS = {"Q": "q_proj", "K": "k_proj", "V": "v_proj"}


@pytest.mark.parametrize("name", ["llama/default", "qwen2/default"])
def test_edges_are_those_of_hooks_on_a_plain_model(name):
    """Projections get what the sender changed through the layer's own norm, all else is kept."""
    with in_float64():
        model = loaded(name)
        of = opened(model)
        found = paths.into(of, [(2, 1), (1, 0), (2, 3)])
        assert [(each.layer, each.head) for each in found] == [(1, 0), (2, 1), (2, 3)]
        for each in found:
            senders = [part for part in each.senders if part.kind == "head"]
            assert senders == [
                Part("head", at, n) for at in range(each.layer) for n in range(HEADS)
            ]
            for sender in senders:
                place = each.senders.index(sender)
                for channel, edges in zip(CHANNELS, each.edges, strict=True):
                    value = plain(model.model, each, sender, channel)
                    share = of.shares(of.corrupted, np.array(value))
                    assert edges[place] == pytest.approx(share, abs=1e-9)
        assert min(np.abs(each.edges).max() for each in found) > 1e-6


def plain(model, each, sender, channel):
    """The difference of logits after the corrupted text, one projection of a layer given another
    input for one head's context, which is then put into a run of its own."""
    clean, corrupted = two()
    parts = structure(model)
    outputs = [part.output_projection for part in parts]
    (kept, _), (own, _) = (entering(model, outputs, ids) for ids in (clean, corrupted))
    layer, head = sender.layer, sender.head
    size = own[layer].shape[1] // HEADS
    cells = slice(head * size, (head + 1) * size)
    weight = parts[layer].output_projection.weight[:, cells]
    change = (kept[layer] - own[layer])[:, cells] @ weight.T
    receiver = parts[each.layer]
    (state,), _ = entering(model, [receiver.module], corrupted)
    given = receiver.module.input_layernorm(state + change)
    projection = getattr(receiver.attention, PROJECTIONS[channel])
    hook = projection.register_forward_pre_hook(lambda _, args: (given[None],))
    with hook:
        (mixed,), _ = entering(model, [receiver.output_projection], corrupted)

    def replace(_, args):
        context = args[0].clone().view(1, TOKENS, HEADS, -1)
        context[0, :, each.head] = mixed.view(TOKENS, HEADS, -1)[:, each.head]
        return (context.view_as(args[0]),)

    with receiver.output_projection.register_forward_pre_hook(replace):
        logits = entering(model, [], corrupted)[1]
    return float(logits[-1, 5] - logits[-1, 7])


@pytest.mark.parametrize(
    "name", ["llama/default", "gpt2/default", "gemma2", "gpt_oss", "falcon/alibi", "olmo2"]
)
def test_all_that_enters_by_all_channels_is_what_patching_the_head_does(name):
    with in_float64():
        of = opened(loaded(name))
        heads = patched(of)
        for each in paths.into(of, [(0, 1), (1, 0), (2, 2)]):
            assert each.whole.shape == (len(CHANNELS) + 1,)
            told = heads.all_restored[each.layer, each.head]
            assert each.whole[-1] == pytest.approx(told, abs=1e-9)
            assert each.edges.shape == (len(CHANNELS), 1 + each.layer * (HEADS + 2))


def test_edges_sum_where_all_is_linear():
    """Without norms, and with no feed-forward layer after it, what a head of the last layer reads
    by V is a sum over all that was written before; its attention is even."""
    with in_float64():
        model = loaded("llama/default")
        for part in structure(model.model):
            part.module.input_layernorm = part.module.post_attention_layernorm = NoNorm()
        model.model.model.norm = NoNorm()
        last = structure(model.model)[-1].module
        with torch.no_grad():
            last.mlp.down_proj.weight.zero_()
            last.self_attn.q_proj.weight.zero_()
        [each] = paths.into(opened(model), [(2, 1)])
    assert len(each.senders) == 1 + 2 * (HEADS + 2)
    assert {"embedding", "head", "feed-forward"} <= {part.kind for part in each.senders}
    assert each.edges[2].sum() == pytest.approx(each.whole[2], abs=1e-9)
    assert (np.abs(each.edges[2]) > 1e-9).sum() > LAYERS * 3
