"""Writes the heads of one group in the schemas attention/4 and keys/1 (see factored.py).

Coarser integers take fewer bytes and leave more to correct. So a few units are tried
on some rows, and the one that seems to take the fewest bytes is used. Rows are worked on in blocks:
memory grows with T.

What has to hold (`rounding`), so that numbers are right where they count: every probability within
PROBABILITY_ERROR of the measured one, and terms within TOP_ERROR at the largest targets of a row
and within CELL_ERROR elsewhere. What all scores of a row are off by changes nothing after softmax.
So each row is moved by as much as its uncorrected scores are off on average, and only then single
cells are corrected.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from report.datasets.formats import keys, ranking, rice, rounding
from report.datasets.formats.decoded import cap
from report.datasets.formats.factored import SCHEMA, Products, of_tokens
from report.datasets.formats.group import Exact, Group, Head, exact, head_of
from report.datasets.formats.sides import Side, rotated
from report.errors import ReportError

PROBABLY = 0.998 * rounding.PROBABILITY_ERROR
"""The bound, but for what a browser's arithmetic may add, and float32 here."""

PARTS = (0.5, 0.5, 0.3, 0.3, 0.1, 0, 0, 0, 0, 0)
"""Parts of the bound by which a corrected probability may be off; the next for rows in which one
is wrong. At 0 all cells of such a row count that have a hundredth of the bound."""

BYTES_OF_A_CELL = 2.5
"""What a corrected cell takes: how far it is from the one before, and by how much it is off."""


def of_rows(head: Head, products: Products, exact: Exact) -> dict[str, np.ndarray]:
    """What a file says of some rows, int [any number] by name: "targets", "rows"; of "content" and
    "position" what is missing at the largest targets, "content top", and what at other cells,
    "content", with their places among the visible cells, "content at". Where nothing is rotated
    there is no "content"."""
    target, current = of_tokens(head.written, len(head.keys))
    score = products.together(exact.rows, exact.columns)
    score += target[exact.columns]
    error = np.empty(score.shape, np.float32)
    np.subtract(score + current[exact.rows, None], exact.score, out=error, casting="same_kind")
    error[exact.hidden], score[exact.hidden] = 0, -np.inf
    rows, position = _to_scores(head, exact, error)
    numbers = {"targets": _places(head, exact, score), "rows": rows.astype(np.int64)}
    cells = {"position": position}
    if head.turned:
        cells["content"] = _to_content(head, products, exact)
    for name, integers in cells.items():
        numbers |= _told(name, head, exact, integers)
    return numbers


def _told(name, head, exact, integers):
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


def _to_content(head, products, exact):
    """What is missing to the content, in units of its step, int32 [query, key]."""
    measured = head.queries[exact.rows], head.keys[exact.columns]
    written = products.queries[exact.rows], products.keys[exact.columns]
    error = _difference(written, measured)
    off = np.abs(error) > rounding.CELL_ERROR
    off[exact.hidden] = False
    cells = np.flatnonzero(off | exact.top)
    integers = np.zeros(error.shape, np.int32)
    integers.ravel()[cells] = np.rint(-error.ravel()[cells] / rounding.MISSING_STEPS["content"])
    return integers


def _difference(written, measured):
    """By how much the products of one pair of queries and keys are larger than those of another,
    float32 [query, key], or float64 where they are so large that float32 would round them by more
    than a tenth of the bound; told by how much the queries and keys are, it keeps its digits."""
    number = measured[1].shape[1]
    largest = number * math.prod(float(np.abs(side).max(initial=0)) for side in measured)
    fine = largest * np.finfo(np.float32).eps > rounding.TOP_ERROR / 10
    dtype = np.float64 if fine else np.float32
    queries, keys = (np.empty((len(side), 2 * number), dtype) for side in measured)
    np.subtract(written[0], measured[0], out=queries[:, :number], casting="same_kind")
    queries[:, number:], keys[:, :number] = measured[0], written[1]
    np.subtract(written[1], measured[1], out=keys[:, number:], casting="same_kind")
    return queries @ keys.T


def as_json(name: str, numbers: dict[str, np.ndarray]) -> dict:
    """A "cell" term as attention/4 has it.

    numbers: as of `of_rows`, of all rows
    name: "position" for the term that what is missing to the scores belongs to, else "content"
    """
    top = numbers[f"{name} top"]
    tens = np.rint(top / rounding.TENS[name]).astype(np.int64)
    rows = {"rows": rice.write(numbers["rows"][None])} if name == "position" else {}
    return {
        "per": "cell",
        "step": rounding.MISSING_STEPS[name],
        "tens": rounding.TENS[name],
        "top": rice.write(tens[None]),
        "top_cells": rice.write_few(*_others(top - tens * rounding.TENS[name])),
        "cells": rice.write_few(numbers[f"{name} at"], numbers[name]),
        **rows,
    }


def _others(integers):
    """The places of integers that are not 0, and they."""
    places = np.flatnonzero(integers)
    return places, integers[places]


class Sample:
    """Some rows of a head, on which integers are tried."""

    def __init__(self, head: Head, exact: Exact):
        self.head, self.exact = head, exact
        self.rest = np.where(exact.top, 0, exact.probability)
        """float32 [query, key], the probabilities of cells that are no largest targets."""
        weight = (1 / _allowed(exact.probability, exact.top, 0.9)).astype(np.float32)
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
        exact, turned = self.exact, self.head.turned
        off = self._off(products)
        bits = np.log2(2 + 2 * off[exact.top_cells] * self.of_top).sum()
        off *= self.of_others
        cells = np.count_nonzero(off > 1)
        if turned:
            measured = self.head.queries[exact.rows], self.head.keys[exact.columns]
            written = products.queries, products.keys[exact.columns]
            off = np.abs(_difference(written, measured))
            bits += np.log2(2 + 2 * off[exact.top_cells] / rounding.TOP_ERROR).sum()
            off *= self.others
            cells += np.count_nonzero(off > rounding.CELL_ERROR)
        return BYTES_OF_A_CELL * cells + bits / 8

    def _off(self, products):
        """By how much scores are off if rows are moved by their mean, float32 [query, key]."""
        head, rows, columns = self.head, self.exact.rows, self.exact.columns
        queries, keys = products.rotated
        measured = head.rotated[rows], head.rotated_keys[columns]
        error = _difference((queries, keys[columns]), measured)
        target, current = of_tokens(head.written, len(head.keys))
        of_keys = (target - head.of_target - products.of_target)[columns]
        of_queries = (current + head.of_current)[rows] - products.of_current
        error += of_keys.astype(np.float32)
        error += of_queries.astype(np.float32)[:, None]
        grown = self.rest * np.exp(np.minimum(error, 1))
        error -= _log_mean(self.rest.sum(1), grown.sum(1))[:, None]
        return np.abs(error, out=error)


def _places(head, exact, score):
    """The numbers of the largest targets, see `ranking`, int [any number]."""
    first = exact.columns.start
    listed = head.group.largest_targets[head.place, exact.rows]
    places = ranking.places(score, np.where(listed < 0, -1, listed - first))
    places = np.where(places >= ranking.DEPTH, places + first, places)
    return places[listed >= 0]


def _allowed(probability, top, part):
    """How far the scores of cells may be off, float64: their probabilities by a part of the bound.

    top: whether they are among the largest targets
    """
    spread = np.maximum(probability * (1 - probability), 1e-9)
    bound = np.where(top, rounding.TOP_ERROR / 2, rounding.CELL_ERROR)
    return np.minimum(part * rounding.PROBABILITY_ERROR / spread, bound)


def _to_scores(head, exact, error):
    """What is missing to the scores, in units of their step: of each row, float64 [query], and of
    single cells beside that, int32 [query, key]; error: float32 [query, key], 0 where hidden."""
    corrected = exact.top | (np.abs(error) > rounding.CELL_ERROR)
    of_rows, integers = np.zeros(len(error)), np.zeros(error.shape, np.int32)
    rows = np.arange(len(error))  # those that are not yet right
    for part in PARTS:
        some = _Rows.of(exact, error, corrected, rows)
        of_rows[rows], cells, chosen, wrong = _tried(head.softmax, some, part)
        integers[rows[cells // error.shape[1]], cells % error.shape[1]] = chosen
        still = wrong.max(1) > PROBABLY
        rows = rows[still]
        if not len(rows):
            return of_rows, integers
        limit = PROBABLY if part else PROBABLY / 100
        corrected[rows] |= (wrong if part else some.probability)[still] > limit
    raise ReportError(
        f"layer {head.group.layer} head {head.number}: rounding moves a probability by "
        f"{wrong.max():.2g}, more than {rounding.PROBABILITY_ERROR}; measure in float32 or "
        "shorten the passage."
    )


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
    step, tens = rounding.MISSING_STEPS["position"], rounding.TENS["position"]
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
    allowed = _allowed(probability, some.top.ravel()[cells], part)
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

ORDER = ("content", "mixed", "bias", "position", "row_constant")
"""The terms of a file."""


@dataclass(frozen=True)
class _Scaled:
    """Queries and keys of a group in the order of a file, equally large in every component."""

    queries: np.ndarray
    """float64 [head, token, component]."""
    keys: np.ndarray
    query_bias: np.ndarray | None
    key_bias: np.ndarray | None
    frequencies: np.ndarray

    def side(self, place: int, step: float, rows: slice = slice(None)) -> Side:
        """The queries of one head as integers."""
        bias = None if self.query_bias is None else self.query_bias[place]
        return Side(step, rounding.rounded(self.queries[place, rows].T, step), bias)


def encode(group: Group) -> tuple[dict, list[dict]]:
    """The keys/1 dataset of a group, and the attention/4 dataset of each of its heads.

    raises: ReportError if a term is beyond LARGEST_SCORE, or the probabilities cannot be kept
        within PROBABILITY_ERROR
    """
    heads, scaled = [head_of(group, place) for place in range(len(group.heads))], _scaled(group)
    some = _some_rows(len(group.keys))
    samples = [Sample(head, next(exact(head, [some]))) for head in heads]
    some_keys = functools.cache(functools.partial(_keys, group, scaled))

    def cost(head, of_keys, step):
        """About how many bytes the file of a head takes, from what is known of some rows."""
        queries = scaled.side(head.place, step, some)
        sample = samples[head.place].size(Products(queries, of_keys, some)) + _bytes(queries)
        return sample * of_keys.length / queries.integers.shape[1]

    def cost_of_all(step):
        of_keys = some_keys(step)
        own = KEY_WEIGHT * _bytes(of_keys.side)
        return own + sum(cost(head, of_keys, step) for head in heads)

    unit = _cheapest(cost_of_all, UNITS, FIRST)
    of_keys, place = some_keys(unit), UNITS.index(unit)
    near = UNITS[max(place - NEAR, 0) : place + NEAR + 1]
    shards = []
    for head in heads:
        own = _cheapest(lambda step, head=head: cost(head, of_keys, step), near, near.index(unit))
        shards.append(_shard(head, scaled.side(head.place, own), of_keys))
    return keys.encode(of_keys), shards


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
    side = Side(step, rounding.rounded(scaled.keys.T, step), scaled.key_bias)
    return keys.Keys(group.layer, group.key_head, len(group.keys), scaled.frequencies, side)


def _bytes(side):
    """About how many bytes the integers of a side take, from how far they spread."""
    off = side.integers - side.middles[:, None]
    spread = np.sqrt((off.astype(float) ** 2).mean(1))
    return float(np.log2(1 + 4.1 * spread).sum() * side.integers.shape[1] / 8)


def _some_rows(length):
    """Rows spread over the passage, the last one included."""
    stride = max(1, length // SAMPLE)
    return slice((length - 1) % stride, length, stride)


def _shard(head: Head, queries: Side, of_keys: keys.Keys) -> dict:
    """The attention/4 dataset of one head."""
    products, length = Products(queries, of_keys), len(head.keys)
    blocks = [slice(start, min(start + ROWS, length)) for start in range(0, length, ROWS)]
    found = [of_rows(head, products, some) for some in exact(head, blocks)]
    numbers = {name: np.concatenate([rows[name] for rows in found]) for name in found[0]}
    terms = {head.group.plain: as_json("content" if head.turned else "position", numbers)}
    if head.turned:
        terms["position"] = as_json("position", numbers)
    terms |= head.encoded
    return {
        "schema": SCHEMA,
        "layer": head.group.layer,
        "head": head.number,
        "tokens": length,
        "keys": keys.name(head.group.layer, head.group.key_head),
        "queries": queries.as_json(),
        "terms": {name: terms[name] for name in ORDER if name in terms},
        **head.softmax.as_json(head.ranges),
        "marker_count": head.group.marker_count[head.place].tolist(),
        "targets": rice.write(numbers["targets"][None]),
    }
