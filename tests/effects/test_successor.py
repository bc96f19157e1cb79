"""Which heads raise the next word of a list, beside plain products of the named weights."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from report.effects.reads import what_enters
from report.effects.successor import effective_embeddings, embeddings, succession
from report.errors import ReportError
from report.models.load.load import load_model
from report.models.text.ordered import WORDS, OrderedList, ordered_lists
from tests.effects.asking import APART, REFUSED, loaded
from tests.effects.test_composition import BY_NAME, centred

LISTS = (
    OrderedList("a", (3, 17, 4, 40, 21, 9, 30), ((0, 1), (1, 2), (2, 3), (4, 5), (5, 6), (6, 0))),
    OrderedList("b", (11, 5, 8), ((0, 1), (1, 2))),
)


def llama(model, ids):
    first = model.model.layers[0]
    return first.mlp(first.post_attention_layernorm(model.model.embed_tokens.weight[ids]))


def gemma2(model, ids):
    first, weight = model.model.layers[0], model.model.embed_tokens.weight[ids]
    inner = first.mlp(first.pre_feedforward_layernorm(weight * weight.shape[1] ** 0.5))
    return first.post_feedforward_layernorm(inner)


def gpt2(model, ids):
    first = model.transformer.h[0]
    return first.mlp(first.ln_2(model.transformer.wte.weight[ids]))


def neox(model, ids):
    first = model.gpt_neox.layers[0]
    return first.mlp(first.post_attention_layernorm(model.gpt_neox.embed_in.weight[ids]))


EFFECTIVE = {"llama/default": llama, "gemma2": gemma2, "gpt2/default": gpt2, "gpt_neox": neox}
LAST = {
    "llama/default": lambda model: model.model.norm.weight,
    "gemma2": lambda model: 1 + model.model.norm.weight,
    "gpt2/default": lambda model: model.transformer.ln_f.weight,
    "gpt_neox": lambda model: model.gpt_neox.final_layer_norm.weight,
}
CENTRED = ("gpt2/default", "gpt_neox")


@pytest.mark.parametrize("name", EFFECTIVE)
def test_heads_are_right_where_products_of_the_named_weights_are(name):
    model = loaded(name)
    found = succession(model, LISTS)
    heads, expected = model.structure[0].heads, []
    with torch.no_grad():
        weights = [[*BY_NAME[name](part.module, heads)] for part in model.structure]
        unembedding = model.model.get_output_embeddings().weight.double()
        gain = LAST[name](model.model).double()
        for words in LISTS:
            ids = list(words.token_ids)
            states = EFFECTIVE[name](model.model, ids).double()
            for now, then in words.steps:
                expected.append(np.full((2, len(weights), heads), np.nan))
                for layer in range(1, len(weights)):
                    for head, (*_, value, output) in enumerate(weights[layer]):
                        update = states[now] @ value @ output
                        if name in CENTRED:
                            update = update @ centred(len(update))
                        logits = (unembedding[ids] @ (gain * update)).tolist()
                        best = max(range(len(ids)), key=logits.__getitem__)
                        others = (best != now) / (len(ids) - 1)
                        expected[-1][:, layer, head] = best == then, others
    expected = np.stack(expected, 1)
    np.testing.assert_array_equal(found.right, expected[0])
    np.testing.assert_allclose(found.by_chance, expected[1])
    assert np.isnan(found.right[:, 0]).all()
    assert {0, 1} <= {*found.right[:, 1:].ravel()}


def test_the_control_is_the_mean_over_all_orders():
    """A head's highest word of each of n is the next one in 1 / (n - 1) of random orders."""
    rng, size = np.random.default_rng(0), 6
    highest = rng.integers(0, size, size)
    times = 0
    for _ in range(4000):
        order = rng.permutation(size)
        times += sum(highest[now] == then for now, then in pairwise(order))
    expected = np.mean(highest != np.arange(size)) / (size - 1)
    assert times / 4000 / (size - 1) == pytest.approx(expected, abs=0.01)


def test_a_head_that_is_made_to_write_the_next_word_is_right_of_all():
    model = loaded("llama/default")
    layer, head, ids = 1, 1, [3, 17, 4, 40]
    attention, last = model.structure[layer].attention, model.model.model.norm.weight
    size = attention.head_dim
    words = OrderedList("made", tuple(ids), ((0, 1), (1, 2), (2, 3)))
    with torch.no_grad():
        read = what_enters(model, layer, effective_embeddings(model, ids))
        shared = model.structure[layer].heads * size // attention.v_proj.weight.shape[0]
        values = attention.v_proj.weight[head // shared * size :][:size]
        written = attention.o_proj.weight.T[head * size :][:size]
        values.zero_()[: len(ids)] = torch.linalg.pinv(read.T)
        towards = torch.linalg.pinv(model.model.lm_head.weight[ids] * last).T
        written.zero_()[: len(ids)] = towards.roll(-1, 0)
    found = succession(model, [words])
    assert found.right[:, layer, head].tolist() == [1, 1, 1]
    assert found.by_chance[:, layer, head] == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("name", [name for name in APART if name not in EFFECTIVE])
def test_of_other_families_scores_are_possible_or_refused(name):
    try:
        found = succession(loaded(name), LISTS)
    except ReportError as error:
        assert "no more than their scores" in str(error)
        return
    assert np.isfinite(found.right[:, 1:]).all()
    assert ((found.by_chance[:, 1:] >= 0) & (found.by_chance[:, 1:] <= 0.5)).all()


@pytest.mark.parametrize("name", REFUSED)
def test_models_without_direct_effects_are_refused(name):
    with pytest.raises(ReportError):
        succession(loaded(name), LISTS)


def test_places_are_no_part_of_an_embedding():
    for name in ("gpt2/default", "llama/default", "bloom"):
        model, ids = loaded(name), [3, 17, 4, 40]
        found = embeddings(model, ids)
        alone = torch.cat([embeddings(model, [each, 5]) for each in ids])[::2]
        torch.testing.assert_close(found, alone)


def test_lists_are_those_whose_words_are_tokens(falcon_folder):
    model = load_model(falcon_folder)
    lists = ordered_lists(model)
    assert {"numbers", "letters"} <= {each.name for each in lists}
    for each in lists:
        texts = [model.tokenizer.decode([token]).strip() for token in each.token_ids]
        assert len({*texts}) == len(texts)
        words = WORDS[each.name]
        for now, then in each.steps:
            assert words.index(texts[then]) == (words.index(texts[now]) + 1) % len(words)


def test_a_vocabulary_without_ordered_words_is_refused(falcon_folder, monkeypatch):
    from report.models.text import ordered

    monkeypatch.setattr(ordered, "LEAST", 1000)
    with pytest.raises(ReportError, match="has no ordered list of which 1000 words"):
        ordered_lists(load_model(falcon_folder))
