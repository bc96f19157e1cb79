"""One head's attention over a passage, as a shard of integers (schema attention/1).

Figures 1 to 3 need the terms of every score of one head. What depends on the target alone is
stored once a target; only the content term is stored a cell. Scores are rounded so that every
probability computed from the file is within `PROBABILITY_ERROR` of the measured one.
"""

from dataclasses import dataclass

import numpy as np

from report.errors import ReportError

PROBABILITY_ERROR = 0.0005
"""Largest |probability from the file - measured probability| that `encode` lets pass."""

STEPS = {"content": 0.002, "bias": 0.001, "position": 0.0001}
"""Unit of the integers of each term, in units of score (natural logarithm)."""

COARSENING = ((0.2, 1), (0.05, 2), (0.02, 5), (0.01, 10), (0.001, 50), (0.0, 100))
"""(probability from, multiple of the content step): scores that hardly count are rounded more
coarsely, since an error of a probability is the probability times the error of the score."""

FINER = (
    COARSENING,
    ((0.1, 1), (0.03, 2), (0.01, 5), (0.001, 20), (0.0, 100)),
    ((0.05, 1), (0.02, 2), (0.01, 4), (0.001, 10), (0.0, 50)),
    ((0.02, 1), (0.01, 2), (0.001, 5), (0.0, 20)),
    ((0.0, 1),),
)
"""What `encode` tries for each row in turn, until the bound holds in it."""

TARGET_MULTIPLE = 10
"""Largest multiple for the largest targets of a row, which figure 2 shows one by one."""


@dataclass(frozen=True)
class DecodedTerm:
    """One summand of a head's scores."""

    name: str
    per: str
    """What the values belong to: "cell", "target" or "target_difference" (values[j]-values[i])."""
    values: np.ndarray
    """float64 [query, key] for "cell" (0 above the diagonal), [key] otherwise."""

    def matrix(self):
        """The term of every cell, float64 [query, key], 0 above the diagonal."""
        if self.per == "cell":
            return self.values
        row = self.values[None, :]
        full = row - self.values[:, None] if self.per == "target_difference" else row
        return np.tril(np.broadcast_to(full, (len(self.values),) * 2))


@dataclass(frozen=True)
class DecodedAttention:
    """One head's attention over a passage of T tokens, as a reader's browser sees it."""

    layer: int
    head: int
    terms: dict[str, DecodedTerm]
    score: np.ndarray
    """float64 [query, key], the sum of the terms; -inf above the diagonal."""
    probability: np.ndarray
    """float64 [query, key], in [0, 1]; rows sum to 1."""
    marker_count: np.ndarray
    """int [query]: the fewest largest targets that hold half of the row's probability; 11 where
    that takes more."""
    largest_targets: np.ndarray
    """int [query, 11]: targets by falling probability, -1 where the row has no more."""


def encode(layer, head, terms, probability, marker_count, largest_targets):
    """The attention/1 dataset of one head.

    terms: list of objects with `name`, `per`, `values` as in `DecodedTerm`; one of them, "content",
        is a "cell" term and takes up the rounding of the others, so the total is off by at most
        half a step
    probability: float [query, key], the measured probabilities
    returns: a dict that satisfies the schema
    raises: ReportError if the rounded probabilities cannot be kept within PROBABILITY_ERROR
    """
    total = sum(DecodedTerm(t.name, t.per, np.asarray(t.values, float)).matrix() for t in terms)
    encoded = {}
    others = np.zeros_like(total)
    for term in terms:
        if term.name != "content":
            encoded[term.name] = _encode_term(term)
            others += _decode_term(term.name, encoded[term.name], len(total)).matrix()
    integers = np.zeros(total.shape, np.int64)
    normalizer = np.zeros(len(total))
    error = np.full(len(total), np.inf)
    for coarsening in FINER:
        tried = _round(total - others, probability, coarsening, largest_targets)
        rounded = np.where(_lower(len(total)), tried * STEPS["content"] + others, -np.inf)
        normalizers = _log_normalizer(rounded).round(6)
        errors = np.abs(np.exp(rounded - normalizers[:, None]) - probability).max(1)
        todo = error > PROBABILITY_ERROR
        integers[todo], normalizer[todo], error[todo] = tried[todo], normalizers[todo], errors[todo]
    if error.max() > PROBABILITY_ERROR:
        raise ReportError(
            f"layer {layer} head {head}: rounding moves a probability by {error.max():.2g}, more "
            f"than {PROBABILITY_ERROR}; measure in float32 or shorten the passage."
        )
    content = {
        "per": "cell",
        "step": STEPS["content"],
        "values": integers[_lower(len(total))].tolist(),
    }
    return {
        "schema": "attention/1",
        "layer": layer,
        "head": head,
        "tokens": len(total),
        "terms": {"content": content, **encoded},
        "log_normalizer": normalizer.tolist(),
        "marker_count": np.asarray(marker_count).tolist(),
        "largest_targets": np.asarray(largest_targets).ravel().tolist(),
    }


def decode(shard):
    """The `DecodedAttention` of an attention/1 dataset (a dict); the inverse of `encode`."""
    length = shard["tokens"]
    expected = {"cell": length * (length + 1) // 2}
    for name, term in shard["terms"].items():
        if len(term["values"]) != expected.get(term["per"], length):
            raise ReportError(
                f"layer {shard['layer']} head {shard['head']}: term {name!r} has "
                f"{len(term['values'])} values, not {expected.get(term['per'], length)}; "
                "delete the dataset and run `make site`."
            )
    terms = {name: _decode_term(name, term, length) for name, term in shard["terms"].items()}
    score = np.where(_lower(length), sum(term.matrix() for term in terms.values()), -np.inf)
    return DecodedAttention(
        layer=shard["layer"],
        head=shard["head"],
        terms=terms,
        score=score,
        probability=np.exp(score - np.asarray(shard["log_normalizer"])[:, None]),
        marker_count=np.asarray(shard["marker_count"]),
        largest_targets=np.asarray(shard["largest_targets"]).reshape(length, -1),
    )


def _lower(length):
    return np.tril(np.ones((length, length), bool))


def _round(content, probability, coarsening, largest_targets):
    multiple = np.ones(content.shape, np.int64)
    upper = np.inf
    for lower, coarse in coarsening:
        multiple[(probability >= lower) & (probability < upper)] = coarse
        upper = lower
    targets = np.asarray(largest_targets)
    rows, ranks = np.nonzero(targets >= 0)
    cells = rows, targets[rows, ranks]
    multiple[cells] = np.minimum(multiple[cells], TARGET_MULTIPLE)
    return np.rint(content / (STEPS["content"] * multiple)).astype(np.int64) * multiple


def _log_normalizer(score):
    largest = score.max(1)
    return largest + np.log(np.exp(score - largest[:, None]).sum(1))


def _encode_term(term):
    values = np.asarray(term.values, float)
    if term.per == "cell":
        values = values[_lower(len(values))]
    step = STEPS[term.name]
    return {
        "per": term.per,
        "step": step,
        "values": np.rint(values / step).astype(np.int64).tolist(),
    }


def _decode_term(name, term, length):
    values = np.asarray(term["values"], float) * term["step"]
    if term["per"] == "cell":
        cells = np.zeros((length, length))
        cells[_lower(length)] = values
        values = cells
    return DecodedTerm(name, term["per"], values)
