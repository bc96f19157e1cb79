"""Sequences of random tokens; scores on them are in tests/models/measure/test_repetition.py."""

import numpy as np
import pytest

from report.errors import ReportError
from report.measurements.induction import (
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
    ("make", "words", "wanted"),
    [(repeated_sequence, 10, 64), (unrepeated_sequence, 10, 64), (unrepeated_sequence, 127, 128)],
)
def test_a_vocabulary_too_small_for_the_span_is_refused(make, words, wanted):
    with pytest.raises(ReportError, match=f"{wanted} different tokens wanted of a vocabulary of"):
        make(np.arange(words), 64, 0, seed=0)
