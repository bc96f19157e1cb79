"""Medians of both kinds of update along the passage, against a plain loop."""

import statistics

import numpy as np

from report.figures.magnitude_by_position import FEWEST, medians


def test_medians_are_those_of_a_plain_loop():
    rng = np.random.default_rng(3)
    token = rng.integers(1, 40, 300)
    first, magnitude = rng.random(300) < 0.4, rng.random(300)
    expected = []
    for start in range(0, 40, 7):
        kinds = [
            [
                m
                for m, t, f in zip(magnitude, token, first, strict=True)
                if start <= t < start + 7 and f == kind
            ]
            for kind in (True, False)
        ]
        if min(map(len, kinds)) >= FEWEST:
            expected.append([statistics.median(kind) for kind in kinds])
    assert len(expected) > 3
    assert np.allclose(medians(magnitude, token, first, 7), expected)


def test_a_stretch_with_few_points_of_a_kind_has_no_median():
    token, first = np.arange(1, 21), np.arange(1, 21) <= FEWEST - 1
    assert medians(np.ones(20), token, first, 30).shape == (0, 2)
