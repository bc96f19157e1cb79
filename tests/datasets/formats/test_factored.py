"""Queries and keys in a file give back the attention of models that rotate in every way."""

import numpy as np
import pytest

from report import families
from report.datasets import store
from report.datasets.formats import attention, fitting, keys, rounding
from report.datasets.write.groups import group_of
from report.errors import ReportError
from report.models.measure.passage import measure_passage

FAMILIES = ["llama", "qwen2", "gemma2", "gpt_oss", "mistral", "gpt_neox", "glm4", "modernbert"]
"""Plain; with biases; a softcap; sinks and biases; a window; a part rotated; neighbours rotated; no
token hidden."""

LENGTH = 60


@pytest.fixture(scope="module", params=FAMILIES)
def measured(request):
    loaded = families.loaded(request.param, seed=3)
    rng = np.random.default_rng(0)
    return measure_passage(loaded, rng.integers(1, 40, LENGTH).tolist())


def group_size(measurement, layer):
    factors = measurement.factors[layer]
    return len(factors.query) // len(factors.key)


def datasets(measurement, layer, key_head=0):
    """The datasets of the heads of a group as a reader has them, with their keys."""
    size = group_size(measurement, layer)
    heads = range(key_head * size, (key_head + 1) * size)
    of_keys, shards = fitting.encode(group_of(measurement, layer, key_head, heads))
    store.check(of_keys, "test")
    return [store.check(shard, "test") | {"keys": of_keys} for shard in shards]


def test_every_head_comes_back_within_the_bounds(measured):
    for layer in range(len(measured.factors)):
        for shard in datasets(measured, layer):
            head = shard["head"]
            back = attention.decode(shard)
            assert back.score.shape == (LENGTH, LENGTH)
            probability = measured.probability(layer, head)
            assert np.abs(back.probability - probability).max() <= rounding.PROBABILITY_ERROR
            assert (back.largest_targets == measured.largest_targets[layer, head]).all()
            assert (back.marker_count == measured.marker_count[layer, head]).all()
            within_bounds(back, measured.terms(layer, head))


def within_bounds(back, terms):
    rows, ranks = np.nonzero(back.largest_targets >= 0)
    top = rows, back.largest_targets[rows, ranks]
    assert back.terms.keys() == {term.name for term in terms}
    for term in terms:
        found = back.terms[term.name]
        assert found.per == term.per
        if term.per != "cell":
            assert np.abs(found.values - term.values).max() <= rounding.STEPS[term.name] / 2 + 1e-5
            continue
        error = np.abs(found.values - term.values)
        assert error.max() <= 2 * rounding.CELL_ERROR
        assert error[top].max() <= (1 + (term.name == "position")) * rounding.TOP_ERROR + 1e-5
