"""Measured numbers against an independent reference, and what measuring must not do."""

import copy
import gc

import numpy as np
import pytest
import torch

from report.errors import ReportError
from report.models.load.load import load_model
from report.models.measure.passage import measure_batch, measure_corpus, measure_passage
from tests.conftest import byte_level_tokenizer, random_falcon
from tests.models.falcon_reference import reference

LAYERS, HEADS = 3, 4
EVERY_HEAD = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]


@pytest.fixture
def measured(loaded, token_ids):
    return measure_passage(loaded, token_ids)


@pytest.fixture
def expected(loaded, token_ids):
    return reference(loaded.model, token_ids)


def test_the_reference_is_the_plain_forward_of_transformers(loaded, token_ids, expected):
    with torch.no_grad():
        logits = loaded.model(torch.tensor([token_ids]), use_cache=False).logits[0]
    assert loaded.model.config._attn_implementation == "sdpa"
    np.testing.assert_allclose(logits, expected.logits, atol=1e-5)


def test_attention_of_the_tiny_model_is_worth_measuring(expected):
    largest = np.array([[h.probability[1:].max(1).mean() for h in row] for row in expected.layers])
    assert 0.3 < largest.mean() < 0.95
    assert min(abs(h.bias).max() for row in expected.layers for h in row) > 0.1


def test_probabilities_equal_the_reference(measured, expected):
    for layer, head in EVERY_HEAD:
        found = measured.probability(layer, head)
        np.testing.assert_allclose(found, expected.layers[layer][head].probability, atol=1e-5)


def test_terms_equal_the_reference(measured, expected):
    for layer, head in EVERY_HEAD:
        content, bias, position = measured.terms(layer, head)
        truth = expected.layers[layer][head]
        assert (content.name, content.per) == ("content", "cell")
        assert (bias.name, bias.per) == ("bias", "target")
        assert (position.name, position.per) == ("position", "target_difference")
        np.testing.assert_allclose(content.values, truth.content, atol=1e-5)
        np.testing.assert_allclose(bias.values, truth.bias, atol=1e-5)
        difference = np.tril(position.values[None, :] - position.values[:, None])
        np.testing.assert_allclose(difference, truth.position, atol=1e-6)


def test_softmax_of_the_terms_is_the_probability(measured):
    for layer, head in EVERY_HEAD:
        content, bias, position = (term.values for term in measured.terms(layer, head))
        score = content + bias[None, :] + position[None, :] - position[:, None]
        exponential = np.tril(np.exp(score - score.max()))
        probability = exponential / exponential.sum(1, keepdims=True)
        np.testing.assert_allclose(probability, measured.probability(layer, head), atol=1e-12)


def test_updates_equal_the_reference(measured, expected):
    for layer, head in EVERY_HEAD:
        truth = expected.layers[layer][head]
        found = measured.magnitude[layer, head], measured.alignment[layer, head]
        np.testing.assert_allclose(found[0], truth.magnitude, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found[1], truth.alignment, atol=1e-5)


def test_largest_targets_and_markers_equal_the_reference(measured, expected):
    for layer, head in EVERY_HEAD:
        probability = expected.layers[layer][head].probability
        for i, row in enumerate(probability):
            order = np.argsort(-row[: i + 1])[:11].tolist()
            padded = order + [-1] * (11 - len(order))
            assert measured.largest_targets[layer, head, i].tolist() == padded
            reached = np.cumsum(row[order])
            enough = int(np.argmax(reached >= 0.5)) + 1 if reached[-1] >= 0.5 else 11
            assert measured.marker_count[layer, head, i] == enough


def test_statistics_equal_the_reference(measured, expected):
    statistics = measured.statistics
    assert (statistics.texts, statistics.rows) == (1, 39)
    for layer, head in EVERY_HEAD:
        rows = expected.layers[layer][head].probability[1:]
        ordered = np.sort(rows, axis=1)
        targets = rows.argmax(1)
        found = (
            statistics.itself[layer, head],
            statistics.first_token[layer, head],
            statistics.concentration[layer, head],
        )
        truth = (
            np.mean(targets == np.arange(1, 40)),
            np.mean(targets == 0),
            np.mean(ordered[:, -1] - ordered[:, -2]),
        )
        np.testing.assert_allclose(found, truth, atol=1e-6)


def test_alibi_keeps_the_rounding_of_the_model_past_256_tokens(loaded):
    token_ids = np.random.default_rng(1).integers(0, 320, 300).tolist()
    measured = measure_passage(loaded, token_ids)
    expected = reference(loaded.model, token_ids)
    assert len(set(np.diff(expected.layers[0][0].position[-1]).round(6))) > 1  # steps are there
    for head in range(HEADS):
        truth = expected.layers[0][head]
        np.testing.assert_allclose(measured.probability(0, head), truth.probability, atol=1e-5)
        position = measured.terms(0, head)[2].values
        np.testing.assert_allclose(position - position[-1], truth.position[-1], atol=1e-5)


def test_a_model_without_biases_has_no_bias_term(token_ids, tmp_path):
    model = random_falcon(bias=False)
    model.save_pretrained(tmp_path)
    byte_level_tokenizer().save_pretrained(tmp_path)
    measured = measure_passage(load_model(tmp_path), token_ids)
    expected = reference(model, token_ids)
    for layer, head in EVERY_HEAD:
        assert [term.name for term in measured.terms(layer, head)] == ["content", "position"]
        np.testing.assert_allclose(
            measured.probability(layer, head), expected.layers[layer][head].probability, atol=1e-5
        )


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_the_size_of_a_block_changes_no_result(loaded, token_ids, measured, rows):
    other = measure_passage(loaded, token_ids, rows=rows)
    assert (other.largest_targets == measured.largest_targets).all()
    assert (other.marker_count == measured.marker_count).all()
    np.testing.assert_allclose(other.magnitude, measured.magnitude, rtol=1e-5)
    np.testing.assert_allclose(other.alignment, measured.alignment, atol=1e-5)
    np.testing.assert_allclose(
        other.statistics.concentration, measured.statistics.concentration, atol=1e-6
    )
    assert (other.statistics.itself == measured.statistics.itself).all()


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
        assert (other.itself_rows == whole.itself_rows).all()
        assert (other.first_token_rows == whole.first_token_rows).all()
        np.testing.assert_allclose(other.difference_sum, whole.difference_sum, atol=1e-10)


def test_later_tokens_do_not_change_earlier_rows(loaded, token_ids, measured):
    changed = measure_passage(loaded, token_ids[:20] + token_ids[:19:-1])
    assert (changed.largest_targets[:, :, :20] == measured.largest_targets[:, :, :20]).all()
    assert (changed.largest_targets[:, :, 20:] != measured.largest_targets[:, :, 20:]).any()
    np.testing.assert_allclose(
        changed.magnitude[:, :, :20], measured.magnitude[:, :, :20], atol=1e-6
    )
    for layer, head in EVERY_HEAD:
        found, before = changed.probability(layer, head), measured.probability(layer, head)
        np.testing.assert_allclose(found[:20], before[:20], atol=1e-6)
        assert not np.triu(found, 1).any()


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
    assert (corpus.difference_sum == alone.difference_sum).all()
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


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize(("part", "what"), [(0, "score"), (1, "score"), (2, "context")])
@pytest.mark.parametrize("measure", [measure_passage, lambda m, ids: measure_corpus(m, [ids])])
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
    with pytest.raises(ReportError, match=message):
        measure_passage(loaded, token_ids)
    with pytest.raises(ReportError, match=message):
        measure_corpus(loaded, [token_ids])


def test_an_empty_corpus_is_refused(loaded):
    with pytest.raises(ReportError, match="the corpus has no text"):
        measure_corpus(loaded, [])


def test_changed_weights_are_measured_as_they_are(loaded, token_ids, measured):
    """The factorisation of a projection is kept from text to text, but not longer than it holds."""
    with torch.no_grad():
        loaded.model.transformer.h[2].self_attention.dense.weight.mul_(3)
    again = measure_passage(loaded, token_ids)
    np.testing.assert_allclose(again.magnitude[2], 3 * measured.magnitude[2], rtol=1e-5)
    np.testing.assert_allclose(again.magnitude[:2], measured.magnitude[:2], rtol=1e-6)


def test_a_corpus_keeps_nothing_of_its_texts(loaded):
    """What 40 texts leave behind is what 4 leave behind."""

    def tensors():
        gc.collect()
        return sum(issubclass(type(item), torch.Tensor) for item in gc.get_objects())

    texts = [[0, 5, 9, 30 + place, 7] for place in range(40)]
    measure_corpus(loaded, texts[:4])
    before = tensors()
    measured = measure_corpus(loaded, iter(texts))
    assert measured.texts == 40
    assert tensors() == before
