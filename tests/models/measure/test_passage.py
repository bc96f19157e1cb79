"""Measured numbers against an independent reference, and what measuring must not do."""

import copy
import gc
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from report.errors import ReportError
from report.families.verify import in_float64
from report.measurements.head_statistics import TOTAL, UNIT
from report.measurements.precision import summed_by, tolerance
from report.models.load.load import load_model
from report.models.measure.passage import measure_batch, measure_corpus, measure_passage
from tests.close import order_is_right, require_close
from tests.models.falcon_reference import reference
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

LAYERS, HEADS = 3, 4
EVERY_HEAD = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]

in_both = pytest.mark.parametrize("precision", ["float64", "float32"], indirect=True)
"""Float64 proves that two computations are one; float32, in which models are measured, rounds."""


def difference_sum(statistics):
    """Largest minus second largest probability, summed over all rows, [layer, head]."""
    return statistics.sums["concentration"][TOTAL].astype(float) * UNIT


@pytest.fixture
def precision(request):
    """In which everything is computed: the name of a dtype, float32 if a test does not say."""
    return getattr(request, "param", "float32")


@pytest.fixture
def loaded(falcon_folder, precision):
    """The tiny Falcon in that precision, loaded afresh for each test, which may damage it."""
    with loaded_in(precision, falcon_folder) as loaded:
        yield loaded


@contextmanager
def loaded_in(precision, folder):
    """A model whose weights, and all that is computed from now on, are of that precision."""
    loaded = load_model(folder)
    if precision == "float32":
        yield loaded
        return
    loaded.model.double()
    with in_float64():
        yield loaded


@pytest.fixture
def measured(loaded, token_ids):
    return measure_passage(loaded, token_ids)


@pytest.fixture
def expected(loaded, token_ids):
    return reference(loaded.model, token_ids)


@pytest.fixture
def summed(loaded, token_ids):
    """How many terms a number is summed of that went through the whole model."""
    return summed_by([loaded.model], len(token_ids))


def largest_score(expected):
    """Of what the reference found: an error of a probability is that of a score, times it."""
    return max(abs(head.score).max() for row in expected.layers for head in row)


@in_both
def test_the_reference_is_the_plain_forward_of_transformers(loaded, token_ids, expected, summed):
    with torch.no_grad():
        logits = loaded.model(torch.tensor([token_ids]), use_cache=False).logits[0]
    assert loaded.model.config._attn_implementation == "sdpa"
    require_close(logits, expected.logits, summed)


def test_attention_of_the_tiny_model_is_worth_measuring(expected):
    largest = np.array([[h.probability[1:].max(1).mean() for h in row] for row in expected.layers])
    assert 0.3 < largest.mean() < 0.95
    assert min(abs(h.bias).max() for row in expected.layers for h in row) > 0.1


@in_both
def test_probabilities_equal_the_reference(measured, expected, summed):
    size = largest_score(expected)
    for layer, head in EVERY_HEAD:
        found = measured.probability(layer, head)
        require_close(found, expected.layers[layer][head].probability, summed, size)


@in_both
def test_terms_equal_the_reference(measured, expected, summed):
    for layer, head in EVERY_HEAD:
        content, bias, position = measured.terms(layer, head)
        truth = expected.layers[layer][head]
        assert (content.name, content.per) == ("content", "cell")
        assert (bias.name, bias.per) == ("bias", "target")
        assert (position.name, position.per) == ("position", "target_difference")
        require_close(content.values, truth.content, summed)
        require_close(bias.values, truth.bias, summed)
        difference = np.tril(position.values[None, :] - position.values[:, None])
        require_close(difference, truth.position, 2)  # two values of ALiBi, each of them scaled


def test_softmax_of_the_terms_is_the_probability(measured):
    for layer, head in EVERY_HEAD:
        content, bias, position = (term.values for term in measured.terms(layer, head))
        score = content + bias[None, :] + position[None, :] - position[:, None]
        exponential = np.tril(np.exp(score - score.max()))
        probability = exponential / exponential.sum(1, keepdims=True)
        found = measured.probability(layer, head)
        size = max(1.0, abs(score).max())
        require_close(found, probability, len(score), size, torch.float64)


@in_both
def test_updates_equal_the_reference(measured, expected, summed):
    for layer, head in EVERY_HEAD:
        truth = expected.layers[layer][head]
        require_close(measured.magnitude[layer, head], truth.magnitude, summed)
        require_close(measured.alignment[layer, head], truth.alignment, summed)


@in_both
def test_largest_targets_and_markers_equal_the_reference(precision, measured, expected, summed):
    """In float64 they are the same ones; in float32 two of them may change places that are equal
    up to rounding."""
    size = largest_score(expected)
    dtype = getattr(torch, precision)
    for layer, head in EVERY_HEAD:
        probability = expected.layers[layer][head].probability
        for i, row in enumerate(probability):
            count = min(i + 1, 11)
            found = measured.largest_targets[layer, head, i]
            assert (found[count:] == -1).all()
            assert order_is_right(found[:count], row[: i + 1], summed, size)
            if precision == "float64":
                assert found[:count].tolist() == np.argsort(-row[: i + 1])[:count].tolist()
            reached = np.cumsum(row[found[:count]])
            marked = measured.marker_count[layer, head, i]
            most = tolerance(summed, size, dtype)
            assert reached[marked - 1] >= 0.5 - most or marked == 11
            assert marked == 1 or reached[marked - 2] < 0.5 + most


@in_both
def test_statistics_equal_the_reference(measured, expected, summed):
    statistics = measured.statistics
    assert (statistics.texts, statistics.rows) == (1, 39)
    for layer, head in EVERY_HEAD:
        rows = expected.layers[layer][head].probability[1:]
        ordered = np.sort(rows, axis=1)
        targets = measured.largest_targets[layer, head, 1:, 0]  # as proved above
        assert statistics.mean("itself")[layer, head] == np.mean(targets == np.arange(1, 40))
        assert statistics.mean("first_token")[layer, head] == np.mean(targets == 0)
        assert statistics.mean("previous_token")[layer, head] == np.mean(targets == np.arange(39))
        difference = (ordered[:, -1] - ordered[:, -2]).sum()
        most = tolerance(summed, 39 * largest_score(expected), torch.get_default_dtype())
        assert abs(difference_sum(statistics)[layer, head] - difference) <= most + UNIT / 2


@in_both
def test_alibi_keeps_the_rounding_of_the_model_past_256_tokens(loaded, summed):
    token_ids = np.random.default_rng(1).integers(0, 320, 300).tolist()
    measured = measure_passage(loaded, token_ids)
    expected = reference(loaded.model, token_ids, first_layers=1)
    assert len(set(np.diff(expected.layers[0][0].position[-1]).round(6))) > 1  # steps are there
    for head in range(HEADS):
        truth = expected.layers[0][head]
        size = abs(truth.score).max()
        require_close(measured.probability(0, head), truth.probability, summed, size)
        position = measured.terms(0, head)[2].values
        require_close(position - position[-1], truth.position[-1], 2)


@in_both
def test_a_model_without_biases_has_no_bias_term(precision, token_ids, tmp_path):
    random_falcon(bias=False).save_pretrained(tmp_path)
    byte_level_tokenizer().save_pretrained(tmp_path)
    with loaded_in(precision, tmp_path) as loaded:
        measured = measure_passage(loaded, token_ids)
    expected = reference(loaded.model, token_ids)
    summed = summed_by([loaded.model], len(token_ids))
    for layer, head in EVERY_HEAD:
        assert [term.name for term in measured.terms(layer, head)] == ["content", "position"]
        truth = expected.layers[layer][head].probability
        found, size = measured.probability(layer, head), largest_score(expected)
        require_close(found, truth, summed, size, getattr(torch, precision))


@in_both
@pytest.mark.parametrize("rows", [1, 7, 64])
def test_the_size_of_a_block_changes_no_result(
    precision, loaded, token_ids, measured, expected, summed, rows
):
    """But for the last digits, and in float32 the order of targets that are equal up to these."""
    other = measure_passage(loaded, token_ids, rows=rows)
    size = largest_score(expected)
    if precision == "float64":
        assert (other.largest_targets == measured.largest_targets).all()
        assert (other.marker_count == measured.marker_count).all()
        assert (other.statistics.mean("itself") == measured.statistics.mean("itself")).all()
    for layer, head in EVERY_HEAD:
        for i, row in enumerate(measured.probability(layer, head)):
            order = other.largest_targets[layer, head, i, : i + 1]
            assert order_is_right(order, row[: i + 1], summed, size)
    require_close(other.magnitude, measured.magnitude, summed)
    require_close(other.alignment, measured.alignment, summed)
    one, two = other.statistics, measured.statistics
    require_close(difference_sum(one), difference_sum(two), summed, 39 * size)


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


@in_both
def test_later_tokens_do_not_change_earlier_rows(
    precision, loaded, token_ids, measured, expected, summed
):
    changed = measure_passage(loaded, token_ids[:20] + token_ids[:19:-1])
    if precision == "float64":
        assert (changed.largest_targets[:, :, :20] == measured.largest_targets[:, :, :20]).all()
    assert (changed.largest_targets[:, :, 20:] != measured.largest_targets[:, :, 20:]).any()
    require_close(changed.magnitude[:, :, :20], measured.magnitude[:, :, :20], summed)
    for layer, head in EVERY_HEAD:
        found, before = changed.probability(layer, head), measured.probability(layer, head)
        require_close(found[:20], before[:20], summed, largest_score(expected))
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
    loaded.identity["context"] = 512
    with pytest.raises(ReportError, match=message):
        measure_passage(loaded, token_ids)
    with pytest.raises(ReportError, match=message):
        measure_corpus(loaded, [token_ids])


def test_an_empty_corpus_is_refused(loaded):
    with pytest.raises(ReportError, match="the corpus has no text"):
        measure_corpus(loaded, [])


@in_both
def test_changed_weights_are_measured_as_they_are(loaded, token_ids, measured, summed):
    """The factorisation of a projection is kept from text to text, but not longer than it holds."""
    with torch.no_grad():
        loaded.model.transformer.h[2].self_attention.dense.weight.mul_(3)
    again = measure_passage(loaded, token_ids)
    require_close(again.magnitude[2], 3 * measured.magnitude[2], summed)
    require_close(again.magnitude[:2], measured.magnitude[:2], summed)


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
