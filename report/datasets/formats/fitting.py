"""Writes the heads of one group in the schemas attention/4 and keys/1 (see factored.py).

What has to hold (`rounding`): every probability within PROBABILITY_ERROR of the measured one, and
terms within TOP_ERROR at the largest targets of a row and within CELL_ERROR elsewhere. Coarser
integers take fewer bytes and leave more to correct, so a few units are tried on some rows, and the
one that seems to take the fewest bytes is used. Rows are worked on in blocks: memory grows with T.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from report.datasets.formats import keys, ranking, rice, rounding
from report.datasets.formats.attention_terms import DecodedTerm, encode_term, require_plausible
from report.datasets.formats.decoded import Softmax, cap
from report.datasets.formats.factored import SCHEMA, Products, of_tokens
from report.datasets.formats.rotation import Rotation
from report.datasets.formats.sides import Side
from report.datasets.formats.visible import Visible
from report.errors import ReportError

ROWS = 256
"""Queries whose scores are in memory at a time."""

SAMPLE = 64
"""Rows that units are tried on."""

UNITS = tuple(float(f"{0.012 * 1.5**n:.3g}") for n in range(9))
"""Units of the integers of queries and keys that are tried. Their product is a score."""

PARTS = (0.5, 0.5, 0.3, 0.3, 0.1, 0, 0, 0, 0, 0)
"""Parts of the bound by which a corrected probability may be off; the next for rows in which one
is wrong."""

PROBABLY = 0.999 * rounding.PROBABILITY_ERROR
"""The bound, but for what a browser's arithmetic may add."""

KEY_WEIGHT = 1.2
"""What a byte of keys counts beside one of the queries of a head: a step to another group fetches both."""

BYTES_OF_A_CELL = 2.1
"""What it takes to correct one cell: how far it is from the one before, and by how much it is off."""


@dataclass(frozen=True)
class Group:
    """The heads that share one key head, as they were measured (no torch)."""

    layer: int
    key_head: int
    heads: Sequence[int]
    rotation: Rotation
    queries: np.ndarray
    """float [head, token, component]: times the scale of scores, not rotated, without bias."""
    keys: np.ndarray
    """float [token, component], not rotated, without bias."""
    rotated_queries: np.ndarray
    """As `queries`, but rotated and with bias."""
    rotated_keys: np.ndarray
    query_bias: np.ndarray | None
    """float [head, component], times the scale, not rotated; or None."""
    key_bias: np.ndarray | None
    """float [component], not rotated; or None."""
    with_row_constant: bool
    """Whether what the current token adds for all targets alike is a term."""
    largest_targets: np.ndarray
    """int [head, token, 11]."""
    marker_count: np.ndarray
    """int [head, token]."""
    softmaxes: Sequence[Softmax]


@dataclass(frozen=True)
class _Head:
    """One head of a group; arrays as of `Group`, but float64."""

    group: Group
    place: int
    """Among the heads of its group."""
    queries: np.ndarray
    rotated: np.ndarray
    keys: np.ndarray
    rotated_keys: np.ndarray
    terms: dict[str, DecodedTerm]
    """Those of single tokens, as measured."""
    written: dict[str, DecodedTerm]
    """The same as a file has them."""
    encoded: dict[str, dict]
    of_current: np.ndarray
    """float64 [token], the part of a score that its current token alone determines, if no term."""
    ranges: Visible

    @property
    def softmax(self):
        return self.group.softmaxes[self.place]

    @property
    def targets(self):
        return self.group.largest_targets[self.place]


def encode(group: Group) -> tuple[dict, list[dict]]:
    """The keys/1 dataset of a group, and the attention/4 dataset of each of its heads.

    raises: ReportError if a term is beyond LARGEST_SCORE, or the probabilities cannot be kept
        within PROBABILITY_ERROR
    """
    heads = [_head(group, place) for place in range(len(group.heads))]
    order, scale = _scaled(group)
    some = _some_rows(heads[0].ranges)
    exact = [list(_exact(head, some)) for head in heads]

    def tried(unit):
        of_keys = _keys(group, order, scale, unit)
        cost = KEY_WEIGHT * _bytes(of_keys.side)
        return cost + sum(
            _cost(head, known, _queries(head, order, scale, unit), of_keys)
            for head, known in zip(heads, exact, strict=True)
        )

    unit = _cheapest(tried, UNITS, len(UNITS) // 3)
    of_keys = _keys(group, order, scale, unit)
    shards = []
    for head, known in zip(heads, exact, strict=True):
        near = UNITS[max(UNITS.index(unit) - 2, 0) : UNITS.index(unit) + 3]
        own = _cheapest(
            lambda step, head=head, known=known: _cost(
                head, known, _queries(head, order, scale, step), of_keys
            ),
            near,
            near.index(unit),
        )
        shards.append(_shard(head, _queries(head, order, scale, own), of_keys))
    return keys.encode(of_keys), shards


def _cheapest(cost, units, start):
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


def _head(group, place):
    """One head, with its terms of single tokens."""
    ranges = Visible.of(group.softmaxes[place].visible, len(group.keys))
    queries, of_keys = group.queries[place].astype(float), group.keys.astype(float)
    terms, of_current = {}, np.zeros(len(of_keys))
    query_bias = None if group.query_bias is None else group.query_bias[place].astype(float)
    if query_bias is not None:
        terms["bias"] = DecodedTerm("bias", "target", of_keys @ query_bias, ranges)
    if group.key_bias is not None:
        whole = queries if query_bias is None else queries + query_bias
        of_current = whole @ group.key_bias.astype(float)
    if group.with_row_constant and group.key_bias is not None:
        terms["row_constant"] = DecodedTerm("row_constant", "current", of_current, ranges)
        of_current = np.zeros(len(of_keys))
    require_plausible(group.layer, group.heads[place], list(terms.values()))
    encoded = {name: encode_term(term, None, None) for name, term in terms.items()}
    written = {
        name: replace(term, values=np.asarray(encoded[name]["values"]) * encoded[name]["step"])
        for name, term in terms.items()
    }
    return _Head(
        group, place, queries, group.rotated_queries[place].astype(float), of_keys,
        group.rotated_keys.astype(float), terms, written, encoded, of_current, ranges,
    )  # fmt: skip


def _scaled(group):
    """The components in the order of a file, int [component], and what keys are multiplied by and
    queries divided by, so that both are equally large in each: float64 [component]."""
    own = np.sqrt((group.queries.astype(float) ** 2).mean((0, 1)))
    other = np.sqrt((group.keys.astype(float) ** 2).mean(0))
    pairs = group.rotation.pairs
    for size in (own, other):  # a rotation mixes the two of a pair
        size[pairs] = np.sqrt((size[pairs] ** 2).mean(1, keepdims=True))
    least = np.finfo(np.float32).tiny
    scale = np.sqrt(np.maximum(own, least) / np.maximum(other, least))
    falling = np.argsort(-(own * other)[pairs[:, 0]], kind="stable")
    rest = np.setdiff1d(np.arange(len(own)), pairs)
    return np.concatenate([pairs[falling].ravel(), rest]), scale


def _integers(values, step):
    return rounding.rounded(values.T, step)


def _keys(group, order, scale, step):
    """The keys as a file has them."""
    bias = None if group.key_bias is None else (group.key_bias * scale)[order].astype(float)
    values = (group.keys.astype(float) * scale)[:, order]
    pairs = group.rotation.pairs.tolist()
    turned = [pairs.index(pair) for pair in order[: 2 * len(pairs)].reshape(-1, 2).tolist()]
    frequencies = group.rotation.frequencies[turned]
    side = Side(step, _integers(values, step), bias)
    return keys.Keys(group.layer, group.key_head, len(values), frequencies, side)


def _queries(head, order, scale, step):
    """The queries as a file has them."""
    given = head.group.query_bias
    bias = None if given is None else (given[head.place].astype(float) / scale)[order]
    return Side(step, _integers((head.queries / scale)[:, order], step), bias)


def _bytes(side):
    """About how many bytes the integers of a side take, from how many bits their components need."""
    spread = np.sqrt((side.integers.astype(float) ** 2).mean(1))
    bits = np.log2(1 + 4.1 * spread)
    return float(bits.sum() * side.integers.shape[1] / 8)


def _some_rows(ranges):
    """Rows spread over the passage, and the targets that they see, as two lists of slices."""
    length = len(ranges.first)
    stride = max(1, length // SAMPLE)
    return [slice(length - 1 - (length - 1) // stride * stride, length, stride)]


@dataclass(frozen=True)
class _Exact:
    """What was measured of some rows."""

    rows: slice
    columns: slice
    mask: np.ndarray
    """bool [query, key], the visible cells."""
    content: np.ndarray
    score: np.ndarray
    """float64 [query, key], the sum of the terms."""
    probability: np.ndarray
    top: np.ndarray
    """bool [query, key], the largest targets."""
    top_cells: tuple[np.ndarray, np.ndarray]
    """The same, row by row by falling probability: their rows and columns here."""

    def of(self, rows: np.ndarray) -> "_Exact":
        """The same of some of the rows; `rows` and `top_cells` stay as they are."""
        names = ("mask", "content", "score", "probability", "top")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})


def _exact(head: _Head, blocks: Sequence[slice]) -> Iterator[_Exact]:
    """What was measured, some rows after the other."""
    targets = np.arange(len(head.keys))
    for rows in blocks:
        first, last = head.ranges.first[rows], head.ranges.last[rows]
        columns = slice(int(first.min()), int(last.max()) + 1)
        seen = targets[columns]
        mask = (seen >= first[:, None]) & (seen <= last[:, None])
        content = head.queries[rows] @ head.keys[columns].T
        score = head.rotated[rows] @ head.rotated_keys[columns].T - head.of_current[rows, None]
        capped = cap(np.where(mask, score, -np.inf), head.softmax.softcap)
        normalizer = head.softmax.log_normalizer(capped)
        listed = head.targets[rows]
        at, ranks = np.nonzero(listed >= 0)
        cells = at, listed[at, ranks] - columns.start
        top = np.zeros(mask.shape, bool)
        top[cells] = True
        probability = np.exp(capped - normalizer[:, None])
        yield _Exact(rows, columns, mask, content, score, probability, top, cells)


def _cost(head, known, queries, of_keys):
    """About how many bytes queries of this unit take, with what is missing to them."""
    products = Products(queries, of_keys)
    target, _ = of_tokens(head.written, len(head.keys))
    rows, bytes_ = 0, 0.0
    for exact in known:
        score = products.together(exact.rows, exact.columns) + target[exact.columns]
        error = np.where(exact.mask, score - exact.score, 0)
        error -= _shift(exact, error, exact.top)[:, None]
        off = np.abs(error) / _allowed(exact, 0.9)
        content = np.abs(products.content(exact.rows, exact.columns) - exact.content)
        bits = np.log2(2 + 2 * off[exact.top_cells]).sum()
        bits += np.log2(2 + 2 * content[exact.top_cells] / rounding.TOP_ERROR).sum()
        cells = (off > 1).astype(int) + (content > rounding.CELL_ERROR)
        bytes_ += BYTES_OF_A_CELL * cells[exact.mask & ~exact.top].sum() + bits / 8
        rows += len(exact.mask)
    return _bytes(queries) + bytes_ * len(head.keys) / rows


def _shift(exact, error, corrected):
    """By how much the scores of the other cells of a row are off on average, float64 [query]."""
    weight = np.where(corrected, 0, exact.probability)
    mean = (weight * np.expm1(np.minimum(error, 1))).sum(1) / np.maximum(weight.sum(1), 1e-30)
    return np.log1p(np.maximum(mean, -0.5))


def _bound(exact):
    """How far a term may be off, float64 [query, key]."""
    return np.where(exact.top, rounding.TOP_ERROR / 2, rounding.CELL_ERROR)


def _allowed(exact, part):
    """How far a score may be off, float64 [query, key]: its probability by a part of the bound."""
    spread = np.maximum(exact.probability * (1 - exact.probability), 1e-9)
    return np.minimum(part * rounding.PROBABILITY_ERROR / spread, _bound(exact))


def _shard(head, queries, of_keys):
    """The attention/4 dataset of one head."""
    products = Products(queries, of_keys)
    length = len(head.keys)
    blocks = [slice(start, min(start + ROWS, length)) for start in range(0, length, ROWS)]
    found = [_block(head, products, exact) for exact in _exact(head, blocks)]
    numbers = {name: np.concatenate([block[name] for block in found]) for name in found[0]}
    cells = {name: _term(name, numbers) for name in ("content", "position")}
    group = head.group
    return {
        "schema": SCHEMA,
        "layer": group.layer,
        "head": group.heads[head.place],
        "tokens": length,
        "keys": keys.name(group.layer, group.key_head),
        "queries": queries.as_json(),
        "terms": {
            name: cells.get(name) or head.encoded[name]
            for name in ("content", "bias", "position", "row_constant")
            if name in cells or name in head.encoded
        },
        **head.softmax.as_json(head.ranges),
        "marker_count": group.marker_count[head.place].tolist(),
        "targets": rice.write(numbers["targets"][None]),
    }


def _term(name, numbers):
    """What a file says of a "cell" term."""
    top = numbers[f"{name} top"]
    tens = np.rint(top / rounding.TENS[name]).astype(np.int64)
    rows = {"rows": rice.write(numbers["rows"][None])} if name == "position" else {}
    return {
        "per": "cell",
        "step": rounding.MISSING_STEPS[name],
        "tens": rounding.TENS[name],
        "top": rice.write(tens[None]),
        "top_cells": rice.write_few(top - tens * rounding.TENS[name]),
        "cells": rice.write_few(numbers[name]),
        **rows,
    }


def _block(head, products, exact):
    """What a file says of some rows beside queries and keys: integers by name."""
    target, current = of_tokens(head.written, len(head.keys))
    score = products.together(exact.rows, exact.columns)
    score += target[exact.columns]
    seen = np.where(exact.mask, score, -np.inf)
    listed = head.targets[exact.rows]
    own = np.where(listed < 0, -1, listed - exact.columns.start)
    places = ranking.places(seen, own)
    far = places >= ranking.DEPTH
    places[far] += exact.columns.start  # a target's index is its own, not that of a column
    content_error = products.content(exact.rows, exact.columns) - exact.content
    step = rounding.MISSING_STEPS["content"]
    bound = np.where(exact.top, rounding.TOP_ERROR, rounding.CELL_ERROR)
    content = np.where(np.abs(content_error) > bound, np.rint(-content_error / step), 0)
    error = score + current[exact.rows, None] - exact.score
    of_rows, position = _to_score(head, exact, error)
    numbers = {"targets": places[places >= 0], "rows": of_rows}
    for name, integers in (("content", content), ("position", position)):
        integers = integers.astype(np.int64)
        numbers[f"{name} top"] = integers[exact.top_cells]
        numbers[name] = np.where(exact.top, 0, integers)[exact.mask]
    return numbers


def _to_score(head, exact, error):
    """What is missing to the scores, in units of their step: of each row, float64 [query], and of
    single cells beside that, float64 [query, key]."""
    step, tens = rounding.MISSING_STEPS["position"], rounding.TENS["position"]
    softmax = head.softmax
    error = np.where(exact.mask, error, 0)
    corrected = exact.top | (np.abs(error) > rounding.CELL_ERROR)
    of_rows, integers = np.zeros(len(error)), np.zeros(error.shape)
    wrong = np.full(error.shape, np.inf)
    for part in PARTS:
        rows = np.flatnonzero(wrong.max(1) > PROBABLY)  # those that are not yet right
        if not len(rows):
            return of_rows, integers
        some, own = exact.of(rows), error[rows]
        of_rows[rows] = np.rint(-_shift(some, own, corrected[rows]) / step)
        own = own + of_rows[rows, None] * step
        enough = np.maximum(_allowed(some, part), step / 2)
        coarse = np.where(2 * enough >= tens * step, tens, 1)
        integers[rows] = np.where(corrected[rows], -np.rint(own / (coarse * step)) * coarse, 0)
        score = np.where(some.mask, some.score + own + integers[rows] * step, -np.inf)
        capped = cap(score, softmax.softcap)
        probability = np.exp(capped - softmax.log_normalizer(capped)[:, None])
        wrong[rows] = np.abs(probability - some.probability)
        corrected |= wrong > (PROBABLY if part else PROBABLY / 10)
    raise ReportError(
        f"layer {head.group.layer} head {head.group.heads[head.place]}: rounding moves a "
        f"probability by {wrong.max():.2g}, more than {rounding.PROBABILITY_ERROR}; measure in "
        "float32 or shorten the passage."
    )
