"""One head's attention over a passage, from its file of integers (schema attention/4).

Figures need the terms of every score of one head, and its probabilities:

    score_ij = sum of the terms        probability_ij = exp(cap(score_ij) - log_normalizer_i)
    cap(x) = softcap * tanh(x / softcap), or x in a model without a softcap

Terms that depend on one token are written once a token. Of terms of cells a file says nearly what
they are, and then what is missing where it counts: at the largest targets of every row, in their
order, and at the few other cells where a probability would be wrong. Nearly, they are products of T
queries q and T keys k (sides.py), so that a file grows with T and not with T * T; the keys lie in a
file of their own (schema keys/1), for all heads that share them. With R_i the rotation of token i,
and b the biases of the projections, which q and k are without,

    score_ij   = R_i(q_i + b_q) . R_j(k_j + b_k) - b_q . k_j - (q_i + b_q) . b_k
                 + terms of single tokens                               + missing
    content_ij = q_i . k_j                                              + missing
    the rest   = score_ij - content_ij - terms of single tokens

The rest is what the rotation adds (RoPE). Where nothing is rotated there is no rest: all that
queries and keys say to each other is content; or "mixed", if positions are in the embeddings. Where
the parts q' and k' of queries and keys are known that come of these, content is the rest, and

    content_position_ij  = (q_i - q'_i) . k'_j                          + missing
    position_content_ij  = q'_i . (k_j - k'_j)                          + missing
    position_position_ij = q'_i . k'_j                                  + missing

Where no queries and keys are known, integers say nearly what the terms are, cell by cell.

The largest targets are told by how their scores lie before anything missing is added (ranking.py).
The normalizers follow from the scores. `fitting.py` writes such files.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.damaged import damaged, fitting, require_number
from report.datasets.formats import ranking, rice, rounding, sides
from report.datasets.formats.ranking import RANKS
from report.datasets.formats.sides import Keys, Side
from report.datasets.formats.visible import Visible

if TYPE_CHECKING:
    from report.measurements.visible import Visible as Ranges

SCHEMA = "attention/4"

PLACED = ("content", "content_position", "position_content", "position_position")
"""What is "mixed" in other layers, where positions added to the embeddings are told apart."""

TERMS = (*PLACED, "mixed", "bias", "position", "row_constant", "score")
"""The names of terms, in the order of `PassageData.terms`."""

TAKES_UP = ("position", "content", "mixed", "score")
"""The first of these that is a term of cells is the rest: what the others leave of a score."""


@dataclass(frozen=True)
class DecodedTerm:
    """One summand of a head's scores."""

    name: str
    """One of `TERMS`; "score" where the terms are unknown."""
    per: str
    """What the values belong to: "cell", "target", "target_difference" (values[j] - values[i]) or
    "current"."""
    values: np.ndarray
    """float64 [query, key] for "cell" (0 where nothing is visible), else [T]."""
    visible: Visible | None = None
    """None is causal."""

    def matrix(self) -> np.ndarray:
        """The term of every cell, float64 [query, key], 0 where nothing is visible."""
        if self.per == "cell":
            return self.values
        values = self.values[:, None] if self.per == "current" else self.values[None, :]
        full = values - self.values[:, None] if self.per == "target_difference" else values
        length = len(self.values)
        return np.where(Visible.of(self.visible, length).mask(), full, 0.0)

    @functools.cached_property
    def smallest(self) -> np.ndarray:
        """Its smallest value among the targets that each current token can see, float64 [query]."""
        matrix = self.matrix()
        mask = Visible.of(self.visible, len(matrix)).mask()
        return np.where(mask, matrix, np.inf).min(1)


@dataclass(frozen=True)
class Softmax:
    """How the scores of a head become probabilities."""

    visible: Ranges | None = None
    """Which cells are visible; None is causal."""
    softcap: float | None = None
    """Bound of the scores, or None."""
    sink: float | None = None
    """A score that takes part in every softmax without being a target, or None."""

    def log_normalizer(self, score: np.ndarray) -> np.ndarray:
        """Logarithm of the sum that the softmax divides by, float64 [query].

        score: float64 [query, key], within the softcap, -inf where nothing is visible
        """
        largest = score.max(1) if self.sink is None else np.maximum(score.max(1), self.sink)
        total = np.exp(score - largest[:, None]).sum(1)
        if self.sink is not None:
            total = total + np.exp(self.sink - largest)
        return largest + np.log(total)

    def as_json(self, ranges: Visible) -> dict:
        """What a file states of it: only what differs from plain causal attention.

        ranges: `visible`, with causal attention filled in
        """
        optional = {
            "visible": None if ranges.is_causal else ranges.as_json(),
            "softcap": self.softcap,
            "sink": self.sink,
        }
        return {name: value for name, value in optional.items() if value is not None}


@dataclass(frozen=True)
class DecodedAttention:
    """One head's attention over a passage of T tokens, as a reader's browser sees it."""

    layer: int
    head: int
    terms: dict[str, DecodedTerm]
    score: np.ndarray
    """float64 [query, key], the sum of the terms; -inf where nothing is visible."""
    probability: np.ndarray
    """float64 [query, key], in [0, 1]; a row sums to 1, less what the sink takes."""
    marker_count: np.ndarray
    """int [query]: the fewest largest targets that hold half of the row's probability; 11 where
    that takes more."""
    largest_targets: np.ndarray
    """int [query, 11]: targets by falling probability, -1 where the row has no more."""
    ranges: Visible | None = None
    """Which cells are visible; None is causal."""
    softcap: float | None = None
    """Bound of the scores, or None."""
    sink: float | None = None
    """A score that takes part in every softmax without being a target, or None."""
    log_normalizer: np.ndarray | None = None
    """float64 [query], logarithm of the sum that the softmax divides by, the sink included; None
    only of what was not read from a file."""

    @property
    def visible(self) -> Visible:
        """`ranges`, with causal attention filled in."""
        return Visible.of(self.ranges, len(self.score))

    @property
    def capped(self) -> np.ndarray:
        """What enters the softmax, float64 [query, key]: `score` within the softcap."""
        return cap(self.score, self.softcap)


def of_regions(attention: DecodedAttention, firsts: Sequence[int]) -> DecodedAttention:
    """The attention of regions: what one gives to another is the probability of all tokens of the
    other together, the mean over its own tokens.

    firsts: of the regions, their first tokens, the first 0
    returns: the same, all tokens of a region being alike: a cell has the number of its two regions,
        and is visible if any cell of theirs is. A score is the logarithm of that, without terms;
        targets are first tokens of regions. Of regions of single tokens: what came, as a file
        knows the order of targets better than its rounded probabilities tell it
    """
    starts, length = np.asarray(firsts), len(attention.score)
    if len(starts) == length:
        return attention
    ends = np.append(starts[1:], length)
    of_token = np.repeat(np.arange(len(starts)), ends - starts)
    sums = np.add.reduceat(attention.probability, starts, 1)
    shares = np.add.reduceat(sums, starts, 0) / (ends - starts)[:, None]
    ranges = attention.visible
    first = starts[of_token[np.minimum.reduceat(ranges.first, starts)]]
    last = ends[of_token[np.maximum.reduceat(ranges.last, starts)]] - 1
    order = np.argsort(-shares, 1, kind="stable")[:, :RANKS]
    ranked = np.take_along_axis(shares, order, 1)
    seen = (starts[order] >= first[:, None]) & (starts[order] <= last[:, None])
    count = np.minimum((ranked.cumsum(1) < 0.5).sum(1) + 1, seen.sum(1))
    with np.errstate(divide="ignore"):
        score = np.log(shares)[of_token][:, of_token]
    visible = Visible(first[of_token], last[of_token])
    return DecodedAttention(
        attention.layer,
        attention.head,
        {},
        np.where(visible.mask(), np.maximum(score, LEAST), -np.inf),
        shares[of_token][:, of_token],
        count[of_token],
        np.where(seen, starts[order], -1)[of_token],
        visible,
    )


LEAST = -700.0
"""The logarithm of a share of regions, at least: of none there is no logarithm."""


def cap(score: np.ndarray, softcap: float | None) -> np.ndarray:
    """softcap * tanh(score / softcap), or the score itself where `softcap` is None."""
    if softcap is None:
        return score
    return np.where(np.isneginf(score), -np.inf, softcap * np.tanh(score / softcap))


class Products:
    """What queries and keys say nearly of a head's scores.

    rows: the tokens whose queries these are
    """

    def __init__(self, queries: Side, of_keys: Keys, rows: slice = slice(None)):
        self.queries, self.keys = queries, of_keys.side
        self.plain = queries.plain, of_keys.plain
        self.rotated = queries.rotated(of_keys.turns[rows]), of_keys.rotated
        self.of_target, self.of_current = (np.zeros(len(side)) for side in self.plain[::-1])
        """float64 [token], what the biases of queries, and of keys, add to the plain product."""
        whole = self.plain[0]
        if queries.bias is not None:
            self.of_target = self.plain[1] @ queries.bias
            whole = whole + queries.bias
        if of_keys.side.bias is not None:
            self.of_current = whole @ of_keys.side.bias

    def sides(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The queries and keys, float64 [token, component], whose products a term nearly is."""
        if name not in PLACED or self.queries.place is None:
            return self.plain
        query, key = PARTS[name]
        return self.queries.part(query), self.keys.part(key)

    def term(self, name: str, rows: slice, columns: slice) -> np.ndarray:
        """A term of cells that is not the rest, float64 [query, key]."""
        queries, of_keys = self.sides(name)
        return queries[rows] @ of_keys[columns].T

    def score(self, rows: slice, columns: slice) -> np.ndarray:
        """All terms of cells together, float64 [query, key]."""
        queries, of_keys = self.rotated
        score = queries[rows] @ of_keys[columns].T
        score -= self.of_target[columns]
        score -= self.of_current[rows, None]
        return score


PARTS = {name: (n < 2, n % 2 == 0) for n, name in enumerate(PLACED)}
"""Of each of `PLACED`, whether its query, and its key, are all but what comes of positions."""


@dataclass(frozen=True)
class Cells:
    """What integers, cell by cell, say nearly of a head's scores."""

    terms: dict[str, np.ndarray]
    """float64 [query, key] of each term of cells, 0 where nothing is visible."""

    def term(self, name: str, rows: slice, columns: slice) -> np.ndarray:
        """A term of cells that is not the rest, float64 [query, key]."""
        return self.terms[name][rows, columns]

    def score(self, rows: slice, columns: slice) -> np.ndarray:
        """All terms of cells together, float64 [query, key]."""
        return sum(values[rows, columns] for values in self.terms.values())


def rest_of(per: dict[str, str]) -> str:
    """The name of the rest, the term that takes up what is missing to scores.

    per: what the values of each term of a head belong to
    """
    return next(name for name in TAKES_UP if per.get(name) == "cell")


def of_tokens(terms: Iterable[DecodedTerm], length: int) -> tuple[np.ndarray, np.ndarray]:
    """What the terms of single tokens add to a score: float64 [token] of the target, and of the
    current token."""
    both = [np.zeros(length), np.zeros(length)]
    for term in terms:
        if term.per in ("target", "target_difference"):
            both[0] += term.values
        if term.per in ("current", "target_difference"):
            both[1] += term.values if term.per == "current" else -term.values
    return both[0], both[1]


def decode(shard: dict) -> DecodedAttention:
    """The attention of an attention/4 dataset, whose "keys" are the keys/1 dataset that it names.

    raises: ReportError if there are too few or too many values of anything, if a value is larger
        than any that is written, a target is no token, or the keys are those of other heads
    """
    with fitting(f"layer {shard['layer']} head {shard['head']}"):
        return _decoded(shard)


def _decoded(shard):
    length, stated = shard["tokens"], shard.get("visible")
    ranges = Visible.of(stated and Visible(stated["first"], stated["last"]), length)
    require_number("marker_count", shard["marker_count"], length)
    per = {name: term["per"] for name, term in shard["terms"].items()}
    others = {
        name: of_token(name, shard["terms"][name], ranges) for name in per if per[name] != "cell"
    }
    near, mask, rest = _near(shard, per, ranges), ranges.mask(), rest_of(per)
    of_target, of_current = of_tokens(others.values(), length)
    whole = slice(None), slice(None)
    score = near.score(*whole) + of_target
    targets = _targets(shard, ranges, np.where(mask, score, -np.inf))
    score += of_current[:, None]
    score += _missing(rest, shard, ranges, mask, targets)
    left = score - of_target - of_current[:, None]
    for name in per.keys() - others.keys() - {rest}:
        values = near.term(name, *whole) + _missing(name, shard, ranges, mask, targets)
        others[name] = DecodedTerm(name, "cell", np.where(mask, values, 0.0), ranges)
        left -= values
    others[rest] = DecodedTerm(rest, "cell", np.where(mask, left, 0.0), ranges)
    for name, term in others.items():
        # the rest may be as large as four terms together
        if not np.abs(term.values).max() <= 4 * rounding.LARGEST_SCORE:
            raise damaged(f"term {name!r} has a value beyond {rounding.LARGEST_SCORE:,.0f}")
    softmax = Softmax(ranges, shard.get("softcap"), shard.get("sink"))
    score = np.where(mask, score, -np.inf)
    capped = cap(score, softmax.softcap)
    normalizer = softmax.log_normalizer(capped)
    return DecodedAttention(
        layer=shard["layer"],
        head=shard["head"],
        terms={name: others[name] for name in per},
        score=score,
        probability=np.exp(capped - normalizer[:, None]),
        log_normalizer=normalizer,
        marker_count=np.asarray(shard["marker_count"]),
        largest_targets=targets,
        ranges=ranges,
        softcap=softmax.softcap,
        sink=softmax.sink,
    )


def of_token(name: str, term: dict, ranges: Visible) -> DecodedTerm:
    """A term of single tokens, from what a file says of it.

    raises: ReportError if it has too few or too many values
    """
    require_number(f"term {name!r}", term["values"], len(ranges.first))
    values = np.asarray(term["values"]) * float(term["step"])
    return DecodedTerm(name, term["per"], values, ranges)


def _near(shard, per, ranges):
    """What a file says nearly of the terms of cells: `Products` or `Cells`."""
    length = shard["tokens"]
    if "queries" not in shard:
        names = [name for name in per if per[name] == "cell"]
        return Cells({name: _cells(name, shard["terms"][name], ranges) for name in names})
    return Products(Side.from_json(shard["queries"], length), sides.decode(shard["keys"]))


def _cells(name, term, ranges):
    """What integers say nearly of a term, float64 [query, key], 0 where nothing is visible."""
    near, mask = term["near"], ranges.mask()
    values = np.zeros(mask.shape, np.int64)
    values[mask] = rice.read(near["integers"], 1, ranges.count)[0]
    values += np.asarray(near["middles"], np.int64).reshape(len(mask), 1)
    return np.where(mask, values * float(near["step"]), 0.0)


def _targets(shard, ranges, score):
    """The largest targets, int [query, 11], -1 where a row has no more."""
    count = ranking.counts(ranges.first, ranges.last)
    numbers = np.full((len(count), RANKS), -1, np.int64)
    given = rice.read(shard["targets"], 1, int(count.sum()))[0]
    numbers[np.arange(RANKS) < count[:, None]] = given
    return ranking.targets(score, numbers)


def _missing(name, shard, ranges, mask, targets):
    """What is missing of a term, float64 [query, key]."""
    term = shard["terms"][name]
    cells, of_rows = np.zeros(mask.shape), 0
    rows, ranks = np.nonzero(targets >= 0)
    cells[mask] = rice.read_few(term["cells"], ranges.count)
    listed = term["tens"] * rice.read(term["top"], 1, len(rows))[0]
    listed += rice.read_few(term["top_cells"], len(rows))
    if "rows" in term:
        of_rows = rice.read(term["rows"], 1, len(mask))[0][:, None]
    np.add.at(cells, (rows, targets[rows, ranks]), listed)
    return (cells + of_rows) * float(term["step"])
