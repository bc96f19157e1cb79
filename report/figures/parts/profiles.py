"""Terms of the score by target or by distance, averaged over current tokens.

A row of scores is known up to a constant: a constant that is added to all targets of a current
token changes nothing after softmax. A plain mean over rows would mix those constants in. Since few
rows see late targets and far distances, it would bend even a straight line. So only differences
within a row count.
"""

from collections.abc import Iterable

import numpy as np

from report.datasets.formats.attention import DecodedAttention
from report.figures.parts import score_terms
from report.figures.parts.spread import spread

MOST_ROWS = 512
"""Current tokens that are averaged over, so that a reader's browser is quick: of a longer passage,
some of them tell a mean as well as a line is drawn."""


def by_target(attention: DecodedAttention, terms: Iterable[str]) -> dict[str, np.ndarray]:
    """What each term gives a target, over all current tokens, less the mean over all targets.

    returns: dict of term to float [target]; of a term that depends on the current token too,
        `common_part` of its rows
    """
    columns = {}
    for name in terms:
        term = attention.terms.get(name)
        if term is not None and term.per in ("target", "target_difference"):
            values = term.values
        else:
            matrix, mask = score_terms.matrix(attention, name), attention.visible.mask()
            rows = spread(len(mask), MOST_ROWS)
            values = common_part(matrix[rows], mask[rows])
        columns[name] = values - values.mean()
    return columns


def by_distance(attention: DecodedAttention, terms: Iterable[str]) -> dict[str, np.ndarray]:
    """What each term gives at a distance, over all pairs of tokens, less the mean of all distances.

    Target 0 is left out: many heads give it much, which would decide the values of far distances.

    returns: dict of "distance" (current - target, ascending, negative for later targets), "pairs"
        (cells at that distance) and each term, float [distances]
    """
    mask = attention.visible.mask().copy()
    mask[:, 0] = False
    matrices = [score_terms.matrix(attention, name) for name in terms]
    rows = spread(len(mask), MOST_ROWS)
    past = _levels(matrices, mask, rows, -1)
    future = np.zeros_like(past)
    if not attention.visible.backward:
        future = _levels(matrices, mask, rows, 1)
    *levels, pairs = np.concatenate([future[:, :0:-1], past], axis=1)
    kept = pairs > 0
    distance = np.arange(1 - len(mask), len(mask))
    columns = {"distance": distance[kept], "pairs": pairs[kept].astype(int)}
    for name, level in zip(terms, levels, strict=True):
        values = level[kept]
        columns[name] = values - values.mean() if len(values) else values
    return columns


def _levels(matrices, mask, rows, step):
    """What terms give at each distance to one side, and how many pairs are so far apart.

    matrices: the terms, [current, target]; mask: whether a cell counts; rows: those that are
    averaged over; step: as of `_sides`
    returns: float [term + 1, distance], the number of pairs last
    """
    *terms, seen = _sides([*matrices, mask], rows, step)
    (every,) = _sides([mask], np.arange(len(mask)), step)
    seen = seen.astype(bool)
    return np.array([*(common_part(term, seen) for term in terms), every.sum(0)], float)


def common_part(values: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """What rows that see different places have in common.

    values: float [row, place]; seen: bool [row, place], an unbroken range of places a row
    returns: float [place], 0 at place 0: each place stands above the places before it as far as
        it does on average over the rows that see both. For values = constant of the row + level
        of the place the levels come out exactly.
    """
    count = np.cumsum(seen, axis=1) - seen  # places before this one, in its row
    both = seen & (count > 0)
    visible = values * seen
    before = (np.cumsum(visible, axis=1) - visible) / np.maximum(count, 1)
    above = np.where(both, values - before, 0).sum(0)
    share = np.where(both, 1 / np.maximum(count, 1), 0)
    rows, shares = both.sum(0), share.sum(0)
    first = seen.argmax(1)
    windows = bool(first[both.any(1)].any())  # else nothing lies before the first place of a row
    level = np.zeros(len(rows))
    total = np.zeros(len(rows) + 1)  # of the levels before a place
    for place in range(len(rows)):
        if rows[place]:
            base = total[place] * shares[place]
            if windows:
                base -= (total[first] * share[:, place]).sum()
            level[place] = (above[place] + base) / rows[place]
        total[place + 1] = total[place] + level[place]
    return level


def _sides(matrices, rows, step):
    """Some rows of cells by distance, [row, |distance|], to one side (step -1: the past).

    A row begins at the current token itself; what lies outside the passage is 0.
    """
    length = len(matrices[0])
    places = np.arange(length)
    target = rows[:, None] + step * places
    inside = (target >= 0) & (target < length)
    clipped = np.clip(target, 0, length - 1)
    return [np.where(inside, np.take_along_axis(m[rows], clipped, 1), 0) for m in matrices]
