"""Paired differences, their intervals and correlations, against plain loops; damaged files."""

from types import SimpleNamespace

import numpy as np
import pytest

from report.errors import ReportError
from report.kinds.conditions.answers import (
    INTERVAL,
    RESAMPLES,
    ModelAnswers,
    interval,
    rank_correlation,
    rank_correlations,
)
from report.kinds.conditions.findings import Findings
from tests import made_answers


@pytest.fixture
def model(tmp_path):
    return made_answers.model(tmp_path / "a")


def test_a_difference_is_the_mean_of_each_question_s_own(model):
    one = model.difference("log_probability", "filler", 55, "sums")
    base, there = (
        [
            value
            for value, kind in zip(model.values("log_probability", *cell), model.kinds, strict=True)
            if kind == "sums"
        ]
        for cell in (("none", 0), ("filler", 55))
    )
    pairs = [b - a for a, b in zip(base, there, strict=True)]
    assert one.value == pytest.approx(sum(pairs) / len(pairs))
    assert len(pairs) == len(model.texts) / 4
    assert one.low < one.value < one.high


def test_an_interval_is_where_most_means_of_resampled_questions_lie():
    values = np.random.default_rng(5).exponential(size=25)
    rng = np.random.default_rng(0)
    means = sorted(
        sum(float(values[i]) for i in rows) / 25 for rows in rng.integers(25, size=(RESAMPLES, 25))
    )
    found = interval(values)
    below = sum(mean < found.low for mean in means), sum(mean > found.high for mean in means)
    assert below == pytest.approx([RESAMPLES * (1 - INTERVAL) / 2] * 2, abs=1)
    assert found == interval(values.copy())


def test_an_interval_holds_the_true_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(200):
        found = interval(rng.normal(0.3, 1, 60))
        inside += found.low <= 0.3 <= found.high
    assert 0.88 <= inside / 200 <= 0.99


def test_without_differences_there_is_no_interval_to_speak_of():
    found = interval(np.zeros(30))
    assert (found.value, found.low, found.high, found.clear) == (0, 0, 0, False)


def test_rank_correlation_shares_ranks_among_ties():
    one, other = np.array([1, 2, 2, 4.0]), np.array([1, 3, 2, 9.0])
    ranks = [1, 2.5, 2.5, 4], [1, 3, 2, 4]
    assert rank_correlation(one, other) == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert rank_correlation(one, -one) == pytest.approx(-1)
    assert rank_correlation(one, np.ones(4)) == 0


def test_rank_correlations_of_many_picks_are_those_of_each():
    rng = np.random.default_rng(5)
    one, other = rng.integers(6, size=40) / 4, rng.normal(size=40)
    other[:10] = other[10]
    picks = rng.integers(40, size=(300, 40))
    each = [rank_correlation(one[pick], other[pick]) for pick in picks]
    ranks = [[(v[:, None] > v).sum(1) + (v[:, None] == v).sum(1) / 2 for v in (one[p], other[p])]
             for p in picks]  # fmt: skip
    assert rank_correlations(one, other, picks) == pytest.approx(each, abs=1e-12)
    assert each == pytest.approx([np.corrcoef(*pair)[0, 1] for pair in ranks], abs=1e-12)


def test_what_the_filler_takes_is_read_with_what_it_changes(model):
    assert (model.attended.name, model.attended.tokens) == ("filler", 55)
    found = model.correlation()
    assert found.low > 0.5, "made so that both rise together"
    assert found.low < found.value <= found.high
    for kind in Findings(SimpleNamespace(answers=[model])).by_kind(model):
        of_kind = model.kinds == kind.name
        share, more = (
            model.values("share", "filler", 55),
            model.differences("log_probability", "filler", 55),
        )
        assert kind.share == pytest.approx(share[of_kind].mean())
        assert kind.gain == pytest.approx(more[of_kind].mean())
        ranks = [v[of_kind].argsort().argsort() for v in (share, more)]
        assert kind.correlation.value == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=0.05)


def test_labels_are_those_of_the_article(tmp_path):
    folder = made_answers.write(tmp_path / "a")
    assert list(ModelAnswers(folder).conditions) == ["filler", "newline"]
    renamed = ModelAnswers(folder, {"filler": "Slashes"})
    assert list(renamed.conditions.values()) == ["Slashes", "Repeated newline"]


def test_what_was_not_measured_is_said(model):
    with pytest.raises(ReportError, match=r"'right\.filler\.30' was not measured of tiny"):
        model.values("right", "filler", 30)
