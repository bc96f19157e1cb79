"""What heads write for what they read, beside plain products of the named weights."""

import numpy as np
import pytest
import torch

from report.effects.copying import TOP, copying
from report.effects.reads import what_enters
from report.effects.successor import effective_embeddings, embeddings
from report.errors import ReportError
from report.inputs import corpora
from report.kinds.atlas.measure import MANY_KINDS
from report.models.load.load import load_model
from report.models.text import frequent
from report.models.text.tokens import encode
from tests.effects.asking import APART, REFUSED, loaded
from tests.effects.test_composition import BY_NAME, centred
from tests.effects.test_successor import CENTRED, EFFECTIVE, LAST

IDS = [3, 17, 4, 40, 21, 9, 30]
WHOLE = {
    "llama/default": lambda model: model.model.embed_tokens.weight,
    "gemma2": lambda model: model.model.embed_tokens.weight * model.config.hidden_size**0.5,
    "gpt2/default": lambda model: model.transformer.wte.weight,
    "gpt_neox": lambda model: model.gpt_neox.embed_in.weight,
}
"""Name -> what enters its first layer for each token, without places."""


@pytest.mark.parametrize("name", EFFECTIVE)
def test_what_gains_and_loses_most_are_the_extremes_of_products_of_the_named_weights(name):
    model = loaded(name)
    found, heads = copying(model, IDS), model.structure[0].heads
    with torch.no_grad():
        embedded = WHOLE[name](model.model)[IDS].double()
        after = embedded + EFFECTIVE[name](model.model, IDS).double()
        unembedding = model.model.get_output_embeddings().weight.double()
        gain = LAST[name](model.model).double()
        for layer, part in enumerate(model.structure):
            for head, (*_, value, output) in enumerate(BY_NAME[name](part.module, heads)):
                for place, token in enumerate(IDS):
                    update = (after if layer else embedded)[place] @ value @ output
                    if name in CENTRED:
                        update = update @ centred(len(update))
                    logits = unembedding @ (gain * update)
                    logits = ((logits - logits.mean()) / logits.std(correction=0)).numpy()
                    at = layer, head, place
                    for ids, by, order in (
                        (found.gained, found.gained_by, np.sort(-logits)),
                        (found.lost, found.lost_by, np.sort(logits)),
                    ):
                        np.testing.assert_allclose(by[at], logits[ids[at]], atol=1e-4)
                        np.testing.assert_allclose(abs(by[at]), -order[:TOP], atol=1e-4)
                        assert len({*ids[at]}) == TOP
                    require_score(found.copies, found.gained, at, token)
                    require_score(found.suppresses, found.lost, at, token)
    assert {0, 1} == {*found.copies[0, :, 1:].ravel()}


def require_score(score, ids, at, token):
    layer, head, place = at
    own, others = score[:, place, layer, head]
    if not layer:
        assert np.isnan([own, others]).all()
        return
    among = ids[at].tolist()
    assert own == (token in among)
    assert others == pytest.approx(sum(n in among for n in IDS if n != token) / (len(IDS) - 1))


def test_a_head_that_is_made_to_copy_copies_all_and_its_negative_suppresses_them():
    """Of tied weights; a head whose output is turned round does the opposite."""
    model = loaded("llama/default")
    layer, head = 1, 1
    attention, last = model.structure[layer].attention, model.model.model.norm.weight
    size, ids = attention.head_dim, IDS[:4]
    with torch.no_grad():
        states = embeddings(model, ids) + effective_embeddings(model, ids)
        read = what_enters(model, layer, states)
        shared = model.structure[layer].heads * size // attention.v_proj.weight.shape[0]
        values = attention.v_proj.weight[head // shared * size :][:size]
        written = attention.o_proj.weight.T[head * size :][:size]
        values.zero_()[: len(ids)] = torch.linalg.pinv(read.T)
        written.zero_()[: len(ids)] = torch.linalg.pinv(model.model.lm_head.weight[ids] * last).T
        copied = copying(model, ids).copies[0, :, layer, head]
        written.neg_()
        turned = copying(model, ids)
    assert copied.tolist() == [1] * len(ids)
    assert turned.suppresses[0, :, layer, head].tolist() == [1] * len(ids)
    assert turned.copies[0, :, layer, head].tolist() == [0] * len(ids)


def test_a_head_that_writes_nothing_neither_copies_nor_suppresses():
    model = loaded("llama/default")
    attention = model.structure[1].attention
    with torch.no_grad():
        attention.o_proj.weight.zero_()
    found = copying(model, IDS)
    assert not found.gained_by[1].any() and not found.lost_by[1].any()
    assert not found.copies[:, :, 1].any() and not found.suppresses[:, :, 1].any()


@pytest.mark.parametrize("name", [name for name in APART if name not in EFFECTIVE])
def test_of_other_families_scores_are_possible_or_refused(name):
    try:
        found = copying(loaded(name), IDS)
    except ReportError as error:
        assert "no more than their scores" in str(error)
        return
    for score in (found.copies, found.suppresses):
        assert np.isnan(score[:, :, 0]).all()
        assert ((score[:, :, 1:] >= 0) & (score[:, :, 1:] <= 1)).all()
    assert np.isfinite(found.gained_by).all() and np.isfinite(found.lost_by).all()


@pytest.mark.parametrize("name", REFUSED)
def test_models_without_direct_effects_are_refused(name):
    with pytest.raises(ReportError):
        copying(loaded(name), IDS)


def test_words_are_those_of_most_texts(falcon_folder):
    model, texts = load_model(falcon_folder), [text for _, text in corpora.specified(MANY_KINDS)]
    chosen = frequent.frequent_words(model, texts, 20)
    within = [{*encode(model, text)} for text in texts]
    number = [sum(token in ids for ids in within) for token in chosen]
    assert len({*chosen}) == 20 and number == sorted(number, reverse=True)
    assert all(len(model.tokenizer.decode([token]).strip()) >= 3 for token in chosen)
    with pytest.raises(ReportError, match="leave out `copying`"):
        frequent.frequent_words(model, ["to be or not to be"], 30)
