"""Head numbers on attention written by hand."""

import numpy as np
import pytest

from report.embedded.heads import (
    induction_probability,
    largest_target_counts,
    repeated_sequence,
    strongest,
)
from report.errors import ReportError


def test_first_and_previous_tokens_are_counted_without_row_0():
    targets = np.array([[[0, 0, 0, 0, 0], [0, 0, 1, 2, 3], [0, 1, 0, 2, 4]]])
    first, previous, rows = largest_target_counts(targets)
    assert first.tolist() == [[4, 1, 1]]
    assert previous.tolist() == [[1, 4, 1]]
    assert rows == 4


def test_one_token_has_no_previous_one():
    with pytest.raises(ReportError, match="at least 2"):
        largest_target_counts(np.zeros((1, 1, 1), int))


def test_the_repeated_sequence_is_a_span_of_different_tokens_twice():
    ids = repeated_sequence(np.arange(1, 90), 64, 0, seed=3)
    assert ids[0] == 0
    assert (ids[1:65] == ids[65:]).all()
    assert len(set(ids[1:65])) == 64
    assert (ids == repeated_sequence(np.arange(1, 90), 64, 0, seed=3)).all()
    assert (ids != repeated_sequence(np.arange(1, 90), 64, 0, seed=4)).any()


def test_a_vocabulary_smaller_than_the_span_is_refused():
    with pytest.raises(ReportError, match="64 different tokens wanted of a vocabulary of 10"):
        repeated_sequence(np.arange(10), 64, 0, seed=0)


def test_induction_is_the_probability_on_the_token_after_the_earlier_occurrence():
    # begin a b a b: the second a (3) is to look at the first b (2), the second b (4) at a (3).
    probability = np.zeros((1, 1, 5, 5))
    probability[0, 0, 3, 2] = 0.75
    probability[0, 0, 4, 3] = 0.25
    probability[0, 0, 3, 1] = probability[0, 0, 1, 0] = 0.2
    assert induction_probability(probability, 2).tolist() == [[0.5]]


def test_the_strongest_head_is_named_by_layer_and_head():
    assert strongest(np.array([[0.1, 0.2], [0.1, 0.7], [0.3, 0.6]])) == {
        "value": 0.7,
        "layer": 1,
        "head": 1,
    }
