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
            values = common_part(score_terms.matrix(attention, name), attention.visible.mask())
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
    past = _sides([*matrices, mask], -1)
    future = _sides([*matrices, mask], 1)
    seen = past[-1].astype(bool), future[-1].astype(bool)
    pairs = np.concatenate([seen[1].sum(0)[:0:-1], seen[0].sum(0)])
    kept = pairs > 0
    columns = {"distance": np.arange(1 - len(mask), len(mask))[kept], "pairs": pairs[kept]}
    for name, back, ahead in zip(terms, past, future, strict=False):
        level = [common_part(ahead, seen[1])[:0:-1], common_part(back, seen[0])]
        values = np.concatenate(level)[kept]
        columns[name] = values - values.mean() if len(values) else values
    return columns


def common_part(values: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """What rows that see different places have in common.

    values: float [row, place]; seen: bool [row, place], an unbroken range of places a row
    returns: float [place], 0 at place 0: each place stands above the places before it as far as
        it does on average over the rows that see both. For values = constant of the row + level
        of the place the levels come out exactly.
    """
    count = np.cumsum(seen, axis=1) - seen  # places before this one, in its row
    before = (np.cumsum(values * seen, axis=1) - values * seen) / np.maximum(count, 1)
    first = seen.argmax(1)
    both = seen & (count > 0)
    level = np.zeros(len(seen[0]))
    total = np.zeros(len(level) + 1)  # of the levels before a place
    for place in range(len(level)):
        rows = both[:, place]
        if rows.any():
            above = values[rows, place] - before[rows, place]
            base = (total[place] - total[first[rows]]) / count[rows, place]
            level[place] = (above + base).mean()
        total[place + 1] = total[place] + level[place]
    return level


def _sides(matrices, step):
    """The same cells by distance, [current, |distance|], to one side (step -1: the past).

    A row begins at the current token itself; what lies outside the passage is 0.
    """
    length = len(matrices[0])
    places = np.arange(length)
    target = places[:, None] + step * places
    inside = (target >= 0) & (target < length)
    clipped = np.clip(target, 0, length - 1)
    return [np.where(inside, np.take_along_axis(m, clipped, 1), 0) for m in matrices]
