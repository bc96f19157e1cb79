"""The trigram yardstick against sums done by hand, and against plain counting."""

from collections import Counter

import numpy as np
import pytest

from report.errors import ReportError
from training.trigram import trigram_loss


def test_a_loss_worked_out_by_hand():
    # Counted with two begin tokens 0 in front: 001 012 121 212 121, so 12 is followed by 1 twice.
    # P(1|00) = (1+1)/(1+3), P(2|01) = (1+1)/(1+3), P(0|12) = (0+1)/(2+3)
    loss = trigram_loss([[1, 2, 1, 2, 1]], [1, 2, 0], vocab_size=3, begin_id=0)
    assert loss == pytest.approx(-(np.log(1 / 2) + np.log(1 / 2) + np.log(1 / 5)) / 3)


def test_no_trigram_crosses_the_border_of_two_books():
    # The context 0 0 is followed by 1 twice; joined into one book it would be followed once.
    assert trigram_loss([[1], [1]], [1], vocab_size=4, begin_id=0) == pytest.approx(-np.log(3 / 6))


def test_like_counting_one_by_one():
    rng = np.random.default_rng(0)
    books = [rng.integers(1, 7, n) for n in (300, 200)]
    validation = rng.integers(1, 7, 100)

    def grams(tokens):
        padded = [0, 0, *map(int, tokens)]
        return list(zip(padded, padded[1:], padded[2:], strict=False))

    triples = Counter(gram for book in books for gram in grams(book))
    pairs = Counter(gram[:2] for book in books for gram in grams(book))
    expected = np.mean(
        [-np.log((triples[gram] + 1) / (pairs[gram[:2]] + 7)) for gram in grams(validation)]
    )
    assert trigram_loss(books, validation, 7, 0) == pytest.approx(expected)


@pytest.mark.parametrize(("training", "validation"), [([[]], [1]), ([], [1]), ([[1]], [])])
def test_nothing_to_count_or_to_predict_is_refused(training, validation):
    with pytest.raises(ReportError, match="at least one token"):
        trigram_loss(training, validation, vocab_size=4, begin_id=0)
