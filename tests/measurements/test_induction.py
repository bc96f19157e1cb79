"""Scores of heads on attention written by hand."""

import numpy as np
import pytest

from report.errors import ReportError
from report.measurements.induction import (
    induction_probability,
    previous_token_probability,
    repeated_sequence,
    unrepeated_sequence,
)


def test_the_repeated_sequence_is_a_span_of_different_tokens_twice():
    ids = repeated_sequence(np.arange(1, 90), 64, 0, seed=3)
    assert ids[0] == 0
    assert (ids[1:65] == ids[65:]).all()
    assert len(set(ids[1:65])) == 64
    assert (ids == repeated_sequence(np.arange(1, 90), 64, 0, seed=3)).all()
    assert (ids != repeated_sequence(np.arange(1, 90), 64, 0, seed=4)).any()


def test_the_other_sequence_has_the_same_second_half_after_other_tokens():
    repeated = repeated_sequence(np.arange(1, 200), 64, 0, seed=3)
    other = unrepeated_sequence(np.arange(1, 200), 64, 0, seed=3)
    assert len(other) == len(repeated)
    assert other[0] == 0
    assert (other[65:] == repeated[65:]).all()
    assert len(set(other)) == 129


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (repeated_sequence, "64 different tokens wanted of a vocabulary of 10"),
        (unrepeated_sequence, "64 different tokens wanted of a vocabulary of 10"),
    ],
)
def test_a_vocabulary_smaller_than_the_span_is_refused(make, message):
    with pytest.raises(ReportError, match=message):
        make(np.arange(10), 64, 0, seed=0)


def test_a_vocabulary_smaller_than_twice_the_span_is_refused():
    with pytest.raises(ReportError, match="128 different tokens wanted of a vocabulary of 127"):
        unrepeated_sequence(np.arange(127), 64, 0, seed=0)


def test_induction_is_the_probability_on_the_token_after_the_earlier_occurrence():
    # begin a b a b: the second a (3) is to look at the first b (2), the second b (4) at a (3).
    probability = np.zeros((1, 1, 5, 5))
    probability[0, 0, 3, 2] = 0.75
    probability[0, 0, 4, 3] = 0.25
    probability[0, 0, 3, 1] = probability[0, 0, 1, 0] = 0.2
    assert induction_probability(probability, 2).tolist() == [[0.5]]


def test_a_head_that_looks_at_the_earlier_occurrence_itself_is_no_induction_head():
    """It finds the same token, not what came after it."""
    probability = np.zeros((1, 1, 7, 7))
    for current in range(4, 7):
        probability[0, 0, current, current - 3] = 1
    assert induction_probability(probability, 3).tolist() == [[0]]


def test_previous_tokens_are_counted_from_the_third_token_on():
    probability = np.zeros((1, 2, 4, 4))
    probability[0, 0, 1, 0] = 1  # the second token's only earlier one is the first
    probability[0, 1, 2, 1] = 0.5
    probability[0, 1, 3, 2] = 0.25
    assert previous_token_probability(probability).tolist() == [[0, 0.375]]


def test_inputs_are_unchanged():
    probability = np.random.default_rng(0).random((2, 3, 9, 9))
    before = probability.copy()
    induction_probability(probability, 4)
    previous_token_probability(probability)
    assert (probability == before).all()
