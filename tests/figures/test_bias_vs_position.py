import numpy as np
import pytest

from report.figures import bias_vs_position


def test_both_terms_lose_their_mean_and_nothing_else(data):
    attention = data.attention(1, 2)
    rows = bias_vs_position.rows(data, layer=1, head=2)["targets"]
    assert [row["token"] for row in rows] == list(range(data.length))
    for term in ("bias", "position"):
        shown = np.array([row[term] for row in rows])
        assert shown.mean() == pytest.approx(0, abs=1e-12)
        assert np.diff(shown) == pytest.approx(np.diff(attention.terms[term].values))


def test_is_named_after_the_position_term(data):
    assert bias_vs_position.title(data) == "Bias vs ALiBi"


def test_alt_text_states_the_slope_of_alibi(data):
    # the hand-made slope of head 2 is 0.3 / 3 a token
    assert "the ALiBi term changes by +10.00" in bias_vs_position.alt(data, layer=1, head=2)
