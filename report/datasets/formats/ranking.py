"""The largest targets of every row, told by how near they are to what the scores say already.

A file holds scores that are nearly right (see attention.py). Sorted by them, the targets of a row
are almost in the order of the measured probabilities: the largest target is mostly the first, the
second the first of those that are left, and so on. So of each only its place among those left is
written, which is mostly 0.
"""

import numpy as np

from report.datasets.damaged import damaged

RANKS = 11
"""Largest targets that a file lists of a row."""

DEPTH = 42
"""Places that are looked through. A target that is further down is written as 42 + its index."""


def places(score: np.ndarray, largest_targets: np.ndarray) -> np.ndarray:
    """The number that stands for each listed target, int [query, 11], -1 where there is none.

    score: float [query, key], nearly right, -inf where nothing is visible
    largest_targets: int [query, 11], -1 where the row has no more
    """
    sorted_targets = first_targets(score)
    there = sorted_targets[:, :, None] == largest_targets[:, None, :]  # [query, place, rank]
    place = np.where(there.any(1), there.argmax(1), DEPTH)
    numbers = np.full(largest_targets.shape, -1, np.int64)
    for rank in range(largest_targets.shape[1]):
        here = place[:, rank]
        taken = (place[:, :rank] < here[:, None]).sum(1)
        numbers[:, rank] = np.where(here < DEPTH, here - taken, DEPTH + largest_targets[:, rank])
    return np.where(largest_targets < 0, -1, numbers)


def targets(score: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The largest targets, int [query, 11]; the inverse of `places`.

    raises: ReportError if a number stands for no target
    """
    sorted_targets = first_targets(score)
    left = sorted_targets >= 0
    found = np.full(numbers.shape, -1, np.int64)
    every = np.arange(len(numbers))
    for rank in range(numbers.shape[1]):
        number = numbers[:, rank]
        near = (number >= 0) & (number < DEPTH)
        here = left & (np.cumsum(left, 1) - 1 == number[:, None])
        if (near & ~here.any(1)).any() or (number >= DEPTH + len(score[0])).any():
            raise damaged("a largest target is no token that its row sees")
        place = here.argmax(1)
        found[:, rank] = np.where(
            near, sorted_targets[every, place], np.maximum(number - DEPTH, -1)
        )
        left[every[near], place[near]] = False
    return found


def first_targets(score: np.ndarray) -> np.ndarray:
    """The targets of the highest scores, int [query, DEPTH], -1 where a row has no more.

    Of equal scores the first target comes first. Scores are equal if they are so as float32: sums
    in another order, as a browser makes them, must not tell two alike targets apart.
    """
    score = score.astype(np.float32)
    length = score.shape[1]
    depth = min(DEPTH, length)
    least = np.partition(score, length - depth, axis=1)[:, length - depth]
    candidates = score >= least[:, None]
    several = candidates.sum(1) > depth  # equal scores, or -inf: all of the row are sorted
    found = np.full((len(score), DEPTH), -1)
    one = np.flatnonzero(~several)
    if len(one):
        columns = (np.flatnonzero(candidates[one]) % length).reshape(len(one), depth)
        order = np.argsort(-score[one[:, None], columns], axis=1, kind="stable")
        found[one, :depth] = np.take_along_axis(columns, order, 1)
    for row in np.flatnonzero(several):
        found[row, :depth] = np.argsort(-score[row], kind="stable")[:depth]
    seen = np.take_along_axis(score, np.maximum(found, 0), 1) > -np.inf
    return np.where(seen, found, -1)


def counts(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """How many largest targets each row lists, int [query]; first, last: its visible targets."""
    return np.minimum(RANKS, last - first + 1)
