"""One head's attention as its queries, and the keys of its group (schema attention/4).

Scores are products of T queries and T keys, so a file of these grows with T and not with T * T.
Queries q and keys k are those before rotation (rotation.py), as integers (sides.py); keys lie in a
file of their own, for all heads that share them (keys.py). With R_i the rotation of token i, and
b the biases of the projections, which q and k are without,

    content_ij  = q_i . k_j                                               + missing
    position_ij = R_i(q_i + b_q) . R_j(k_j + b_k) - (q_i + b_q) . (k_j + b_k)
                  + q_i . k_j - content_ij                                + missing

Integers are coarse, so a file says what is missing where it counts: of the largest targets of every
row, in their order, and of the few other cells where a probability would be wrong. What is missing
to `position` is missing to the sum of both. Where nothing is rotated there is no such term:
positions are added to the embeddings, and content is called mixed, or they are ALiBi's, which
depend on single tokens. Then what is missing to `content` is as exact as that to `position` is
elsewhere. The largest targets are told by how their scores lie before anything missing is added
(ranking.py). The normalizers follow from the scores.
"""

import numpy as np

from report.datasets.damaged import damaged, require_number
from report.datasets.formats import keys, ranking, rice, rounding
from report.datasets.formats.attention_terms import DecodedTerm, decode_term
from report.datasets.formats.decoded import RANKS, DecodedAttention, Softmax, cap
from report.datasets.formats.sides import Side
from report.datasets.formats.visible import Visible
from report.errors import ReportError

SCHEMA = "attention/4"


class Products:
    """The products of a head's queries and keys, from which its scores follow.

    rows: the tokens whose queries these are
    """

    def __init__(self, queries: Side, of_keys: keys.Keys, rows: slice = slice(None)):
        self.queries, self.keys = queries.plain, of_keys.plain
        self.rotated = queries.rotated(of_keys.turns[rows]), of_keys.rotated
        self.of_target, self.of_current = np.zeros(len(self.keys)), np.zeros(len(self.queries))
        """float64 [token], what the biases of queries, and of keys, add to the plain product."""
        if queries.bias is not None:
            self.of_target = self.keys @ queries.bias
        if of_keys.side.bias is not None:
            whole = self.queries if queries.bias is None else self.queries + queries.bias
            self.of_current = whole @ of_keys.side.bias

    def content(self, rows: slice, columns: slice) -> np.ndarray:
        """q_i . k_j, float64 [query, key]."""
        return self.queries[rows] @ self.keys[columns].T

    def together(self, rows: slice, columns: slice) -> np.ndarray:
        """Content and position together, before anything missing is added, float64 [query, key]."""
        queries, of_keys = self.rotated
        turned = queries[rows] @ of_keys[columns].T
        turned -= self.of_target[columns]
        turned -= self.of_current[rows, None]
        return turned


def of_tokens(terms: dict[str, DecodedTerm], length: int) -> tuple[np.ndarray, np.ndarray]:
    """What the terms of single tokens add to a score: float64 [token] of the target, and of the
    current token."""
    both = [np.zeros(length), np.zeros(length)]
    for term in terms.values():
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
    where = f"layer {shard['layer']} head {shard['head']}"
    try:
        return _decoded(shard)
    except (ReportError, ValueError) as error:
        if isinstance(error, ReportError):
            raise ReportError(f"{where}: {error}") from error
        raise damaged(f"{where}: a text is not of packed integers") from error


def _decoded(shard):
    length, stated = shard["tokens"], shard.get("visible")
    of_keys = _keys(shard)
    ranges = Visible.of(stated and Visible(stated["first"], stated["last"]), length)
    queries = Side.from_json(shard["queries"], length, "queries")
    if len(queries.integers) != len(of_keys.side.integers):
        raise damaged("queries and keys have different numbers of components")
    softmax = Softmax(ranges, shard.get("softcap"), shard.get("sink"))
    others = {name: decode_term(name, term, ranges) for name, term in shard["terms"].items()
              if term["per"] != "cell"}  # fmt: skip
    products, mask, whole = Products(queries, of_keys), ranges.mask(), slice(None)
    content, together = products.content(whole, whole), products.together(whole, whole)
    of_target, _ = of_tokens(others, length)
    targets = _targets(shard, ranges, np.where(mask, together + of_target, -np.inf))
    plain = "mixed" if "mixed" in shard["terms"] else "content"
    content += _missing(plain, shard, ranges, mask, targets)
    cells = {plain: content}
    if "position" in shard["terms"] and "position" not in others:
        together += _missing("position", shard, ranges, mask, targets)
        cells["position"] = together - content
    terms = {
        name: others.get(name)
        or DecodedTerm(name, "cell", np.where(mask, cells[name], 0.0), ranges)
        for name in shard["terms"]
    }
    for name in cells:
        if not np.abs(terms[name].values).max() <= 4 * rounding.LARGEST_SCORE:
            raise damaged(f"term {name!r} has a value beyond {rounding.LARGEST_SCORE:,.0f}")
    score = np.where(mask, sum(term.matrix() for term in terms.values()), -np.inf)
    capped = cap(score, softmax.softcap)
    normalizer = softmax.log_normalizer(capped)
    require_number("marker_count", shard["marker_count"], length)
    return DecodedAttention(
        layer=shard["layer"],
        head=shard["head"],
        terms=terms,
        score=score,
        probability=np.exp(capped - normalizer[:, None]),
        log_normalizer=normalizer,
        marker_count=np.asarray(shard["marker_count"]),
        largest_targets=targets,
        ranges=ranges,
        softcap=softmax.softcap,
        sink=softmax.sink,
    )


def _keys(shard):
    if not isinstance(shard["keys"], dict):
        raise damaged(f"its keys, {shard['keys']}, are not there")
    of_keys = keys.decode(shard["keys"])
    if (of_keys.layer, of_keys.length) != (shard["layer"], shard["tokens"]):
        raise damaged(
            f"its keys are of layer {of_keys.layer} and {of_keys.length} tokens, not "
            f"{shard['tokens']}"
        )
    return of_keys


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
    try:
        cells[mask] = rice.read_few(term["cells"], ranges.count)
        listed = term["tens"] * rice.read(term["top"], 1, len(rows))[0]
        listed += rice.read_few(term["top_cells"], len(rows))
        if "rows" in term:
            of_rows = rice.read(term["rows"], 1, len(mask))[0][:, None]
    except ValueError as error:
        raise damaged(f"what is missing to term {name!r} is not that of these tokens") from error
    np.add.at(cells, (rows, targets[rows, ranks]), listed)
    return (cells + of_rows) * float(term["step"])
