"""The largest targets of every row as small numbers: places in the order of approximate scores.

A file holds scores that are nearly right (see attention.py). Sorted by them, the targets of a row
are almost in the order of the measured probabilities: the largest target is mostly the first, the
second the first of those that are left, and so on. So for each largest target a file has only its
place among those left, which is mostly 0.
"""

import numpy as np

from report.datasets.damaged import damaged

RANKS = 11
"""Largest targets that a file lists of a row."""

DEPTH = 42
"""Places of the order that are searched. A target further down is the number 42 + its index."""


def places(score: np.ndarray, largest_targets: np.ndarray) -> np.ndarray:
    """The number that stands for each listed target, int [query, 11], -1 where there is none.

    score: float [query, key], nearly right, -inf where nothing is visible
    largest_targets: int [query, 11], -1 where the row has no more
    """
    sorted_targets = first_targets(score)
    equal = sorted_targets[:, :, None] == largest_targets[:, None, :]  # [query, place, rank]
    place = np.where(equal.any(1), equal.argmax(1), DEPTH)  # [query, rank]
    numbers = np.full(largest_targets.shape, -1, np.int64)
    for rank in range(largest_targets.shape[1]):
        of_rank = place[:, rank]
        taken = (place[:, :rank] < of_rank[:, None]).sum(1)  # places of larger targets before it
        numbers[:, rank] = np.where(
            of_rank < DEPTH, of_rank - taken, DEPTH + largest_targets[:, rank]
        )
    return np.where(largest_targets < 0, -1, numbers)


def targets(score: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The largest targets, int [query, 11], -1 where the row has no more; the inverse of `places`.

    score: float [query, key], as for `places`; numbers: the result of `places`
    raises: ReportError if a number stands for no target
    """
    sorted_targets = first_targets(score)
    left = sorted_targets >= 0  # [query, place]: not yet among the largest
    largest = np.full(numbers.shape, -1, np.int64)
    rows = np.arange(len(numbers))
    for rank in range(numbers.shape[1]):
        number = numbers[:, rank]
        near = (number >= 0) & (number < DEPTH)
        match = left & (np.cumsum(left, 1) - 1 == number[:, None])
        if (near & ~match.any(1)).any() or (number >= DEPTH + len(score[0])).any():
            raise damaged("a largest target is no token that its row sees")
        place = match.argmax(1)
        largest[:, rank] = np.where(
            near, sorted_targets[rows, place], np.maximum(number - DEPTH, -1)
        )
        left[rows[near], place[near]] = False
    return largest


def first_targets(score: np.ndarray) -> np.ndarray:
    """The targets of the highest scores, int [query, DEPTH], -1 where a row sees no more.

    score: float [query, key], -inf where nothing is visible
    Of equal scores the first target comes first. Scores are equal if they are so as float32: sums
    in another order, as a browser makes them, must not tell two alike targets apart.
    """
    score = score.astype(np.float32)
    length = score.shape[1]
    depth = min(DEPTH, length)
    least = np.partition(score, length - depth, axis=1)[:, length - depth]
    candidates = score >= least[:, None]
    tied = candidates.sum(1) > depth  # equal scores, or -inf: all of the row are sorted
    first = np.full((len(score), DEPTH), -1)
    rows = np.flatnonzero(~tied)
    if len(rows):
        columns = (np.flatnonzero(candidates[rows]) % length).reshape(len(rows), depth)
        order = np.argsort(-score[rows[:, None], columns], axis=1, kind="stable")
        first[rows, :depth] = np.take_along_axis(columns, order, 1)
    for row in np.flatnonzero(tied):
        first[row, :depth] = np.argsort(-score[row], kind="stable")[:depth]
    visible = np.take_along_axis(score, np.maximum(first, 0), 1) > -np.inf
    return np.where(visible, first, -1)


def counts(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """How many largest targets each row lists, int [query].

    first, last: int [query], the first and the last target that each row sees
    """
    return np.minimum(RANKS, last - first + 1)
