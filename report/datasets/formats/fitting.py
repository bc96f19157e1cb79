"""Writes heads in the schemas attention/4 and keys/1: the inverse of `attention.decode`.

What has to hold (`rounding`), so that numbers are right where they count: every probability within
PROBABILITY_ERROR of the measured one, and terms within TOP_ERROR at the largest targets of a row
and within CELL_ERROR elsewhere (ROTARY_CELL_ERROR where there is a rotation); the rest has the
errors of all terms. What all scores of a row are off by changes nothing after softmax. So each row
is moved by as much as its uncorrected scores are off on average, and only then single cells are
corrected. Rows are worked on in blocks: memory grows with T.

Coarser integers of queries and keys take fewer bytes and leave more to correct. So a few units are
tried on some rows, and the one that seems to take the fewest bytes is used.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from report.datasets.formats import ranking, rice, rounding, sides
from report.datasets.formats.attention import SCHEMA, TERMS, Cells, Products, cap, of_tokens
from report.datasets.formats.group import Exact, Group, Head, difference, exact, head_of
from report.datasets.formats.sides import Keys, Side, rotated
from report.errors import ReportError

PROBABLY = 0.998 * rounding.PROBABILITY_ERROR
"""The bound, but for what a browser's arithmetic may add, and float32 here."""

TOKENS_ERROR = 0.001
"""What terms of single tokens are off by, which is in the rest, too."""

PARTS_OF_BOUND = (0.5, 0.5, 0.3, 0.3, 0.1, 0, 0, 0, 0, 0)
"""By which a corrected probability may be off; the next for rows in which one is wrong. At 0 all
cells of such a row count that have a hundredth of the bound."""


def of_rows(head: Head, near: Products | Cells, exact: Exact) -> dict[str, np.ndarray]:
    """What a file says of some rows, int [any number] by name: "targets", "rows"; of the rest, and
    of each other term of cells, what is missing at the largest targets, "content top", and what at
    other cells, "content", with their places among the visible cells, "content at"."""
    target, current = of_tokens(head.written, len(head.marker_count))
    score = near.score(exact.rows, exact.columns)
    score += target[exact.columns]
    error = np.empty(score.shape, np.float32)
    np.subtract(score + current[exact.rows, None], exact.score, out=error, casting="same_kind")
    error[exact.hidden], score[exact.hidden] = 0, -np.inf
    rows, integers = _to_scores(head, exact, error)
    numbers = {"targets": _places(head, exact, score), "rows": rows.astype(np.int64)}
    numbers |= _by_name(head.rest, head, exact, integers)
    for name in head.terms:
        numbers |= _by_name(name, head, exact, _to_term(name, head, near, exact))
    return numbers


def _by_name(name, head, exact, integers):
    """What a file says of the cells of a term; integers: int32 [query, key]."""
    cells = np.flatnonzero(integers)
    cells = cells[~exact.top.ravel()[cells]]
    rows, columns = np.divmod(cells, integers.shape[1])
    starts = head.ranges.starts[exact.rows] + exact.columns.start
    return {
        f"{name} top": integers[exact.top_cells].astype(np.int64),
        f"{name} at": starts[rows] + columns,
        name: integers.ravel()[cells].astype(np.int64),
    }


def _to_term(name, head, near, exact):
    """What is missing to a term, in units of its step, int32 [query, key]."""
    error = head.measured.off(near, name, exact.rows, exact.columns)
    off = np.abs(error) > _bound(head)
    off[exact.hidden] = False
    cells = np.flatnonzero(off | exact.top)
    integers = np.zeros(error.shape, np.int32)
    integers.ravel()[cells] = np.rint(-error.ravel()[cells] / rounding.MISSING_STEPS["term"])
    return integers


def _bound(head):
    """How far a term of cells may be off, so that the rest is not off by more than twice that."""
    return head.bound / len(head.terms)


def _places(head, exact, score):
    """The numbers of the largest targets, see `ranking`, int [any number]."""
    first = exact.columns.start
    listed = head.largest_targets[exact.rows]
    places = ranking.places(score, np.where(listed < 0, -1, listed - first))
    places = np.where(places >= ranking.DEPTH, places + first, places)
    return places[listed >= 0]


def _allowed(probability, top, part, bound):
    """How far the scores of cells may be off, float64: their probabilities by a part of the bound.

    top: whether they are among the largest targets; bound: of others, whatever their probability
    """
    spread = np.maximum(probability * (1 - probability), 1e-9)
    bound = np.where(top, rounding.TOP_ERROR / 2, bound)
    return np.minimum(part * rounding.PROBABILITY_ERROR / spread, bound)


def _to_scores(head, exact, error):
    """What is missing to the scores, in units of their step: of each row, float64 [query], and of
    single cells beside that, int32 [query, key]; error: float32 [query, key], 0 where hidden."""
    corrected = exact.top | (np.abs(error) > head.bound - TOKENS_ERROR)
    of_rows, integers = np.zeros(len(error)), np.zeros(error.shape, np.int32)
    rows = np.arange(len(error))  # those that are not yet right
    for part in PARTS_OF_BOUND:
        some = _Rows.of(exact, error, corrected, rows)
        of_rows[rows], cells, chosen, wrong = _tried(head.softmax, some, part)
        integers[rows[cells // error.shape[1]], cells % error.shape[1]] = chosen
        limit = PROBABLY if part else PROBABLY / 100
        more = (wrong if part else some.probability) > limit
        still = wrong.max(1) > PROBABLY
        if part:
            far = _far(head, exact, some, rows, of_rows)
            more |= far
            still |= far.any(1)
        rows, more = rows[still], more[still]
        if not len(rows):
            return of_rows, integers
        corrected[rows] |= more
    raise ReportError(
        f"layer {head.layer} head {head.number}: rounding moves a probability by "
        f"{wrong.max():.2g}, more than {rounding.PROBABILITY_ERROR}; measure in float32 or "
        "shorten the passage."
    )


def _far(head, exact, some, rows, of_rows):
    """The cells that are not corrected and too far off since their rows are moved, bool."""
    moved = (rounding.MISSING_STEPS["rest"] * of_rows[rows])[:, None]
    far = np.abs(some.error + moved.astype(np.float32)) > head.bound - TOKENS_ERROR
    return far & ~(some.corrected | exact.hidden[rows])


@dataclass(frozen=True)
class _Rows:
    """Rows that are corrected together; arrays [query, key]."""

    error: np.ndarray
    """float32, by how much the scores are off."""
    probability: np.ndarray
    score: np.ndarray
    top: np.ndarray
    corrected: np.ndarray
    """bool, the cells that are corrected."""

    @classmethod
    def of(cls, exact, error, corrected, rows):
        """Some of the rows, without a copy of them if they are all."""
        some = slice(None) if len(rows) == len(error) else rows
        arrays = error, exact.probability, exact.score, exact.top, corrected
        return cls(*(array[some] for array in arrays))


def _tried(softmax, some, part):
    """Rows moved and cells corrected, in units of their step, and how right that is.

    part: of the bound by which a corrected probability may be off
    returns: float64 [query]; the cells that are corrected, as indices of the flat array, and their
        integers; by how much probabilities are off, float32 [query, key]
    """
    step, tens = rounding.MISSING_STEPS["rest"], rounding.TENS["rest"]
    cells = np.flatnonzero(some.corrected)
    rows = cells // some.error.shape[1]
    own, probability = (
        each.ravel()[cells].astype(float) for each in (some.error, some.probability)
    )
    # rest and grown: the probabilities of all other cells, and what they grow to
    rest, grown = some.probability.copy(), np.exp(some.error)
    grown *= some.probability
    rest.ravel()[cells] = grown.ravel()[cells] = 0
    before, after = (each.sum(1, dtype=float) for each in (rest, grown))
    moved = np.rint(-_log_mean(before, after) / step)
    own += step * moved[rows]
    allowed = _allowed(probability, some.top.ravel()[cells], part, rounding.CELL_ERROR)
    coarse = np.where(2 * allowed >= tens * step, tens, 1)
    chosen = -np.rint(own / (coarse * step)) * coarse
    own += chosen * step
    if softmax.softcap is not None:
        error = some.error + step * moved[:, None]
        error.ravel()[cells] = own
        return moved, cells, chosen, _wrong(softmax, some, error)
    of_cells, factor = probability * np.exp(own), np.exp(step * moved)
    left = 1 - some.probability.sum(1, dtype=float)  # what a sink takes
    total = factor * after + np.bincount(rows, of_cells, len(rest)) + left
    grown *= (factor / total)[:, None].astype(np.float32)
    wrong = np.abs(np.subtract(grown, rest, out=grown), out=grown)
    wrong.ravel()[cells] = np.abs(of_cells / total[rows] - probability)
    return moved, cells, chosen, wrong


def _log_mean(before, after):
    """By how much scores are off on average, if the sums of their probabilities are these."""
    return np.log1p(np.maximum((after - before) / np.maximum(before, 1e-30), -0.5))


def _wrong(softmax, some, error):
    """By how much probabilities are off if scores are off by `error`, float64 [query, key]."""
    capped = cap(some.score + error, softmax.softcap)
    normalizer = softmax.log_normalizer(capped)
    return np.abs(np.exp(capped - normalizer[:, None]) - some.probability)


ROWS = 128
"""Queries whose scores are in memory at a time."""


def _shard(head: Head, near: Products | Cells, stated: dict, of_cells: dict[str, dict]) -> dict:
    """The attention/4 dataset of one head.

    stated: its queries, and the name of its keys
    of_cells: what a file says nearly of each term of cells, where there are no queries
    """
    length = len(head.marker_count)
    blocks = [slice(start, min(start + ROWS, length)) for start in range(0, length, ROWS)]
    found = [of_rows(head, near, some) for some in exact(head, blocks)]
    numbers = {name: np.concatenate([rows[name] for rows in found]) for name in found[0]}
    terms = {name: _of_term(name, numbers, name == head.rest) for name in (*head.terms, head.rest)}
    for name, given in of_cells.items():
        terms[name]["near"] = given
    terms |= head.tokens
    return {
        "schema": SCHEMA,
        "layer": head.layer,
        "head": head.number,
        "tokens": length,
        **stated,
        "terms": {name: terms[name] for name in TERMS if name in terms},
        **head.softmax.as_json(head.ranges),
        "marker_count": head.marker_count.tolist(),
        "targets": rice.write(numbers["targets"][None]),
    }


def _of_term(name, numbers, rest):
    """A term of cells as attention/4 has it.

    numbers: as of `of_rows`, of all rows; rest: whether the term is the rest
    """
    what = "rest" if rest else "term"
    top = numbers[f"{name} top"]
    tens = np.rint(top / rounding.TENS[what]).astype(np.int64)
    left = top - tens * rounding.TENS[what]
    places = np.flatnonzero(left)
    return {
        "per": "cell",
        "step": rounding.MISSING_STEPS[what],
        "tens": rounding.TENS[what],
        "top": rice.write(tens[None]),
        "top_cells": rice.write_few(places, left[places]),
        "cells": rice.write_few(numbers[f"{name} at"], numbers[name]),
        **({"rows": rice.write(numbers["rows"][None])} if rest else {}),
    }


def encode_cells(head: Head) -> dict:
    """The attention/4 dataset of a head of `head_of_cells`.

    raises: ReportError if the probabilities cannot be kept within PROBABILITY_ERROR
    """
    step, mask = rounding.NEAR_STEP, head.ranges.mask()
    near, given = {}, {}
    for name, values in head.measured.cells.items():
        integers = rounding.rounded(np.where(mask, values, 0), step)
        middles = [int(np.median(row[seen])) for row, seen in zip(integers, mask, strict=True)]
        off = integers - np.array(middles)[:, None]
        given[name] = {"step": step, "middles": middles, "integers": rice.write(off[mask][None])}
        near[name] = integers * step
    return _shard(head, Cells(near), {}, given)


BYTES_OF_A_CELL = 2.5
"""What a corrected cell takes: how far it is from the one before, and by how much it is off."""


class Sample:
    """Some rows of a head, on which integers are tried."""

    def __init__(self, head: Head, exact: Exact):
        self.head, self.exact = head, exact
        self.rest = np.where(exact.top, 0, exact.probability)
        """float32 [query, key], the probabilities of cells that are no largest targets."""
        weight = (1 / _allowed(exact.probability, exact.top, 0.9, head.bound)).astype(np.float32)
        self.of_top = weight[exact.top_cells]
        """float32 [target], errors of scores times this may be at most 1."""
        self.others = ~(exact.top | exact.hidden)
        """bool [query, key], the cells that are told only where they are off too far."""
        self.of_others = weight * self.others
        """float32 [query, key], as `of_top`."""

    def size(self, products: Products) -> float:
        """About how many bytes it takes to say what is missing of these rows.

        products: of their queries alone
        """
        exact = self.exact
        off = self._off(products)
        bits = np.log2(2 + 2 * off[exact.top_cells] * self.of_top).sum()
        off *= self.of_others
        cells = np.count_nonzero(off > 1)
        for name in self.head.terms:
            queries, keys = products.sides(name)
            measured = self.head.measured.some(name, exact.rows, exact.columns)
            off = np.abs(difference((queries, keys[exact.columns]), measured))
            bits += np.log2(2 + 2 * off[exact.top_cells] / rounding.TOP_ERROR).sum()
            off *= self.others
            cells += np.count_nonzero(off > _bound(self.head))
        return BYTES_OF_A_CELL * cells + bits / 8

    def _off(self, products):
        """By how much scores are off if rows are moved by their mean, float32 [query, key]."""
        measured, rows, columns = self.head.measured, self.exact.rows, self.exact.columns
        queries, keys = products.rotated
        rotated = measured.rotated[0][rows], measured.rotated[1][columns]
        error = difference((queries, keys[columns]), rotated)
        target, current = of_tokens(self.head.written, len(keys))
        of_keys = (target - measured.of_target - products.of_target)[columns]
        of_queries = (current - measured.of_current)[rows] - products.of_current
        error += of_keys.astype(np.float32)
        error += of_queries.astype(np.float32)[:, None]
        grown = self.rest * np.exp(np.minimum(error, 1))
        error -= _log_mean(self.rest.sum(1), grown.sum(1))[:, None]
        return np.abs(error, out=error)


SAMPLE = 64
"""Rows that units are tried on."""

UNITS = tuple(float(f"{0.012 * 1.225**n:.3g}") for n in range(17))
"""Units of the integers of queries and keys that are tried. Their product is a score."""

FIRST = 6
"""The unit that is tried first; mostly it is the best or near it."""

NEAR = 3
"""How far from the unit of the keys that of queries is looked for."""

KEY_WEIGHT = 1.2
"""What a byte of keys counts beside one of the queries of a head: a step to another group fetches
both."""


@dataclass(frozen=True)
class _Scaled:
    """Queries and keys of a group in the order of a file, equally large in every component."""

    queries: np.ndarray
    """float64 [head, token, component]."""
    keys: np.ndarray
    query_bias: np.ndarray | None
    key_bias: np.ndarray | None
    query_place: np.ndarray | None
    key_place: np.ndarray | None
    frequencies: np.ndarray

    def side(self, place: int, step: float, rows: slice = slice(None)) -> Side:
        """The queries of one head as integers."""
        bias, part = (None if s is None else s[place] for s in (self.query_bias, self.query_place))
        return _side(step, self.queries[place, rows], bias, None if part is None else part[rows])


def encode(group: Group) -> tuple[dict, list[dict]]:
    """The keys/1 dataset of a group, and the attention/4 dataset of each of its heads.

    raises: ReportError if a term is beyond LARGEST_SCORE, or the probabilities cannot be kept
        within PROBABILITY_ERROR
    """
    heads, scaled = [head_of(group, place) for place in range(len(group.heads))], _scaled(group)
    some = _some_rows(len(group.keys))
    samples = [Sample(head, next(exact(head, [some]))) for head in heads]
    some_keys = functools.cache(functools.partial(_keys, group, scaled))

    def cost(place, of_keys, step):
        """About how many bytes the file of a head takes, from what is known of some rows."""
        queries = scaled.side(place, step, some)
        sample = samples[place].size(Products(queries, of_keys, some)) + _bytes(queries)
        return sample * of_keys.length / queries.integers.shape[1]

    def cost_of_all(step):
        of_keys = some_keys(step)
        own = KEY_WEIGHT * _bytes(of_keys.side)
        return own + sum(cost(place, of_keys, step) for place in range(len(heads)))

    unit = _cheapest(cost_of_all, UNITS, FIRST)
    of_keys, at = some_keys(unit), UNITS.index(unit)
    near = UNITS[max(at - NEAR, 0) : at + NEAR + 1]
    shards = []
    for place, head in enumerate(heads):
        step = _cheapest(functools.partial(cost, place, of_keys), near, near.index(unit))
        queries = scaled.side(place, step)
        stated = {"keys": sides.name(group.layer, group.key_head), "queries": queries.as_json()}
        shards.append(_shard(head, Products(queries, of_keys), stated, {}))
    return sides.encode(of_keys), shards


def _cheapest(cost: Callable[[float], float], units: Sequence[float], start: int) -> float:
    """The unit of least cost, looked for from one of them to both sides."""
    costs = {start: cost(units[start])}
    for direction in (1, -1):
        here = min(costs, key=costs.get)
        while 0 <= here + direction < len(units) and here + direction not in costs:
            costs[here + direction] = cost(units[here + direction])
            if costs[here + direction] >= costs[here]:
                break
            here += direction
    return units[min(costs, key=costs.get)]


def _scaled(group):
    """A scale for every component: keys are multiplied by it and queries divided, so that both are
    equally large. A rotation mixes the two of a pair, which have one scale, and is turned so that
    they are told in the fewest bytes."""
    own = np.sqrt((group.queries.astype(float) ** 2).mean((0, 1)))
    other = np.sqrt((group.keys.astype(float) ** 2).mean(0))
    pairs = group.rotation.pairs
    for size in (own, other):
        size[pairs] = np.sqrt((size[pairs] ** 2).mean(1, keepdims=True))
    least = np.finfo(np.float32).tiny
    scale = np.sqrt(np.maximum(own, least) / np.maximum(other, least))
    order = np.concatenate([pairs.ravel(), np.setdiff1d(np.arange(len(own)), pairs)])

    def put(values, factor):
        return None if values is None else (values.astype(float) * factor)[..., order]

    sides = (
        put(group.queries, 1 / scale),
        put(group.keys, scale),
        put(group.query_bias, 1 / scale),
        put(group.key_bias, scale),
        put(group.query_place, 1 / scale),
        put(group.key_place, scale),
    )
    turns = np.exp(1j * angles(*sides[:2], len(pairs)))
    turned = (None if side is None else rotated(side, turns) for side in sides)
    return _Scaled(*turned, group.rotation.frequencies)


def angles(queries: np.ndarray, keys: np.ndarray, pairs: int) -> np.ndarray:
    """By how much to turn each pair, float64 [pair]: so that the logarithms of how far components
    spread, with which their bits grow, have the least sum. Queries and keys that are turned alike
    have the same products, before a rotation and after it.

    queries: float64 [head, token, component]; keys: float64 [token, component], pairs first
    """
    tried = np.linspace(0, np.pi / 2, 30, endpoint=False)
    bits = np.zeros((len(tried), pairs))
    for weight, side in [(KEY_WEIGHT, keys), *((1, head) for head in queries)]:
        off = side[:, : 2 * pairs] - np.median(side[:, : 2 * pairs], axis=0)
        (one, other), both = (off[:, 0::2], off[:, 1::2]), (off[:, 0::2] * off[:, 1::2]).mean(0)
        squares = (one**2).mean(0), (other**2).mean(0)
        mean, apart = (squares[0] + squares[1]) / 2, (squares[0] - squares[1]) / 2
        # turned, the squares of the two are the mean and this, more and less
        more = np.outer(np.cos(2 * tried), apart) - np.outer(np.sin(2 * tried), both)
        bits += weight * np.log(np.maximum(mean**2 - more**2, np.finfo(np.float32).tiny))
    return tried[bits.argmin(0)]


def _keys(group, scaled, step):
    """The keys as a file has them."""
    side = _side(step, scaled.keys, scaled.key_bias, scaled.key_place)
    return Keys(group.layer, group.key_head, len(group.keys), scaled.frequencies, side)


def _side(step, values, bias, place):
    """Queries or keys as integers; values, place: float64 [token, component]."""
    place = None if place is None else rounding.rounded(place.T, step)
    return Side(step, rounding.rounded(values.T, step), bias, place)


def _bytes(side):
    """About how many bytes the integers of a side take, from how far they spread."""
    integers = side.integers if side.place is None else np.concatenate([side.integers, side.place])
    off = integers - np.median(integers, axis=1)[:, None]
    spread = np.sqrt((off**2).mean(1))
    return float(np.log2(1 + 4.1 * spread).sum() * integers.shape[1] / 8)


def _some_rows(length):
    """Rows spread over the passage, the last one included."""
    stride = max(1, length // SAMPLE)
    return slice((length - 1) % stride, length, stride)
