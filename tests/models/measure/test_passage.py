"""What measuring must not do, and what stops it.

Its numbers are compared in tests/families: with transformers, and with one another."""

import copy
import gc

import numpy as np
import pytest
import torch

from report.errors import ReportError
from report.families.verify import in_float64
from report.models.measure.passage import measure_batch, measure_corpus, measure_passage


@pytest.fixture
def measured(loaded, token_ids):
    return measure_passage(loaded, token_ids)


@pytest.mark.parametrize("rows", [1, 7])
def test_the_size_of_a_block_changes_no_result(loaded, token_ids, rows):
    loaded.model.double()
    with in_float64():
        one, other = (measure_passage(loaded, token_ids, rows=each) for each in (rows, 64))
    assert (one.largest_targets == other.largest_targets).all()
    assert (one.marker_count == other.marker_count).all()
    for name in ("itself", "concentration"):
        np.testing.assert_allclose(one.statistics.mean(name), other.statistics.mean(name))
    np.testing.assert_allclose(one.magnitude, other.magnitude)
    np.testing.assert_allclose(one.alignment, other.alignment, atol=1e-12)


def test_a_corpus_is_the_sum_of_its_passages_however_it_is_split(loaded):
    rng = np.random.default_rng(5)
    texts = [rng.integers(0, 320, length).tolist() for length in (2, 30, 65, 90, 17)]
    whole = measure_corpus(loaded, texts)
    passages = [measure_passage(loaded, text).statistics for text in texts]
    one_by_one = passages[0]
    for statistics in passages[1:]:
        one_by_one = one_by_one.merge(statistics)
    halves = measure_corpus(loaded, texts[:2]).merge(measure_corpus(loaded, iter(texts[2:])))
    for other in (one_by_one, halves):
        assert (other.texts, other.rows) == (whole.texts, whole.rows) == (5, 199)
        for name, sums in whole.sums.items():
            assert (other.sums[name] == sums).all(), name


def test_measuring_changes_neither_model_nor_input(loaded, token_ids):
    weights = copy.deepcopy(loaded.model.state_dict())
    given = list(token_ids)
    measured = measure_passage(loaded, token_ids)
    measure_corpus(loaded, [token_ids])
    assert token_ids == given == measured.token_ids
    for name, tensor in loaded.model.state_dict().items():
        assert torch.equal(tensor, weights[name])
        assert tensor.grad is None


def test_results_hold_no_gradient_and_no_view_of_the_model(loaded, token_ids, measured):
    before = measured.probability(1, 2)
    with torch.no_grad():
        for parameter in loaded.model.parameters():
            parameter.zero_()
    assert (measured.probability(1, 2) == before).all()
    assert not any(factors.query.requires_grad for factors in measured.factors)


def test_all_at_once_is_what_each_is_alone(loaded, token_ids, measured):
    texts = [token_ids[:20], token_ids[10:]]
    seen = []
    passage, corpus = measure_batch(loaded, texts, token_ids, lambda *n: seen.append(n))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert (passage.largest_targets == measured.largest_targets).all()
    assert (passage.alignment == measured.alignment).all()
    assert (passage.probability(2, 1) == measured.probability(2, 1)).all()
    alone = measure_corpus(loaded, texts)
    for name, sums in corpus.sums.items():
        assert (sums == alone.sums[name]).all(), name
    assert (corpus.texts, corpus.rows) == (alone.texts, alone.rows) == (2, 48)


def test_progress_counts_layers_and_texts(loaded, token_ids):
    seen = []
    measure_passage(loaded, token_ids, progress=lambda *step: seen.append(step))
    measure_corpus(loaded, [token_ids] * 2, progress=lambda *step: seen.append(step))
    measure_corpus(loaded, iter([token_ids]), progress=lambda *step: seen.append(step))
    assert seen == [(1, 3), (2, 3), (3, 3), (1, 2), (2, 2), (1, None)]


def damage(loaded, name, rows, value):
    loaded.checked = loaded.checked or {}  # the damage comes after the self-check
    with torch.no_grad():
        loaded.model.get_submodule(name).weight[rows] = value


@pytest.mark.parametrize(
    ("measure", "part", "what", "value"),
    [
        (measure_passage, 0, "score", float("nan")),
        (measure_passage, 2, "context", float("inf")),
        (lambda model, ids: measure_corpus(model, [ids]), 1, "score", float("inf")),
    ],
)
def test_not_a_number_names_layer_and_head(loaded, token_ids, measure, part, what, value):
    row = 2 * 3 * 8 + part * 8  # head 2: 8 rows each for query, key and value
    damage(loaded, "transformer.h.1.self_attention.query_key_value", row, value)
    with pytest.raises(ReportError, match=rf"layer 1, head 2: .*{what} is NaN or infinite"):
        measure(loaded, token_ids)


def test_not_a_number_in_an_update_names_layer_and_head(loaded, token_ids):
    damage(loaded, "transformer.h.2.self_attention.dense", (0, 3 * 8), float("nan"))
    with pytest.raises(ReportError, match=r"layer 2, head 3.*update magnitude is NaN"):
        measure_passage(loaded, token_ids)


def test_not_a_number_between_layers_names_the_layer_it_enters(loaded, token_ids):
    damage(loaded, "transformer.h.0.mlp.dense_4h_to_h", 5, float("nan"))
    with pytest.raises(ReportError, match="layer 1, every head: the hidden state that enters"):
        measure_passage(loaded, token_ids)
    several = r"layer 1, head 0 \(and 3 more heads\): the attention score is NaN"
    with pytest.raises(ReportError, match=several):
        measure_corpus(loaded, [token_ids])


@pytest.mark.parametrize(
    ("token_ids", "message"),
    [
        ([5], "got 1 tokens; measuring takes at least 2"),
        ([1] * 513, "got 513 tokens, the model takes at most 512"),
        ([1, 320], "token ids go from 1 to 320, the model knows 0 to 319"),
        ([-1, 3], "token ids go from -1 to 3"),
    ],
)
def test_token_ids_that_cannot_be_measured_are_refused(loaded, token_ids, message):
    loaded.identity["context"] = 512
    with pytest.raises(ReportError, match=message):
        measure_passage(loaded, token_ids)
    with pytest.raises(ReportError, match=message):
        measure_corpus(loaded, [token_ids])


def test_an_empty_corpus_is_refused(loaded):
    with pytest.raises(ReportError, match="the corpus has no text"):
        measure_corpus(loaded, [])


def test_a_corpus_keeps_nothing_of_its_texts(loaded):
    """40 texts leave no more behind than 4."""

    def tensors():
        gc.collect()
        return sum(issubclass(type(item), torch.Tensor) for item in gc.get_objects())

    texts = [[0, 5, 9, 30 + place, 7] for place in range(40)]
    measure_corpus(loaded, texts[:4])
    before = tensors()
    measured = measure_corpus(loaded, iter(texts))
    assert measured.texts == 40
    assert tensors() <= before
