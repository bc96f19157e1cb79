"""Writes the heads of one group in the schemas attention/4 and keys/1 (see factored.py).

Coarser integers take fewer bytes and leave more to correct (missing.py). So a few units are tried
on some rows, and the one that seems to take the fewest bytes is used. Rows are worked on in blocks:
memory grows with T.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from report.datasets.formats import keys, missing, rice, rounding
from report.datasets.formats.factored import SCHEMA, Products
from report.datasets.formats.group import Group, Head, exact, head_of
from report.datasets.formats.sides import Side, rotated

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
    samples = [missing.Sample(head, next(exact(head, [some]))) for head in heads]
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
    found = [missing.of_rows(head, products, some) for some in exact(head, blocks)]
    numbers = {name: np.concatenate([rows[name] for rows in found]) for name in found[0]}
    terms = {head.group.plain: missing.as_json("content" if head.turned else "position", numbers)}
    if head.turned:
        terms["position"] = missing.as_json("position", numbers)
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
