"""What an article about a prediction says of means over sentences, by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from report.kinds.prediction.findings import PredictionFindings


def findings(*logits):
    """Of sentences whose answer has these logits, which every head adds to it as well."""
    sentences = [
        SimpleNamespace(asks=True, logit=np.array([9.0, n]), heads=np.full((2, 1, 2), n))
        for n in logits
    ]
    return PredictionFindings(SimpleNamespace(sentences=sentences, generated=None))


def test_errors_are_of_means_over_sentences_that_were_drawn():
    """The squares 4, 1 and 9 make a variance of 14 / 2, and a third of that of the mean."""
    find = findings(1.0, 2.0, 6.0)
    assert (find.whole.value, find.whole.error) == pytest.approx((3, (7 / 3) ** 0.5))
    assert find.mean("direct").tolist() == [[3, 3]]
    assert find.error("direct") == pytest.approx(np.full((1, 2), (7 / 3) ** 0.5))


def test_two_sentences_tell_no_error():
    find = findings(1.0, 2.0)
    assert np.isnan(find.whole.error)
    assert find.error("direct") is None
