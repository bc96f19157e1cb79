"""Sums over texts, by hand, and that they add up."""

import numpy as np
import pytest
import torch

from report.errors import ReportError
from report.measurements.head_statistics import UNIT, HeadStatistics
from report.measurements.rows import Sums, Text
from report.measures import shipped

TAKEN = [shipped()[name] for name in ("entropy", "itself")]


def text(tokens, rows, totals, layers=1):
    """Statistics of one text; rows, totals: of every head, the same for both measures and layers.

    The control has half of the total of the first head.
    """
    sums = Sums(TAKEN, layers, len(rows), Text([0] * tokens, lambda ids: [""] * len(ids)))
    sums.count[:] = torch.tensor(rows)
    sums.total[:] = torch.tensor(totals, dtype=torch.float64)
    sums.even_count[:] = rows[0]
    sums.even_total[:] = totals[0] / 2
    return HeadStatistics.of_text(sums, tokens)


def random_text(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 30, 4)
    return text(31, rows.tolist(), (rows * rng.random(4)).tolist())


def test_means_and_errors_by_hand():
    merged = text(5, [4, 4], [1.0, 2.0]).merge(text(9, [8, 0], [4.0, 0.0]))
    assert (merged.texts, merged.rows) == (2, 12)
    assert merged.mean("entropy").tolist() == [[5 / 12, 0.5]]
    # head 0: 1 - 4 * 5/12 = -2/3 and 4 - 8 * 5/12 = 2/3; (4/9 + 4/9) * 2/1 / 144
    assert merged.error("entropy")[0, 0] == pytest.approx((8 / 9 * 2 / 144) ** 0.5)
    assert merged.spread("entropy")[0, 0] == pytest.approx(2**0.5 * merged.error("entropy")[0, 0])
    assert np.isnan(merged.error("entropy")[0, 1])  # one text alone has rows of head 1
    assert merged.even("entropy").tolist() == [[5 / 24, 5 / 24]]


def test_texts_of_one_length_have_the_standard_error_of_their_means():
    means = [0.1, 0.5, 0.4, 0.9]
    parts = [text(11, [10], [10 * value]) for value in means]
    merged = parts[0].merge(parts[1]).merge(parts[2]).merge(parts[3])
    assert merged.error("itself")[0, 0] == pytest.approx(np.std(means, ddof=1) / 2)
    assert merged.spread("itself")[0, 0] == pytest.approx(np.std(means, ddof=1))


def test_texts_that_agree_have_no_error_however_far_sums_go():
    one = text(10**6, [10**6 - 1], [0.3 * (10**6 - 1)])
    merged = one
    for _ in range(7):  # 128 texts
        merged = merged.merge(merged)
    assert merged.texts == 128
    assert merged.error("itself")[0, 0] == 0
    assert merged.mean("itself")[0, 0] == pytest.approx(0.3, abs=UNIT)


@pytest.mark.parametrize("splits", [(1,), (3, 7), (2, 4, 6, 8)])
def test_however_texts_are_split_the_sums_are_those_of_the_whole(splits):
    texts = [random_text(seed) for seed in range(10)]
    whole = HeadStatistics.empty(1, 4, ["entropy", "itself"])
    parts = [HeadStatistics.empty(1, 4, ["entropy", "itself"]) for _ in range(len(splits) + 1)]
    for place, each in enumerate(texts):
        whole = whole.merge(each)
        part = sum(place >= split for split in splits)
        parts[part] = parts[part].merge(each)
    merged = parts.pop()
    for part in parts:
        merged = merged.merge(part)
    assert (merged.rows, merged.texts) == (whole.rows, whole.texts) == (300, 10)
    for name, values in whole.sums.items():
        assert (merged.sums[name] == values).all()


def test_the_first_heads_are_those_of_the_whole():
    whole = random_text(3)
    part = whole.first_heads(2)
    assert part.mean("entropy").tolist() == whole.mean("entropy")[:, :2].tolist()
    assert part.even("entropy").shape == (1, 2)


def test_different_models_and_measures_cannot_be_merged():
    with pytest.raises(ReportError, match=r"\(1, 4\) and \(2, 4\) \(layers, heads\) cannot be m"):
        HeadStatistics.empty(1, 4).merge(HeadStatistics.empty(2, 4))
    with pytest.raises(ReportError, match="the same measures only"):
        HeadStatistics.empty(1, 4, ["a"]).merge(HeadStatistics.empty(1, 4, ["b"]))


def test_nothing_counted_has_no_mean():
    with pytest.raises(ReportError, match="head statistics are empty; measure at least one text"):
        HeadStatistics.empty(2, 2, ["entropy"]).mean("entropy")
