"""One head's attention over a passage, as a shard of integers (schema attention/3).

Long passages of rotary heads take fewer bytes in another form (factored.py, schema attention/4);
`decode` reads both.

Figures need the terms of every score of one head (attention_terms.py). Scores are rounded so that
every probability computed from the file is within `rounding.PROBABILITY_ERROR` of the measured one:

    score_ij = sum of the terms        probability_ij = exp(cap(score_ij) - log_normalizer_i)
    cap(x) = softcap * tanh(x / softcap), or x in a model without a softcap
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from report.datasets.damaged import damaged, require_number
from report.datasets.formats import factored, rounding
from report.datasets.formats.attention_terms import (
    TERMS,
    DecodedTerm,
    decode_term,
    encode_cells,
    encode_term,
    require_plausible,
)
from report.datasets.formats.decoded import RANKS, DecodedAttention, Softmax, cap
from report.datasets.formats.product import shortest
from report.datasets.formats.visible import Visible
from report.errors import ReportError

if TYPE_CHECKING:
    from report.measurements.decomposition import Term

__all__ = [
    "RANKS",
    "TERMS",
    "DecodedAttention",
    "DecodedTerm",
    "PlainTerm",
    "Softmax",
    "cap",
    "decode",
    "encode",
]

SCHEMA = "attention/3"

TAKES_UP = ("content", "mixed", "score")
"""The first of these that a head has is rounded last. It is computed from the exact score less the
other rounded terms, and so corrects their errors."""


@dataclass(frozen=True)
class PlainTerm:
    """A `Term` that knows nothing of how it was measured."""

    name: str
    per: str
    values: np.ndarray
    pair: tuple[np.ndarray, np.ndarray] | None


def encode(
    layer: int,
    head: int,
    terms: Sequence[Term],
    probability: np.ndarray,
    marker_count: np.ndarray,
    largest_targets: np.ndarray,
    softmax: Softmax = Softmax(),  # noqa: B008 (it never changes)
) -> dict:
    """The attention/3 dataset of one head.

    terms: one of them, of `TAKES_UP`, is a "cell" term. It takes up the rounding of the
        others, so the total is off by at most half of its own step
    probability: float [query, key], the measured probabilities
    marker_count, largest_targets: as of `DecodedAttention`
    raises: ReportError if a term is beyond LARGEST_SCORE, or the rounded probabilities cannot be
        kept within PROBABILITY_ERROR
    """
    ranges = Visible.of(softmax.visible, len(probability))
    pairs = {term.name: term.pair for term in terms}
    terms = [DecodedTerm(t.name, t.per, np.asarray(t.values, float), ranges) for t in terms]
    require_plausible(layer, head, terms)
    free = next(name for name in TAKES_UP if any(term.name == name for term in terms))
    encoded = {term.name: None for term in terms}  # in the order given
    coarse = rounding.multiples(probability, largest_targets, rounding.CELL_COARSENING)
    encoded |= {t.name: encode_term(t, pairs[t.name], coarse) for t in terms if t.name != free}
    others = np.zeros(probability.shape)
    for name in encoded.keys() - {free}:
        others += decode_term(name, encoded[name], ranges).matrix()
    total = sum(term.matrix() for term in terms)
    multiple = rounding.multiples(probability, largest_targets, rounding.COARSENING)
    step, mask = rounding.STEPS[free], ranges.mask()
    product = shortest(total - others, pairs[free], step, multiple, mask)
    if product:
        others += product.matrix

    def scored(integers):
        capped = cap(np.where(mask, integers * step + others, -np.inf), softmax.softcap)
        return capped, softmax.log_normalizer(capped).round(6)

    integers, normalizer, error = _rounded_rows(
        total - others, step, probability, largest_targets, scored
    )
    _require_exact(layer, head, error)
    encoded[free] = encode_cells(integers, step, mask, product)
    return {
        "schema": SCHEMA,
        "layer": layer,
        "head": head,
        "tokens": len(probability),
        "terms": encoded,
        **softmax.as_json(ranges),
        "log_normalizer": normalizer.tolist(),
        "marker_count": np.asarray(marker_count).tolist(),
        "largest_targets": np.asarray(largest_targets).ravel().tolist(),
    }


def _require_exact(layer, head, error):
    """Stop if a probability of the file is too far from the measured one; error: float [query]."""
    if not error.max() <= rounding.PROBABILITY_ERROR:
        raise ReportError(
            f"layer {layer} head {head}: rounding moves a probability by {error.max():.2g}, more "
            f"than {rounding.PROBABILITY_ERROR}; measure in float32 or shorten the passage."
        )


def _rounded_rows(values, step, probability, largest_targets, scored):
    """Each row as coarse as the bound allows: integers [query, key], normalizer and error [query].

    scored: from integers to the scores that enter the softmax, and their normalizers
    """
    integers = np.zeros(values.shape, np.int64)
    normalizer = np.zeros(len(values))
    error = np.full(len(values), np.inf)
    for coarsening in rounding.FINER:
        multiple = rounding.multiples(probability, largest_targets, coarsening)
        tried = rounding.rounded(values, step, multiple)
        capped, normalizers = scored(tried)
        errors = np.abs(np.exp(capped - normalizers[:, None]) - probability).max(1)
        todo = error > rounding.PROBABILITY_ERROR
        integers[todo], normalizer[todo], error[todo] = tried[todo], normalizers[todo], errors[todo]
        if error.max() <= rounding.PROBABILITY_ERROR:
            break
    return integers, normalizer, error


def decode(shard: dict) -> DecodedAttention:
    """The attention of an attention/3 dataset, the inverse of `encode`; or of an attention/4
    dataset, see `factored.decode`.

    raises: ReportError if there are too few or too many values of anything, if a value is larger
        than any that is written, or a target is no token
    """
    if shard["schema"] == factored.SCHEMA:
        return factored.decode(shard)
    length, stated = shard["tokens"], shard.get("visible")
    where = f"layer {shard['layer']} head {shard['head']}"
    try:
        _require_sizes(shard)
        ranges = Visible.of(stated and Visible(stated["first"], stated["last"]), length)
        terms = {name: decode_term(name, term, ranges) for name, term in shard["terms"].items()}
    except ReportError as error:
        raise ReportError(f"{where}: {error}") from error
    score = np.where(ranges.mask(), sum(term.matrix() for term in terms.values()), -np.inf)
    capped = cap(score, shard.get("softcap"))
    with np.errstate(over="ignore"):
        probability = np.exp(capped - np.asarray(shard["log_normalizer"], float)[:, None])
    if not np.isfinite(probability).all():
        raise damaged(f"{where}: a normalizer does not fit the scores")
    return DecodedAttention(
        layer=shard["layer"],
        head=shard["head"],
        terms=terms,
        score=score,
        probability=probability,
        log_normalizer=np.asarray(shard["log_normalizer"], float),
        marker_count=np.asarray(shard["marker_count"]),
        largest_targets=np.asarray(shard["largest_targets"]).reshape(length, RANKS),
        ranges=ranges,
        softcap=shard.get("softcap"),
        sink=shard.get("sink"),
    )


def _require_sizes(shard):
    """Stop if there are not as many values as tokens need, before arrays of that size are made."""
    rows = shard["tokens"]
    sizes = {"log_normalizer": rows, "marker_count": rows, "largest_targets": rows * RANKS}
    for name, size in sizes.items():
        require_number(name, shard[name], size)
    if max(shard["largest_targets"]) >= rows:
        raise damaged(
            f"a target is {max(shard['largest_targets'])}, but the {rows} tokens count from 0"
        )
