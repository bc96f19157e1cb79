"""Queries and keys in a file give back the attention of models that rotate in every way."""

import numpy as np
import pytest

from report.datasets.formats import attention, rounding
from tests import factored


@pytest.fixture(scope="module", params=factored.FAMILIES)
def measured(request):
    return factored.measured(request.param)


def test_every_head_comes_back_within_the_bounds(measured):
    for layer in range(len(measured.factors)):
        for shard in factored.datasets(measured, layer):
            head = shard["head"]
            back = attention.decode(shard)
            assert back.score.shape == (factored.LENGTH, factored.LENGTH)
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
